"""Every subset of the stages, in every order, under every reading: Rust keeps and draws what the reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import ReferenceSampler
from sortition import Profile, Sampler, SamplingParams
from sortition.reference import profiles
from sortition.reference.weights import log_probabilities, smoothed
from strategies import finite_logits, histories, masks, seeds, smoothing, stage_params, temperatures

READINGS = sorted({name for stack in profiles.PROFILES for name in Profile.named(stack).readings})


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A row, and all that its token depends on; the same parameters for the package and for the reference."""
    row = draw(finite_logits())
    params = draw(stage_params(len(row))) | {"seed": draw(seeds)}
    order = draw(st.none() | st.permutations(profiles.SOFT))
    readings = draw(st.sets(st.sampled_from(READINGS), max_size=3))
    return {
        "row": row,
        "ours": params | {"order": order, "readings": sorted(readings)},
        "theirs": params | {"profile": as_reference(order, readings)},
        "prompt": draw(histories(len(row))),
        "output": draw(histories(len(row))),
        "mask": draw(st.none() | masks(row)),
        "stream": draw(st.integers(0, 2**32 - 1)),
    }


def as_reference(order: list[str] | None, readings: set[str]) -> profiles.Profile:
    """The reference says "see the prompt" where the package says "output only"."""
    switches = dict.fromkeys(readings - {"bad_words_output_only"}, True)
    return profiles.Profile(
        order=tuple(order or profiles.SOFT), bad_words_see_prompt="bad_words_output_only" not in readings, **switches
    )


def twins(request: dict[str, Any]) -> tuple[Sampler, ReferenceSampler]:
    state = {"prompt": request["prompt"], "stream": request["stream"]}
    one = Sampler(SamplingParams(**request["ours"]), **state)
    other = ReferenceSampler(request["theirs"], **state)
    for token in request["output"]:
        one.accept(token)
        other.accept(token)
    return one, other


@given(request=requests())
def test_every_subset_and_order_keeps_what_the_reference_keeps(request: dict[str, Any]) -> None:
    """The same candidates with the same probabilities."""
    ours, theirs = twins(request)
    got = ours.process(request["row"], mask=request["mask"])
    want = theirs.process(request["row"], mask=request["mask"])
    assert np.flatnonzero(np.isfinite(got)).tolist() == np.flatnonzero(np.isfinite(want)).tolist()
    assert log_probabilities(got) == pytest.approx(log_probabilities(want), rel=1e-6, abs=1e-6)


@given(request=requests())
def test_every_subset_and_order_draws_what_the_reference_draws(request: dict[str, Any]) -> None:
    """The very token, and the ones after it; with a trace as without."""
    (ours, theirs), (traced, _) = twins(request), twins(request)
    row, mask = request["row"], request["mask"]
    for _ in range(3):
        got, want = ours.draw(row, mask=mask), theirs.draw(row, mask=mask)
        assert (got.token, got.kept) == (want.token, want.kept)
        assert got.logprob == pytest.approx(want.logprob, rel=1e-5, abs=1e-5)
        assert traced.draw(row, mask=mask, trace=True).token == got.token


@given(row=finite_logits(), params=smoothing, temperature=temperatures.filter(bool))
def test_smoothed_scores_are_those_of_the_reference_to_the_bit(
    row: np.ndarray, params: dict[str, Any], temperature: float
) -> None:
    """With finite scores where they were finite, whatever overflows on the way."""
    got = Sampler(SamplingParams(temperature=temperature, **params)).process(row)
    want = smoothed(row, float(temperature), params["smoothing_factor"], params["smoothing_curve"])
    assert got.tobytes() == want.tobytes()
    assert (np.isfinite(got) == np.isfinite(row)).all()


CUTS: dict[str, list[dict[str, Any]]] = {
    "top_n_sigma": [{"top_n_sigma": 1.0}, {"top_n_sigma": 3.0}],
    "min_k": [{"min_k": 0.0}, {"min_k": 400.0}],
    "top_k": [{"top_k": 20_000}, {"top_k": 55_000}, {"top_k": 3_000, "min_keep": 4_000}],
    "typical": [{"typical_p": 0.2}, {"typical_p": 0.95}, {"typical_p": 0.5, "min_keep": 100}],
    "typical, most": [{"typical_p": 0.999}, {"typical_p": 0.9}, {"typical_p": 0.01, "min_keep": 20_000}],
    "p_less": [{"p_less": 2.0}, {"p_less": 1.2}],
    "epsilon": [{"epsilon": 3e-4}, {"epsilon": 0.9}],
    "eta": [{"eta": 2e-3}],
    "top_a": [{"top_a": 0.1}],
    "tfs": [{"tfs": 0.5}, {"tfs": 0.99}],
    "top_h": [{"top_h": 0.3}, {"top_h": 0.9}],
    "xtc": [{"xtc_probability": 1.0, "xtc_threshold": 0.01, "xtc_protect": [5]}],
    "dynatemp": [{"dynatemp_range": 0.5, "top_k": 40}],
    "smoothing": [
        {"smoothing_factor": 0.3},
        {"smoothing_factor": 0.2, "smoothing_curve": 2.5, "dynatemp_range": 0.5},
        {"smoothing_factor": 0.1, "typical_p": 0.5},
    ],
    "smoothing and cuts": [
        {"smoothing_factor": 0.1, "top_p": 0.9},
        {"smoothing_factor": 0.3, "smoothing_curve": 5.0, "min_p": 0.01},
        {"smoothing_factor": 0.3, "top_k": 50, "order": ("top_k", *(s for s in profiles.SOFT if s != "top_k"))},
    ],
    "mirostat": [{"mirostat": 1, "mirostat_tau": 3.0}, {"mirostat": 2, "mirostat_tau": 3.0}],
    "adaptive_p": [{"adaptive_target": 0.3}, {"adaptive_target": 0.2, "min_p": 0.05, "top_k": 40}],
    "bias after cuts": [{"top_k": 1000, "logit_bias": {5: 30.0, 7: -1.0}, "order": (*profiles.SOFT[1:], "logit_bias")}],
    "typical after top_k": [{"top_k": 50_000, "typical_p": 0.6}],
}
"""Every cut on its own, where it keeps little and where it keeps much."""

ROWS: dict[str, Any] = {
    "like a model": lambda rng, size: rng.normal(-4, 2, size) + 12 * (rng.random(size) < 1e-4),
    "flat": lambda rng, size: 7 + rng.normal(0, 0.1, size),
    "steep": lambda rng, size: rng.exponential(4, size) * -1,
    "wide": lambda rng, size: rng.normal(0, 3, size),
    "uniform": lambda rng, size: rng.random(size),
    "half precision": lambda rng, size: rng.normal(0, 1, size).astype(np.float16),
    "two hills": lambda rng, size: np.where(rng.random(size) < 0.9, rng.normal(-4, 1, size), rng.normal(3, 0.2, size)),
    "equal": lambda rng, size: np.zeros(size),
    "tied": lambda rng, size: rng.integers(-20, 3, size) / 2,
    "holes": lambda rng, size: np.where(rng.random(size) < 0.6, -np.inf, rng.normal(0, 3, size)),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_of_a_whole_vocabulary_is_the_references(cut: str, kind: str) -> None:
    """Where nothing is sorted whole: bounds, growing prefixes, bands and thresholds find the same candidates."""
    rng = np.random.default_rng(len(kind))
    for size, params in zip((151_936, 60_001, 50_257), CUTS[cut] * 3, strict=False):
        row = ROWS[kind](rng, size).astype(np.float32)
        seeded = params | {"temperature": 0.8, "seed": size}
        ours, theirs = Sampler(SamplingParams(**seeded)), ReferenceSampler(seeded)
        for _ in range(2):
            got, want = ours.draw(row), theirs.draw(row)
            assert (got.token, got.kept) == (want.token, want.kept), params


def test_top_h_as_transformers_reads_it_looks_at_the_best_hundred():
    """Of 300 equal scores, the best hundred hold ln 100, of which half is 50 equal terms; at 1, all of these stay."""
    for share, kept in ((0.505, 50), (1.0, 100)):
        sampler = Sampler(SamplingParams.profile("transformers", top_h=share))
        assert np.flatnonzero(np.isfinite(sampler.process(np.zeros(300, np.float32)))).tolist() == list(range(kept))
