"""Arrays and lists that are none: whatever NumPy says of them, the error is ours, by the name of the argument.

Rows of several lengths, masked arrays, sets, types of other packages. No sampler changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import sortition
from refusals import ROW, unchanged, used
from sortition import LogitsError, ParameterError, Sampler, SamplingParams, decode, generate
from sortition.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = np.stack([ROW, ROW])
RAGGED = [[1, 2, 3, 4], [1]]
MASKED = np.ma.masked_array([1, 2], mask=[True, False])
WORDS = np.full((2, 1), -1, np.int32)


class Torn:
    """An array of another library, as one on a device: its own error."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("it is elsewhere")  # noqa: EM101, TRY003 - as libraries do


def batch(sampler: Sampler, **given: Any) -> Any:
    arguments = {"logits": ROWS, "samplers": [sampler, Sampler()]} | given
    return sortition.sample_batch(**arguments)


#: What is called, the argument that is bad, and how scores or integers are called there.
SCORES: dict[str, tuple[Callable[[Sampler, Any], Any], str]] = {
    "sample": (lambda s, bad: s.sample(bad), "logits"),
    "draw": (lambda s, bad: s.draw(bad), "logits"),
    "process": (lambda s, bad: s.process(bad), "logits"),
    "sample_batch": (lambda s, bad: batch(s, logits=bad), "logits"),
    "without state": (lambda _, bad: sortition.sample(bad), "logits"),
    "a kernel": (lambda _, bad: sortition.top_p(bad, 0.5), "x"),
    "rows": (lambda s, bad: s.verify(bad, [1]), "rows"),
    "draft_logits": (lambda s, bad: s.verify(ROWS, [1], bad), "draft_logits"),
}
INTEGERS: dict[str, tuple[Callable[[Sampler, Any], Any], str]] = {
    "prompt": (lambda _, bad: Sampler(prompt=bad), "prompt must be a sequence of integer token ids"),
    "stop_tokens": (lambda _, bad: Sampler(stop_tokens=bad), "stop_tokens must be a sequence of integer token ids"),
    "draft": (lambda s, bad: s.verify(ROWS, bad), "draft must be a sequence of integer token ids"),
    "rows": (lambda s, bad: batch(s, rows=bad), "rows must be a sequence of row indices of at least 0"),
    "mask": (lambda s, bad: s.sample(ROW, bad), "mask must be packed int32 or uint32"),
    "masks": (lambda s, bad: batch(s, mask=bad), "mask must be packed int32 or uint32"),
    "masks of a draft": (lambda s, bad: s.verify(ROWS, [1], mask=bad), "mask must be packed int32 or uint32"),
}


@pytest.mark.parametrize("case", SCORES)
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (RAGGED, r"must be rows of one length and type, got \[\[1, 2"),
        (Torn(), "must be rows of one length and type, got <"),
        (np.ma.masked_array(ROW, [True] * 4), "must be scores without a mask, got a masked array"),
        ([np.ma.masked_array(ROW, [True] * 4)] * 2, "must be scores without a mask, got a masked array"),
        (ROWS.astype(np.complex64), "must be real numbers, of a type of NumPy or bfloat16, got dtype complex64"),
        (ROWS.astype(ml_dtypes.float8_e5m2), "must be real numbers, of .*, got dtype float8_e5m2"),
        (ROWS.astype(ml_dtypes.float8_e4m3fn), "must be real numbers, of .*, got dtype float8_e4m3fn"),
        (ROWS[None], r"must have the shape .*, got \(1, 2, 4\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_are_no_scores_is_refused_by_name(case: str, bad: Any, said: str) -> None:
    call, name = SCORES[case]
    sampler = used()
    with pytest.raises(LogitsError, match=f"^{name} {said}"):
        call(sampler, bad)
    unchanged(sampler)


@pytest.mark.parametrize("case", INTEGERS)
@pytest.mark.parametrize("bad", [RAGGED, Torn(), MASKED, [MASKED, MASKED]], ids=["ragged", "torn", "masked", "list"])
def test_what_are_no_integers_is_refused_by_name(case: str, bad: Any) -> None:
    call, said = INTEGERS[case]
    sampler = used()
    with pytest.raises(ParameterError, match=f"^{said}.*, got "):
        call(sampler, bad)
    unchanged(sampler)


ONE_PIECE = ScriptedModel.from_pieces(["好"])
IN_ORDER: dict[str, Callable[[Sampler, Any], Any]] = {
    "prompt": lambda _, bad: Sampler(prompt=bad),
    "draft": lambda s, bad: s.verify(ROWS, bad),
    "rows": lambda s, bad: batch(s, rows=bad),
    "samplers": lambda s, bad: batch(s, samplers={Sampler() for _ in bad}),
    "prompt_ids": lambda s, bad: list(decode(ONE_PIECE, bad, s)),
    "prompt ": lambda _, bad: generate(ONE_PIECE, bad),
}


@pytest.mark.parametrize("name", IN_ORDER)
@pytest.mark.parametrize("kind", [set, frozenset, lambda ids: dict.fromkeys(ids).keys()])
def test_a_set_has_no_order(name: str, kind: Callable[[Any], Any]) -> None:
    """So it is no text, no draft, and no rows; which tokens stop has none either."""
    sampler = used()
    with pytest.raises(ParameterError, match=rf"^{name.strip()} must be .*, got a \w+, which has no order"):
        IN_ORDER[name](sampler, kind([0, 1]))
    unchanged(sampler)
    assert Sampler(SamplingParams(min_tokens=1, temperature=0), stop_tokens={2, 3}).sample(ROW) == 1


def test_what_a_generator_raises_is_its_own() -> None:
    """Not that it is no sequence."""

    def broken() -> Iterator[Any]:
        yield Sampler()
        raise TypeError("in the middle")  # noqa: EM101, TRY003 - as the user's code does

    with pytest.raises(TypeError, match="in the middle"):
        sortition.sample_batch(ROWS, broken())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="in the middle"):
        SamplingParams(suppress=broken())
    with pytest.raises(TypeError, match="in the middle"):
        generate(ONE_PIECE, [0], stop=broken())


def test_no_row_is_no_token() -> None:
    """Also as lists that were appended to for no request; with and without log-probabilities."""
    for logits in ([], np.empty((0, 7), np.float32), np.empty((0, 0))):
        draws = sortition.sample_batch(logits, [], logprobs=2)
        assert (draws.tokens.shape, draws.tokens.dtype, draws.errors) == ((0,), np.int64, {})
        assert draws.top_ids is not None
        assert draws.top_ids.shape == (0, 2)
        assert sortition.sample_batch(logits, []).logprobs is None
    with pytest.raises(ParameterError, match="samplers must be one for each row of logits, got 1 for 0 rows"):
        sortition.sample_batch([], [Sampler()])


def test_the_width_of_the_drafts_scores_is_held_to_the_vocabulary() -> None:
    """Which may be less than a padded head."""
    sampler = Sampler(vocab_size=3)
    with pytest.raises(LogitsError, match=r"draft_logits: a row must have at least 3 scores \(vocab_size\), got 2"):
        sampler.verify(ROWS, [1], ROWS[:1, :2])
    assert sampler.position == 0
    assert len(sampler.verify(ROWS, [1], ROWS[:1, :3])) > 0


def test_bytes_are_no_prompt() -> None:
    """The message says what to do with them here."""
    with pytest.raises(ParameterError, match=r"prompt must be text or a sequence of token ids, got bytes: decode them"):
        generate(ONE_PIECE, "好".encode())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "read", [getattr(SamplingParams, f"from_{stack}") for stack in ("transformers", "openai", "vllm", "llama_cpp")]
)
@pytest.mark.parametrize("value", [np.float32, np.ndarray, np.array([0.5, 0.5]), np.array([None])])
def test_a_class_of_numpy_is_no_value_of_a_request(read: Any, value: Any) -> None:
    """Nor are several numbers one."""
    with pytest.raises(ParameterError, match="request: temperature must be a number, got "):
        read({"do_sample": True, "temperature": value} if "transformers" in str(read) else {"temperature": value})
    with pytest.raises(ParameterError, match=r"^[^ ]+ request must be a mapping, got 3"):
        read(3)
