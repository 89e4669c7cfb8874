"""What holds for every row and every set of parameters: Rust does what the reference says.

The weights are defined to the bit and the limits in float64, so no comparison of a token, of a kept set or of a score
needs an allowance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import ReferenceSampler
from sortition import Sampler, SamplingParams, reference, sample
from strategies import finite_logits, histories, masks, sampling_params, seeds


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A row, with everything that its token depends on."""
    row = draw(finite_logits())
    return {
        "row": row,
        "params": draw(sampling_params(len(row))) | {"seed": draw(seeds)},
        "prompt": draw(histories(len(row))),
        "output": draw(histories(len(row))),
        "mask": draw(st.none() | masks(row)),
        "stream": draw(st.integers(0, 2**32 - 1)),
    }


def twins(request: dict[str, Any]) -> tuple[Sampler, ReferenceSampler]:
    """The package's sampler and the reference's, in the same state."""
    state = {"prompt": request["prompt"], "stream": request["stream"]}
    one, other = Sampler(SamplingParams(**request["params"]), **state), ReferenceSampler(request["params"], **state)
    for token in request["output"]:
        one.accept(token)
        other.accept(token)
    return one, other


def bits(scores: np.ndarray) -> list[int]:
    """The bits of the scores, with one zero."""
    return (scores + np.float32(0)).view(np.uint32).tolist()


@given(request=requests())
def test_processed_scores_equal_the_references_bit_for_bit(request: dict[str, Any]) -> None:
    """Every stage that edits a score rounds once, every cut keeps the same tokens."""
    ours, theirs = twins(request)
    got = ours.process(request["row"], mask=request["mask"])
    want = theirs.process(request["row"], mask=request["mask"])
    assert got.dtype == np.float32
    assert np.flatnonzero(np.isfinite(got)).tolist() == np.flatnonzero(np.isfinite(want)).tolist()
    assert bits(got) == bits(want)


@given(request=requests(), count=st.integers(1, 4))
def test_tokens_equal_the_references_for_every_seed_stream_and_position(request: dict[str, Any], count: int) -> None:
    """The reference names the very token, and goes on to name the next ones."""
    ours, theirs = twins(request)
    row, mask = request["row"], request["mask"]
    assert [ours.sample(row, mask=mask) for _ in range(count)] == [theirs.sample(row, mask=mask) for _ in range(count)]
    assert ours.output.tolist() == theirs.output


@given(request=requests(), size=st.integers(0, 20))
def test_what_a_draw_says_about_its_token_is_what_the_reference_says(request: dict[str, Any], size: int) -> None:
    """Log-probabilities within 1e-5; rank, number of candidates and the list of the best exactly."""
    size = min(size, len(request["row"]))
    ours, theirs = (sampler.draw(request["row"], mask=request["mask"], logprobs=size) for sampler in twins(request))
    assert (ours.token, ours.rank, ours.kept) == (theirs.token, theirs.rank, theirs.kept)
    assert ours.logprob == pytest.approx(theirs.logprob, rel=1e-5, abs=1e-5)
    assert ours.raw_logprob == pytest.approx(theirs.raw_logprob, rel=1e-5, abs=1e-5)
    assert [i for i, _ in ours.top] == [i for i, _ in theirs.top]
    assert [v for _, v in ours.top] == pytest.approx([v for _, v in theirs.top], rel=1e-5, abs=1e-5)


@given(request=requests())
def test_process_does_not_draw_and_no_call_changes_the_callers_array(request: dict[str, Any]) -> None:
    """A row that was looked at is as it was, and so is the sampler."""
    row, before = request["row"], request["row"].tobytes()
    sampler, _ = twins(request)
    sampler.process(row, mask=request["mask"])
    assert sampler.output.tolist() == request["output"]
    sampler.draw(row, mask=request["mask"])
    assert row.tobytes() == before


STRIDES = {
    "contiguous": lambda row: row.copy(),
    "read-only": lambda row: _read_only(row.copy()),
    "every second": lambda row: np.repeat(row, 2)[::2],
    "reversed": lambda row: row[::-1].copy()[::-1],
    "a column": lambda row: np.stack([row, row + 1], axis=1)[:, 0],
    "a row of a padded table": lambda row: np.pad(row, (3, 5))[3 : 3 + len(row)],
}


def _read_only(row: np.ndarray) -> np.ndarray:
    row.flags.writeable = False
    return row


@pytest.mark.parametrize("layout", sorted(STRIDES))
@given(request=requests())
def test_the_layout_of_the_array_does_not_matter(layout: str, request: dict[str, Any]) -> None:
    """Any stride, and arrays that may not be written."""
    (one, _), (other, _) = twins(request), twins(request)
    row = STRIDES[layout](request["row"])
    assert one.sample(row, mask=request["mask"]) == other.sample(request["row"], mask=request["mask"])


@given(data=st.data(), size=st.sampled_from([1, 2, 17, 64]), count=st.integers(1, 9), seed=seeds)
def test_a_table_draws_what_each_row_draws_alone(data: st.DataObject, size: int, count: int, seed: int) -> None:
    """Row r throws the coin of stream r, however many rows stand beside it."""
    rows = np.stack([data.draw(finite_logits(st.just(size))) for _ in range(count)])
    params = data.draw(sampling_params(size)) | {"seed": seed}
    together = sample(rows, **params)
    assert together.dtype == np.int64
    assert together.shape == (count,)
    assert together.tolist() == [Sampler(SamplingParams(**params), stream=r).sample(rows[r]) for r in range(count)]


@given(row=finite_logits(), seed=seeds)
def test_values_that_cut_nothing_draw_what_no_value_draws(row: np.ndarray, seed: int) -> None:
    """top_k of the whole vocabulary, top_p of 1, min_p of 0, penalties of nothing."""
    plain = sample(row, seed=seed)
    idle = {"top_k": len(row), "top_p": 1.0, "min_p": 0.0, "temperature": 1, "logit_bias": {}, "min_keep": 1}
    assert sample(row, seed=seed, **idle) == plain
    for name, value in idle.items():
        assert sample(row, seed=seed, **{name: value}) == plain


@given(request=requests(), back=st.integers(0, 6), more=st.integers(1, 4))
def test_rollback_is_as_if_the_tokens_had_never_been(request: dict[str, Any], back: int, more: int) -> None:
    """Position, penalties and coins after a rollback are those of a sampler that never went further."""
    row, mask = request["row"], request["mask"]
    (went, _), (stayed, _) = twins(request), twins(request)
    for _ in range(back):
        went.sample(row, mask=mask)
    went.rollback(back)
    assert went.position == stayed.position == len(request["output"])
    assert went.output.tolist() == stayed.output.tolist()
    assert [went.sample(row, mask=mask) for _ in range(more)] == [stayed.sample(row, mask=mask) for _ in range(more)]


@given(request=requests(), more=st.integers(1, 4))
def test_drawing_is_accepting_what_was_drawn(request: dict[str, Any], more: int) -> None:
    """A sampler that is told the tokens of another goes on as the other does."""
    row, mask = request["row"], request["mask"]
    (drew, _), (told, _) = twins(request), twins(request)
    for _ in range(more):
        told.accept(drew.sample(row, mask=mask))
    assert drew.draw(row, mask=mask).to_dict() == told.draw(row, mask=mask).to_dict()


@given(request=requests(), count=st.integers(1, 5))
def test_forks_draw_the_streams_from_0_on_and_leave_their_parent_alone(request: dict[str, Any], count: int) -> None:
    """Fork k is the sampler of stream k with the same history."""
    row, mask = request["row"], request["mask"]
    parent, twin = twins(request)
    forks = parent.fork(count)
    assert [fork.stream for fork in forks] == list(range(count))
    assert [fork.sample(row, mask=mask) for fork in forks] == [f.sample(row, mask=mask) for f in twin.fork(count)]
    assert parent.output.tolist() == request["output"]


@given(request=requests())
def test_reset_forgets_the_output_and_keeps_the_prompt(request: dict[str, Any]) -> None:
    """A sampler that was reset draws what a new one draws."""
    row, mask = request["row"], request["mask"]
    used, _ = twins(request)
    fresh, _ = twins(request | {"output": []})
    used.sample(row, mask=mask)
    used.reset()
    assert list(used.prompt) == request["prompt"]
    assert [used.sample(row, mask=mask) for _ in range(3)] == [fresh.sample(row, mask=mask) for _ in range(3)]


@given(row=finite_logits(), data=st.data())
def test_stop_tokens_wait_for_min_tokens(row: np.ndarray, data: st.DataObject) -> None:
    """Before that many outputs no stop token is drawn, and afterwards the row is as it would be without the rule."""
    candidates = np.flatnonzero(np.isfinite(row)).tolist()
    assume(len(candidates) > 1)
    stop = data.draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=len(candidates) - 1, unique=True))
    least = data.draw(st.integers(1, 3))
    sampler = Sampler(SamplingParams(min_tokens=least, seed=1), stop_tokens=stop)
    for _ in range(least):
        assert sampler.sample(row) not in stop
    assert bits(sampler.process(row)) == bits(reference.process(row, {}))


def test_a_table_may_be_one_row_seen_many_times() -> None:
    """A stride of 0 between rows: what a broadcast is."""
    row = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    seen = sample(np.broadcast_to(row, (64, 3)), seed=5)
    assert seen.tolist() == sample(np.tile(row, (64, 1)), seed=5).tolist()
    assert len(set(seen.tolist())) > 1
