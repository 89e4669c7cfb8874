"""The record of a draw: what each stage did, and who removed a token. And the plan: what will run."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from sortition import NoCandidateError, ParameterError, Profile, Sampler, SamplingParams
from sortition.reference.pipeline import Request, heat
from sortition.reference.weights import entropy_of, weights

WEATHER = np.log(np.array([0.42, 0.18, 0.10, 0.30, 0.0], np.float64), where=[1, 1, 1, 1, 0], out=np.full(5, -np.inf))
"""今天天气 真 很 不 挺, and a token that cannot come."""


def traced(row: object, mask: object = None, **params: object) -> object:
    trace = Sampler(SamplingParams(**params)).draw(row, mask, trace=True).trace
    assert trace is not None
    return trace


def test_no_mass_is_above_one() -> None:
    """However their sum is rounded: one of 8,192 tokens is allowed."""
    for seed in range(20):
        row = np.random.default_rng(seed).normal(0, 4, 8192).astype(np.float32)
        (step,) = traced(row, mask=np.eye(1, 256, dtype=np.uint32)[0], seed=1).steps
        assert 0.99 < step.mass <= 1


def test_a_step_tells_candidates_mass_and_limit() -> None:
    """Top-k 3 removes .10 of the mass, top-p .7 of the rest .18 / .90; limits are the least scores kept."""
    first, second = traced(WEATHER, top_k=3, top_p=0.7).steps
    assert (first.stage, first.before, first.after) == ("top_k", 4, 3)
    assert (second.stage, second.before, second.after) == ("top_p", 3, 2)
    assert (first.mass, second.mass) == pytest.approx((0.10, 0.2), abs=1e-6)
    assert (first.limit, second.limit) == pytest.approx((math.log(0.18), math.log(0.30)), abs=1e-6)


def test_every_token_has_one_fate() -> None:
    """Removed by the first stage that did, kept, or impossible from the beginning."""
    trace = traced(WEATHER, mask=np.array([0b11011], np.uint32), suppress=[1], top_k=1)
    assert [trace.removed_by(token) for token in range(5)] == [None, "suppress", "mask", "top_k", "logits"]
    assert trace.fates.tolist() == [0, 3, 2, 4, 1]


@pytest.mark.parametrize(
    ("params", "limit"),
    [
        ({"temperature": 0.5}, 0.5),
        ({"min_p": 0.5}, math.log(0.42) + math.log(0.5)),
        ({"epsilon": 0.15}, 0.15),
        ({"top_a": 0.9}, 0.9 * 0.42**2),
        ({"p_less": 2.0}, 0.42**2 + 0.18**2 + 0.10**2 + 0.30**2),
        ({"mirostat": 2, "mirostat_tau": 0.8}, 1.6),
        ({"adaptive_target": 0.3}, 0.3),
        ({"temperature": 0}, 0.0),
    ],
    ids=str,
)
def test_the_limit_is_the_number_that_the_stage_went_by(params: dict[str, object], limit: float) -> None:
    """A temperature, a score, a probability, a surprise."""
    assert traced(WEATHER, **params).steps[-1].limit == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize("row", [[1.0, 0.0, 0.5], [100.0, 0.0, -1000.0], [0.0, 0.0]])
def test_a_temperature_that_follows_the_entropy_is_finite(row: list[float]) -> None:
    """Also where its range reaches beyond float64: no limit is infinite or, beside no entropy at all, NaN."""
    (step,) = traced(row, temperature=1e308, dynatemp_range=1e308).steps
    asked = Request(params={"temperature": 1e308, "dynatemp_range": 1e308})
    assert step.limit == pytest.approx(heat(np.array(row, np.float32), asked), rel=1e-6)
    assert math.isfinite(step.limit)


def test_an_entropy_next_to_temperature_zero_loses_no_digit() -> None:
    """2^-125 + 2^-148 - 2^-149 has a digit more than float32 holds; eta's limit tells the entropy."""
    row = np.full(10_000, 2.0**-149, np.float32)
    row[17] = 2.0**-125 + 2.0**-148
    (_, step) = traced(row, temperature=4e-39, eta=0.5).steps
    assert math.log(step.limit) == pytest.approx(math.log(0.5) / 2 - entropy_of(row, 4e-39), rel=1e-10)


def test_a_stage_that_does_nothing_says_so() -> None:
    """XTC whose coin says no, top-k beyond the row: nothing removed, and no limit."""
    for step in traced(WEATHER, top_k=100, xtc_probability=1e-300).steps:
        assert (step.before, step.after, step.mass, step.limit) == (4, 4, 0.0, None)


def test_without_a_trace_there_is_none() -> None:
    """And a dictionary says so."""
    draw = Sampler(SamplingParams()).draw(WEATHER)
    assert draw.trace is None
    assert draw.to_dict()["trace"] is None


@pytest.mark.parametrize("rank", [9000, 9002, 9017])
def test_a_trace_changes_nothing_where_rounding_decides(rank: int) -> None:
    """A flat row and a mass that its best reach by a hundred-billionth: a sum of float32 is too rough to tell."""
    row = np.random.default_rng(0).normal(size=20_000).astype(np.float32)
    weight = np.sort(weights(row, 1.0).astype(np.float64))[::-1]
    met = weight[:rank].sum() / weight.sum() / (1 - 2.0**-20)
    for mass, kept in ((met * (1 - 1e-11), rank), (met * (1 + 1e-11), rank + 1)):
        params = SamplingParams(top_p=mass, seed=1)
        assert Sampler(params).draw(row).kept == kept
        assert Sampler(params).draw(row, trace=True).kept == kept


def test_a_trace_goes_through_strict_json() -> None:
    """Plain values, no NaN, no infinity."""
    draw = Sampler(SamplingParams(top_k=2)).draw(WEATHER, trace=True)
    steps = json.loads(json.dumps(draw.to_dict(), allow_nan=False))["trace"]["steps"]
    assert steps[0]["stage"] == "top_k"
    assert steps[0]["after"] == 2


@pytest.mark.parametrize(
    ("params", "row"),
    [
        ({"temperature": 1e308, "min_p": 0.1}, [1.0, 0.0, -3.0]),
        ({"top_n_sigma": 1e308}, [3.4e38, -3.4e38, 0.0]),
    ],
    ids=str,
)
def test_a_limit_beyond_all_numbers_is_the_largest(params: dict[str, float], row: list[float]) -> None:
    """It goes through strict JSON too."""
    draw = Sampler(SamplingParams(**params)).draw(np.array(row, np.float32), trace=True)
    steps = json.loads(json.dumps(draw.to_dict(), allow_nan=False))["trace"]["steps"]
    assert max(abs(step["limit"]) for step in steps) == sys.float_info.max


def test_a_token_beyond_the_vocabulary_has_no_fate() -> None:
    """It is no token."""
    with pytest.raises(IndexError):
        traced(WEATHER).removed_by(5)


@pytest.mark.parametrize("trace", [False, True])
def test_the_stage_that_empties_a_row_is_named_in_any_order(trace: bool) -> None:
    """Here a bias that comes after a cut bans the one token that the cut left."""
    order = [*(name for name in Profile.named("sortition").order if name != "logit_bias"), "logit_bias"]
    sampler = Sampler(SamplingParams(top_k=1, logit_bias={0: -math.inf}, order=order))
    with pytest.raises(NoCandidateError, match="logit_bias") as caught:
        sampler.draw(WEATHER, trace=trace)
    assert caught.value.stage == "logit_bias"
    assert sampler.position == 0


def test_the_plan_lists_what_runs_in_its_order() -> None:
    """Stages that are off, or have nothing to do, are not in it; a hard rule is while it holds."""
    params = {"temperature": 0.7, "top_k": 5, "top_p": 1.0, "min_p": 0.1, "frequency_penalty": 0.5, "min_tokens": 1}
    sampler = Sampler(SamplingParams(**params), stop_tokens=[3])
    assert [stage.name for stage in sampler.plan()] == ["min_tokens", "frequency", "temperature", "top_k", "min_p"]
    sampler.accept(0)
    assert [stage.name for stage in sampler.plan()] == ["frequency", "temperature", "top_k", "min_p"]
    assert all(stage.needs for stage in sampler.plan())


def test_the_plan_says_what_the_temperature_needs() -> None:
    """By what it does."""
    for params, needs in (
        ({"temperature": 0.7}, "nothing"),
        ({"temperature": 0}, "the best score"),
        ({"dynatemp_range": 0.5}, "the mass and the entropy"),
        ({"smoothing_factor": 0.5}, "the best score: a pass to smooth"),
        ({"smoothing_factor": 0.5, "dynatemp_range": 0.5}, "the mass, the entropy, the best score: a pass to smooth"),
    ):
        assert [str(stage) for stage in Sampler(SamplingParams(**params)).plan()] == [f"temperature: {needs}"]


def test_smoothing_is_in_the_step_of_the_temperature() -> None:
    """Which removes nothing; the cut behind it finds the probabilities that it made, here 16 8 1 1 of 26."""
    sampler = Sampler(SamplingParams(smoothing_factor=float(1 / np.log(2)), top_p=0.9, seed=1))
    trace = sampler.draw(np.log([0.5, 0.25, 0.125, 0.125]), trace=True).trace
    smoothed, cut = trace.steps
    assert (smoothed.stage, smoothed.before, smoothed.after, smoothed.mass) == ("temperature", 4, 4, 0.0)
    assert smoothed.limit == 1.0
    assert (cut.stage, cut.after) == ("top_p", 2)
    assert cut.mass == pytest.approx(2 / 26, rel=1e-6)


def test_a_greedy_plan_ends_with_the_temperature() -> None:
    """It takes the best of all, or with the reading of llama.cpp of what the cuts left."""
    names = [stage.name for stage in Sampler(SamplingParams(temperature=0, top_k=3)).plan()]
    assert names == ["temperature"]
    sampler = Sampler(SamplingParams.profile("llama.cpp", temperature=0, top_k=3, xtc_probability=1.0))
    assert [stage.name for stage in sampler.plan()] == ["top_k", "xtc", "temperature"]
    assert sampler.sample(np.log([0.5, 0.3, 0.15, 0.05])) == 2


def test_an_unknown_reading_or_profile_is_refused() -> None:
    """The message has the name, and the names that there are."""
    with pytest.raises(ParameterError, match=r"readings must be .*top_k_ties.*'ties'"):
        SamplingParams(readings=["ties"])
    with pytest.raises(ParameterError, match=r"profile must be .*llama\.cpp.*'ollama'"):
        SamplingParams.profile("ollama")


def test_draws_are_equal_when_all_they_say_is() -> None:
    """With their traces, and in a set."""
    one, two, other = (Sampler(SamplingParams(top_k=k, seed=1)).draw(WEATHER, trace=True) for k in (2, 2, 3))
    assert one == two != other
    assert one.trace == two.trace != other.trace
    assert one.trace != "a trace"
    assert len({one, two, other}) == len({one.trace, two.trace, other.trace}) == 2
