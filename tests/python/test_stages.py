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
from sortition.reference.weights import log_chances
from strategies import finite_logits, histories, masks, seeds, stage_params

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
    assert log_chances(got) == pytest.approx(log_chances(want), rel=1e-6, abs=1e-6)


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
