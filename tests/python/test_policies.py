"""Mirostat and adaptive-p: what they come to, and what they remember."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goodness import assert_follows
from sortition import ParameterError, Sampler, SamplingParams, reference

ZIPF = np.log(1.0 / np.arange(1, 5001)).astype(np.float32)
"""Probabilities by Zipf's law over 5,000 tokens: an entropy of 9.3 bits, which leaves room to steer."""


def surprise(draw: Any) -> float:
    return -draw.logprob / math.log(2)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("tau", [2.0, 5.0])
def test_mirostat_brings_the_surprise_to_tau(version: int, tau: float) -> None:
    """All surprises less tau add up to the way of mu over eta: with mu between 0 and 4 tau, on average little."""
    sampler = Sampler(SamplingParams(mirostat=version, mirostat_tau=tau, mirostat_eta=0.1, seed=1))
    mean = np.mean([surprise(sampler.draw(ZIPF)) for _ in range(2000)])
    assert abs(mean - tau) < 4 * tau / 0.1 / 2000


def test_mirostat_1_counts_the_vocabulary_and_not_what_pads_a_row() -> None:
    """The number of tokens is part of its law: of 20,000 it keeps fewer than of 5,000."""
    params: dict[str, Any] = {"mirostat": 1, "mirostat_tau": 4.0}
    padded = np.concatenate([ZIPF, np.full(15_000, 9.0, np.float32)])
    for process in (
        lambda row, **size: reference.process(row, params, **size),
        lambda row, **size: Sampler(SamplingParams(**params), **size).process(row),
    ):
        kept = [np.flatnonzero(np.isfinite(process(row, vocab_size=5000))).tolist() for row in (ZIPF, padded)]
        assert kept[0] == kept[1]
        holes = np.where(np.arange(20_000) < len(ZIPF), padded, -np.inf)
        assert np.isfinite(process(holes)).sum() < len(kept[0])


def test_mirostat_2_keeps_what_surprises_by_at_most_mu() -> None:
    """At first mu is twice tau: 2 bits keep probabilities of a quarter and more, and the best is kept in any case."""
    row = np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32))
    assert np.isfinite(Sampler(SamplingParams(mirostat=2, mirostat_tau=1.0)).process(row)).tolist() == [1, 1, 0, 0]
    assert np.isfinite(Sampler(SamplingParams(mirostat=2, mirostat_tau=0.1)).process(row)).tolist() == [1, 0, 0, 0]


def test_adaptive_p_prefers_chances_near_its_target() -> None:
    """Scores 5 - 10 d^2 / (1 + d), d the distance from .3 in widths of .3, for the first token."""
    probabilities = np.array([0.45, 0.3, 0.2, 0.05])
    distance = np.abs(probabilities - 0.3) / 0.3
    preferred = np.exp(5 - 10 * distance**2 / (1 + distance))
    row = np.log(probabilities).astype(np.float32)
    params = SamplingParams(adaptive_target=0.3, seed=3)
    tokens = [Sampler(params, stream=stream).sample(row) for stream in range(20_000)]
    assert_follows(np.array(tokens), preferred)


def test_adaptive_p_corrects_what_came_too_often() -> None:
    """After a token that was likelier than its target it aims below: 2 * .3 - (.9 * 3 + .9) / (.9 * 10 + 1) = .24."""
    row = np.log(np.array([0.9, 0.1], np.float32))
    sampler = Sampler(SamplingParams(adaptive_target=0.3, seed=0))
    while sampler.sample(row) != 0:
        sampler.reset()
        sampler = Sampler(SamplingParams(adaptive_target=0.3, seed=sampler.seed + 1))
    trace = sampler.draw(row, trace=True).trace
    assert trace is not None
    assert trace.steps[-1].limit == pytest.approx(0.24, abs=1e-6)


POLICIES: list[dict[str, Any]] = [{"mirostat": 1}, {"mirostat": 2, "mirostat_tau": 2.0}, {"adaptive_target": 0.2}]


@pytest.mark.parametrize("params", POLICIES, ids=str)
def test_a_policy_forgets_what_is_taken_back(params: dict[str, Any]) -> None:
    """The same tokens again after a rollback, after a reset, and in a fork of the same stream."""
    sampler = Sampler(SamplingParams(**params, seed=9))
    first = [sampler.sample(ZIPF) for _ in range(30)]
    sampler.rollback(20)
    assert [sampler.sample(ZIPF) for _ in range(20)] == first[10:]
    sampler.rollback(20)
    (fork,) = sampler.fork(1)
    assert [fork.sample(ZIPF) for _ in range(20)] == first[10:]
    sampler.reset()
    assert [sampler.sample(ZIPF) for _ in range(30)] == first


@pytest.mark.parametrize("params", POLICIES, ids=str)
def test_forks_of_a_steered_sampler_are_steered_each_by_its_own_tokens(params: dict[str, Any]) -> None:
    """From the memory of their parent on, which stays as it is."""
    parent = Sampler(SamplingParams(**params, seed=9))
    first = [parent.sample(ZIPF) for _ in range(10)]
    before = limit(parent)
    forks = parent.fork(4)
    assert {limit(fork) for fork in forks} == {before}
    for fork in forks:
        for _ in range(10):
            fork.sample(ZIPF)
    assert len({limit(fork) for fork in forks}) == 4
    assert limit(parent) == before
    for fork in forks:
        fork.rollback(20)
        assert limit(fork) == limit(Sampler(SamplingParams(**params, seed=9)))
    assert parent.output.tolist() == first


@pytest.mark.parametrize("params", POLICIES, ids=str)
def test_a_token_chosen_elsewhere_leaves_the_memory_alone(params: dict[str, Any]) -> None:
    """Nothing is known of its probability: the limit of the next token is as before."""
    sampler = Sampler(SamplingParams(**params, seed=9))
    sampler.sample(ZIPF)
    before = limit(sampler)
    sampler.accept(3)
    assert limit(sampler) == before


def limit(sampler: Sampler) -> float | None:
    (fork,) = sampler.fork(1)
    trace = fork.draw(ZIPF, trace=True).trace
    assert trace is not None
    return trace.steps[-1].limit


@pytest.mark.parametrize("policy", POLICIES[:2], ids=str)
@pytest.mark.parametrize(
    "cut",
    [
        {"top_k": 5}, {"top_p": 0.9}, {"min_p": 0.1}, {"typical_p": 0.9}, {"epsilon": 0.1}, {"eta": 0.1},
        {"top_a": 0.1}, {"tfs": 0.9}, {"top_h": 0.5}, {"p_less": 2.0}, {"min_k": 1.0},
        {"top_n_sigma": 1.0}, {"xtc_probability": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_a_cut_beside_mirostat_is_refused(policy: dict[str, Any], cut: dict[str, Any]) -> None:
    """Mirostat takes the place of the cuts; the message names the cut and the policy."""
    with pytest.raises(ParameterError, match=f"{next(iter(cut))} must be None beside {next(iter(policy))}"):
        SamplingParams(**policy, **cut)


def test_adaptive_p_prefers_among_what_the_cuts_left() -> None:
    """Of .5 .3 .15 .05, min-p of .4 leaves .625 and .375; the first is hit by the target, the second 5/6 widths off."""
    row = np.log(np.array([0.5, 0.3, 0.15, 0.05])).astype(np.float32)
    scores = Sampler(SamplingParams(adaptive_target=0.625, min_p=0.4)).process(row)
    d = (0.625 - 0.375) / 0.3
    assert scores.tolist() == pytest.approx([5, 5 - 10 * d * d / (1 + d), -np.inf, -np.inf], abs=1e-5)


def test_two_policies_are_refused() -> None:
    """One takes the place of the other."""
    with pytest.raises(ParameterError, match="adaptive_target must be None beside mirostat"):
        SamplingParams(mirostat=2, adaptive_target=0.5)


def test_a_greedy_sampler_needs_no_policy() -> None:
    """At temperature 0 the best comes, whatever the policy would prefer."""
    for params in POLICIES:
        assert Sampler(SamplingParams(**params, temperature=0)).sample(ZIPF) == 0
