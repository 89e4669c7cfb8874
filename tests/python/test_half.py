"""Half precision is read as it is, and gives what the same numbers give as float32, to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortition
from sortition import LogitsError, NoCandidateError, Sampler, SamplingParams, sample
from strategies import finite_logits, histories, history_params, masks, seeds, stage_params

if TYPE_CHECKING:
    from collections.abc import Callable

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
halves = pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "argmax": sortition.argmax,
    "softmax": sortition.softmax,
    "softmax, cold": lambda x: sortition.softmax(x, temperature=1e-3),
    "log_softmax": sortition.log_softmax,
    "logsumexp": sortition.logsumexp,
    "entropy": sortition.entropy,
    "top_k": lambda x: sortition.top_k(x, min(5, x.shape[-1])),
    "top_k, all": lambda x: sortition.top_k(x, x.shape[-1]),
    "top_p": lambda x: sortition.top_p(x, 0.9),
    "sample": lambda x: sample(x, seed=3, temperature=0.7, min_p=0.01),
}


def rounded(row: np.ndarray, half: np.dtype[Any]) -> np.ndarray:
    """The row in half precision; what it has no room for becomes its largest, or its lowest."""
    most = float(ml_dtypes.finfo(half).max)
    return np.where(np.isfinite(row), np.clip(row, -most, most), row).astype(half)


def bits(answer: Any) -> list[bytes]:
    """An answer, or what was raised, as what can be compared without an allowance."""
    if isinstance(answer, (tuple, list)):
        return [piece for part in answer for piece in bits(part)]
    array = np.asarray(answer)
    return [str((array.dtype, array.shape)).encode(), array.tobytes()]


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return bits(function())
    except LogitsError as error:
        return type(error), str(error), error.row, error.token, error.stage


@halves
@pytest.mark.parametrize("name", FUNCTIONS)
@given(row=finite_logits())
def test_a_function_gives_the_bits_of_float32(half: np.dtype[Any], name: str, row: np.ndarray) -> None:
    """For ties, holes, subnormals and the ends of the range."""
    narrow = rounded(row, half)
    assert outcome(lambda: FUNCTIONS[name](narrow)) == outcome(lambda: FUNCTIONS[name](narrow.astype(np.float32)))


@halves
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_is_read_row_by_row(half: np.dtype[Any], name: str) -> None:
    """Whatever the stride of its rows, and of its scores."""
    table = np.random.default_rng(0).normal(size=(6, 80)).astype(half)
    wide = table.astype(np.float32)
    for cut in (np.s_[:], np.s_[::2], np.s_[:, 5:70], np.s_[::-1, ::-3], np.s_[2:3], np.s_[1]):
        assert outcome(lambda: FUNCTIONS[name](table[cut])) == outcome(lambda: FUNCTIONS[name](wide[cut]))  # noqa: B023


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A row, and all that its tokens depend on."""
    row = draw(finite_logits())
    params = draw(stage_params(len(row))) | draw(st.just({}) | history_params(len(row)))
    return {
        "row": row,
        "params": params | {"seed": draw(seeds)},
        "prompt": draw(histories(len(row))),
        "vocab_size": draw(st.none() | st.integers(max(1, len(row) - 3), len(row))),
        "mask": draw(st.none() | masks(row)),
    }


@halves
@given(request=requests())
def test_every_stage_gives_the_bits_of_float32(half: np.dtype[Any], request: dict[str, Any]) -> None:
    """Tokens, log-probabilities, traces and processed scores, of the same row three times."""
    row, mask = rounded(request["row"], half), request["mask"]
    wide = row.astype(np.float32)

    def drawn(scores: np.ndarray) -> Any:
        try:
            sampler = Sampler(SamplingParams(**request["params"]), request["prompt"], vocab_size=request["vocab_size"])
        except sortition.ParameterError as error:  # an id beyond the vocabulary
            return str(error)
        trace = [outcome(lambda: sampler.process(scores, mask))]
        for traced in (False, True):
            try:
                trace.append(repr(sampler.draw(scores, mask, logprobs=min(2, max(0, len(row) - 3)), trace=traced)))
            except LogitsError as error:
                trace.append(str(error))
        return [*trace, outcome(lambda: sampler.sample(scores, mask))]

    assert drawn(row) == drawn(wide)


@halves
def test_every_number_there_is(half: np.dtype[Any]) -> None:
    """All finite ones in one row, and each alone beside a zero: infinities and every NaN are told from them."""
    every = np.arange(2**16, dtype=np.uint16).view(half)
    single = every.astype(np.float32)
    finite = every[np.isfinite(single)]
    for name, function in FUNCTIONS.items():
        assert outcome(lambda: function(finite)) == outcome(lambda: function(finite.astype(np.float32))), name  # noqa: B023
    assert bits(Sampler(SamplingParams()).process(finite)) == bits(finite.astype(np.float32))
    pairs = np.stack([every, np.zeros_like(every)], axis=1)
    alone = [outcome(lambda: sortition.argmax(pair)) for pair in pairs]  # noqa: B023
    assert alone == [outcome(lambda: sortition.argmax(pair)) for pair in pairs.astype(np.float32)]  # noqa: B023
    refused = np.array([isinstance(said, tuple) for said in alone])
    assert (refused == (np.isnan(single) | (single == np.inf))).all()


@halves
def test_bad_scores_are_named_in_half_precision_too(half: np.dtype[Any]) -> None:
    """With row and token; a row of nothing but -inf has no candidate."""
    for bad in (np.nan, -np.nan, np.inf):
        table = np.zeros((2, 40), half)
        table[1, 37:] = bad
        with pytest.raises(LogitsError, match=r"NaN|inf") as caught:
            sample(table)
        assert (caught.value.row, caught.value.token) == (1, 37)
    with pytest.raises(NoCandidateError):
        sortition.argmax(np.full(20, -np.inf).astype(half))


@halves
def test_results_are_float32(half: np.dtype[Any]) -> None:
    """Also in the caller's buffer; the scores stay as they were."""
    row = np.linspace(-2, 2, 50).astype(half)
    before, out = row.tobytes(), np.empty(50, np.float32)
    assert sortition.softmax(row, out=out) is out
    assert sortition.top_k(row, 2)[0].dtype == np.float32
    assert Sampler(SamplingParams(top_k=2)).process(row).dtype == np.float32
    assert row.tobytes() == before


@halves
def test_misaligned_reversed_and_foreign_bytes_are_converted(half: np.dtype[Any]) -> None:
    """NumPy has no bfloat16 in the other byte order; float16 it has."""
    row = np.random.default_rng(1).normal(size=100).astype(half)
    buffer = np.zeros(2 * len(row) + 1, np.uint8)
    odd = buffer[1:].view(half)
    odd[:] = row
    others = [odd, row[::-1][::-1], np.repeat(row, 3)[::3], row[None]]
    if half == np.float16:
        others.append(row.astype(half.newbyteorder("S")))
    for other in others:
        assert Sampler(SamplingParams(seed=5)).draw(other) == Sampler(SamplingParams(seed=5)).draw(row)
        assert (np.ravel(sortition.softmax(other)) == sortition.softmax(row)).all()


@halves
@pytest.mark.parametrize("with_logits", [False, True])
def test_a_draft_is_verified_in_half_precision(half: np.dtype[Any], with_logits: bool) -> None:
    """Rows of the model and of the draft."""
    rng = np.random.default_rng(7)
    rows, logits = (3 * rng.normal(size=(9, 90))).astype(half), rng.normal(size=(8, 90)).astype(half)
    draft = sample(logits, seed=1)

    def stands(rows: np.ndarray, logits: np.ndarray) -> list[int]:
        return Sampler(SamplingParams(seed=2, top_k=40)).verify(rows, draft, logits if with_logits else None)

    assert stands(rows, logits) == stands(rows.astype(np.float32), logits.astype(np.float32))
