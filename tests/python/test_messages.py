"""Whatever is given for an argument is either taken or refused with its name, what is legal, and what was given."""

from __future__ import annotations

import array
import dataclasses
import decimal
import fractions
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sortition as st
from refusals import HUGE, INF, NAN, ROW
from sortition import ParameterError, Sampler, SamplingParams, ScriptedModel, SortitionError

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = np.stack([ROW, ROW])
TRUE = np.ones((), np.bool_)


class _Index:
    """An integer of another library."""

    def __index__(self) -> int:
        return 1


class _Text(str):
    __slots__ = ()


NUMBERS: tuple[Any, ...] = (
    *(True, False, 0, -1, 1, 2, 2**31, 2**32, 2**63, 2**64, -(2**63), HUGE, 10**400, -(10**400), 10**5000),
    *(0.5, 1e308, -1e308, 5e-324, NAN, INF, -INF, 1j, _Index()),
    *(decimal.Decimal(text) for text in ("0.5", "NaN", "sNaN", "Infinity", "1e400")),
    *(fractions.Fraction(1, 2), fractions.Fraction(10**400)),
    *(np.dtype(code).type(1) for code in "?bhilqBHILQefdgFDGSU"),
    *(np.float64("nan"), np.float32("inf"), np.datetime64("2020-01-01"), np.timedelta64(1), np.void(b"1")),
)
TEXTS: tuple[Any, ...] = (
    "",
    "a",
    "0.5",
    "all",
    "字",
    "😀",
    "\ud800",
    _Text("all"),
    b"",
    b"1",
    bytearray(b"1"),
    memoryview(b"12"),
)
COLLECTIONS: tuple[Any, ...] = (
    *(
        (),
        [],
        {},
        set(),
        frozenset(),
        range(0),
        range(3),
        [[]],
        [()],
        [{}],
        [[[1]]],
        ((1,), (2,)),
        [1, [2]],
        ["ab"],
        ["\ud800"],
    ),
    *([None], [True], ["a"], [b"a"], [1.0], [1.5], [-1], [2**32], [2**64], [10**400], [NAN], [10**5000]),
    *([[1, -1]], [[1.5]], [[None]], [["a"]], [[2**32]], [[10**5000]], [{1: 2}]),
    *({1: 2}, {1: {2: 3}}, {"a": 1}, {None: 1}, {2**32: 1}, {-1: 1}, {1.0: 2}, {True: 1}, {10**5000: 1}),
    *({1: None}, {1: "x"}, {1: NAN}, {1: 10**400}, {1: -(10**400)}, {1: True}, {1: 1j}, {1: [2]}),
)
ARRAYS: tuple[Any, ...] = (
    *(np.array(1), np.array(0.5), np.array("a"), np.array(None), np.array([]), np.zeros((0, 3)), np.array([1])),
    *(np.array([0.5]), np.array([[1, 2], [3, 4]]), np.array([1.5]), np.array(["dry"]), np.array([None])),
    *(np.ma.array([1, 2], mask=[0, 1]), np.ma.array(3, mask=True), np.ma.array(0.5, mask=True)),
    *(np.array("0.5"), np.array(b"0.5"), TRUE, array.array("B", b"1")),
)
REST: tuple[Any, ...] = (None, object(), type, Ellipsis, NotImplemented, lambda _: 1)

STRANGE = (*NUMBERS, *TEXTS, *COLLECTIONS, *ARRAYS, *REST)

FIELDS = [item.name for item in dataclasses.fields(SamplingParams) if item.init]


def refusal(call: Callable[[Any], Any], value: Any) -> SortitionError | None:
    """The error that a call raises, if it is of this package."""
    try:
        call(value)
    except SortitionError as error:
        return error
    return None


def complains(error: SortitionError, name: str) -> bool:
    """Whether the message says the name, what is legal, and what was given, and is no longer than a few lines."""
    text = str(error)
    return (
        re.match(rf"(row \d+: )?({name})(\[\d+\]|: a row)? (must .*, got |names token \d+, .* must )", text) is not None
        and len(text) < 400
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FIELDS)
def test_a_parameter_is_taken_or_refused_in_its_own_name(name: str) -> None:
    """What is taken can be shown, made again from its dictionary, and drawn with, save what a row of four has not."""
    for value in STRANGE:
        if (error := refusal(lambda value: SamplingParams(**{name: value}), value)) is not None:
            assert complains(error, name), f"{error}"
            continue
        if name == "processors":
            continue
        params = SamplingParams(**{name: value})
        assert name in repr(params) or params == SamplingParams()
        assert SamplingParams(**params.to_dict()) == params
        error = refusal(Sampler(dataclasses.replace(params, seed=1)).sample, ROW)
        assert error is None or str(error).startswith(name) or isinstance(error, st.NoCandidateError)


@pytest.mark.parametrize(
    "value",
    [
        *("0.5", b"0.5", bytearray(b"12"), memoryview(b"12"), array.array("B", b"1"), True, TRUE),
        *(np.array("0.5"), np.array(b"0.5"), np.array(1j), np.ma.array(0.5, mask=True)),
        *(np.str_("0.5"), np.bytes_(b"0.5"), np.timedelta64(5), np.datetime64(5, "ns"), np.complex64(1)),
    ],
    ids=repr,
)
def test_what_only_looks_like_a_number_is_none(value: Any) -> None:
    """Text, buffers, truth values, and what is masked."""
    for call in (
        lambda: SamplingParams(temperature=value),
        lambda: SamplingParams(top_k=value),
        lambda: SamplingParams(logit_bias={1: value}),
        lambda: SamplingParams(logit_bias={1: 1.0}, seed=value),
        lambda: st.softmax(ROW, temperature=value),
        lambda: sampler().accept(value),
    ):
        with pytest.raises(ParameterError, match=", got "):
            call()
    masked = np.ma.array(3, mask=True)
    for call in (lambda: SamplingParams(top_k=masked), lambda: SamplingParams(suppress=[masked])):
        with pytest.raises(ParameterError, match=", got "):
            call()


class _Unshown:
    def __repr__(self) -> str:
        raise RuntimeError

    def __iter__(self) -> Any:
        return iter([self])


def test_what_cannot_be_shown_is_refused_as_well() -> None:
    """By its type."""
    model = st.ScriptedModel.from_pieces(["a"])
    for call in (
        lambda: st.load(_Unshown()),  # type: ignore[arg-type]
        lambda: st.generate(model, "a", stop=_Unshown()),  # type: ignore[arg-type]
        lambda: st.generate(model, "a", stop=[_Unshown()]),  # type: ignore[list-item]
    ):
        with pytest.raises(ParameterError, match="got a value of type _Unshown"):
            call()


def sampler() -> Sampler:
    return Sampler(SamplingParams(seed=1), prompt=[1])


def model() -> ScriptedModel:
    return ScriptedModel.from_pieces(["你", "好", "字", "😀"])


ARGUMENTS: dict[str, list[Callable[[Any], Any]]] = {
    "x": [st.argmax, st.softmax, st.log_softmax, st.logsumexp, st.entropy, lambda v: st.top_k(v, 2)],
    "temperature": [lambda v: st.softmax(ROW, temperature=v)],
    "k": [lambda v: st.top_k(ROW, v)],
    "p": [lambda v: st.top_p(ROW, v)],
    "out": [
        lambda v: st.softmax(ROW, out=v),
        lambda v: st.log_softmax(ROW, out=v),
        lambda v: st.sample_batch(TABLE, [sampler(), sampler()], out=v),
    ],
    "params": [lambda v: st.sample(ROW, v), Sampler, lambda v: st.stream(model(), [0], v)],
    "samplers": [lambda v: st.sample_batch(TABLE, v)],
    "rows": [lambda v: sampler().verify(v, [0])],
    "draft|rows": [lambda v: sampler().verify(TABLE, v)],
    "draft_logits": [lambda v: sampler().verify(TABLE, [1], v)],
    "mask": [
        lambda v: sampler().verify(TABLE, [1], mask=v),
        lambda v: sampler().sample(ROW, mask=v),
        lambda v: sampler().process(ROW, mask=v),
        lambda v: st.sample_batch(TABLE, [sampler(), sampler()], mask=v),
    ],
    "logprobs": [
        lambda v: sampler().draw(ROW, logprobs=v),
        lambda v: st.sample_batch(TABLE, [sampler(), sampler()], logprobs=v),
    ],
    "on_error": [lambda v: st.sample_batch(TABLE, [sampler(), sampler()], on_error=v)],
    "prompt": [lambda v: Sampler(SamplingParams(), prompt=v), lambda v: st.stream(model(), v)],
    "prompt_ids": [lambda v: st.decode(model(), v, sampler())],
    "stop_tokens": [
        lambda v: Sampler(SamplingParams(), stop_tokens=v),
        lambda v: st.decode(model(), [0], sampler(), stop_tokens=v),
        lambda v: st.stream(model(), [0], stop_tokens=v),
    ],
    "model": [lambda v: st.decode(v, [0], sampler()), lambda v: st.stream(v, "你"), st.load],
    "sampler": [lambda v: st.decode(model(), [0], v)],
    "stop": [lambda v: st.stream(model(), [0], stop=v), lambda v: st.generate(model(), [0], stop=v)],
    "max_tokens": [
        lambda v: st.decode(model(), [0], sampler(), max_tokens=v),
        lambda v: st.generate(model(), [0], max_tokens=v),
    ],
    "deadline": [
        lambda v: st.decode(model(), [0], sampler(), deadline=v),
        lambda v: st.generate(model(), [0], deadline=v),
    ],
    "cancel": [
        lambda v: st.decode(model(), [0], sampler(), cancel=v),
        lambda v: st.generate(model(), [0], cancel=v),
    ],
    "text": [model().tokenizer.encode],
    "tokens": [lambda v: model().forward(v)],
    "pieces": [st.PieceTokenizer, ScriptedModel.from_pieces],
    "eos": [lambda v: st.PieceTokenizer(["你"], eos=v), lambda v: ScriptedModel.from_pieces(["你"], eos=v)],
    "scores": [ScriptedModel],
    "profile": [st.Profile.named, SamplingParams.profile],
    "state": [Sampler.from_bytes],
    "vocab_size": [lambda v: Sampler(SamplingParams(), vocab_size=v)],
    "stream": [lambda v: Sampler(SamplingParams(), stream=v)],
    "token": [lambda v: sampler().accept(v)],
    "n": [
        lambda v: sampler().rollback(v),
        lambda v: sampler().fork(v),
        lambda v: st.generate(model(), [0], n=v),
    ],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_taken_or_refused_in_its_own_name(name: str) -> None:
    """Of every function that takes scores or counts; an error about single scores names the token instead."""
    for call in ARGUMENTS[name]:
        for value in STRANGE:
            if name == "out" and isinstance(value, np.ndarray):
                value = value.copy()  # noqa: PLW2901 - the next one gets it as it was
            error = refusal(call, value)
            assert error is None or complains(error, name) or getattr(error, "token", None) is not None, f"{error}"


SOFT = st.Profile.named("sortition").order


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        ((), f"missing: {', '.join(SOFT)}"),
        (SOFT[2:], "missing: logit_bias, custom"),
        ((*SOFT, "dry", "xtc", "dry"), "twice: dry, xtc"),
        ((*SOFT, "typical_p", "温度"), "unknown: 'typical_p', '温度'"),
        ((*SOFT, *"abcde", "f" * 99), "unknown: 'a', 'b', 'c', 3 more"),
        ((*SOFT, "f" * 99), f"unknown: '{'f' * 40}…'"),
        (("mask", *SOFT, "mask", "mirostat"), "not to be moved: mask, mirostat"),
        (("mask", *SOFT[:-1], "dry", "top-p"), "unknown: 'top-p'; not to be moved: mask; twice: dry; missing: xtc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_order_that_is_none_is_told_all_that_is_wrong_with_it(order: Any, wrong: str) -> None:
    """What is no stage, what may not be in an order, what is there twice, and what is missing."""
    error = refusal(lambda value: SamplingParams(order=value), order)
    assert str(error) == f"order must be every soft stage once, got {wrong}"


@pytest.mark.parametrize("rows", [[2**63], [2], [-1], [1.5], ["0"], [[0]], "0", 0, None, {0}, {0: 0}], ids=str)
def test_rows_that_are_none_are_named(rows: Any) -> None:
    """``None`` is all rows, of which there are more than samplers."""
    used = sampler()
    with pytest.raises(ParameterError, match=r"^(rows|samplers) must be .*, got "):
        st.sample_batch(TABLE, [used], rows=rows)
    assert used.position == 0


@pytest.mark.parametrize("function", [st.argmax, st.softmax, st.entropy])
def test_no_scores_at_all_are_called_by_the_name_of_the_argument(function: Callable[[Any], Any]) -> None:
    """The functions call it x."""
    with pytest.raises(st.LogitsError, match=r"^x must have at least one score .*, got shape \(0,\)"):
        function([])


def _read_only() -> np.ndarray[Any, Any]:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "failed"),
    [
        ([0.0] * 4, "list"),
        (np.zeros(3, np.float32), "one of shape (3,)"),
        (np.zeros((1, 4), np.float32), "one of shape (1, 4)"),
        (np.zeros(4), "one of dtype float64"),
        (np.zeros(4, ">f4"), "one of dtype >f4"),
        (np.zeros(8, np.float32)[::2], "one with strides (8,)"),
        (np.zeros(17, np.uint8)[1:].view(np.float32), "one that is not aligned"),
        (_read_only(), "one that is read-only"),
        (
            np.broadcast_to(np.float64(0), 3),
            "one of dtype float64, of shape (3,), with strides (0,), that is read-only",
        ),
    ],
    ids=str,
)
def test_an_out_that_cannot_be_used_is_told_every_condition_that_it_does_not_meet(out: Any, failed: str) -> None:
    """And no other."""
    legal = "a writable, aligned, contiguous float32 array of shape (4,)"
    for call in ARGUMENTS["out"][:2]:
        assert str(refusal(call, out)) == f"out must be {legal}, got {failed}"


@pytest.mark.parametrize("call", ARGUMENTS["out"])
def test_a_masked_array_is_no_place_for_results(call: Callable[[Any], Any]) -> None:
    """What is under its mask would not be seen."""
    for out in (np.ma.zeros(4, np.float32), np.ma.zeros(2, np.int64)):
        with pytest.raises(ParameterError, match=r"^out must be .*, got MaskedArray"):
            call(out)
