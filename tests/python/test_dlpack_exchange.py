"""Scores of other libraries by the C interface of DLPack 1.3: read where they are, without a capsule.

The tables of functions are made here by hand; at the end torch's is used.
"""

from __future__ import annotations

import ctypes
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sortition
from foreign import Foreign, new_capsule
from sortition import LogitsError, ParameterError, Sampler, SamplingParams, batch

TABLE = np.random.default_rng(5).normal(size=(4, 33)).astype(np.float32)
SHARE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
NAME = ctypes.c_char_p(b"dlpack_exchange_api")


class Api(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("share", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 3),
    )


class Sharing(Foreign):
    """It counts how often it was shared, and how often a capsule was asked for."""

    def __init__(self, array: np.ndarray, **fields: Any) -> None:
        super().__init__(array, **fields)
        self.shared = self.capsules = 0

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> Any:
        self.capsules += 1
        return super().__dlpack__(max_version=max_version)


def share(foreign: Sharing, out: Any) -> int:
    foreign.shared += 1
    out[0] = ctypes.addressof(foreign.managed)
    return 0


def interface(function: Any = share, major: int = 1) -> Any:
    """The capsule of a table, which lives as long as the process, as the header asks."""
    function = SHARE(function) if isinstance(function, FunctionType) else function
    api = Api(major=major, minor=3, share=ctypes.cast(function, ctypes.c_void_p) if function else None)
    KEPT.append((api, function))
    return new_capsule(ctypes.addressof(api), NAME)


KEPT: list[Any] = []
Sharing.__dlpack_c_exchange_api__ = interface()  # type: ignore[attr-defined]


def token(scores: Any) -> int:
    return Sampler(SamplingParams(seed=3)).sample(scores)


def tokens(scores: Any, rows: list[int] | None = None) -> list[int]:
    samplers = [Sampler(SamplingParams(seed=3), stream=at) for at in range(len(TABLE) if rows is None else len(rows))]
    drawn = batch.draw_tokens(samplers, scores, rows)
    for sampler in samplers:
        sampler.rollback(1)
    assert sortition.sample_batch(scores, samplers, rows=rows).tokens.tolist() == drawn
    return drawn


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_rows_are_read_where_they_are(dtype: Any) -> None:
    """In one and two dimensions, also from a table with gaps, from behind, and the same row again and again."""
    table = TABLE.astype(dtype)
    wide = np.zeros((8, 40), dtype)
    wide[::2, 3:36] = table
    for array in (table, wide[::2, 3:36], table[::-1], np.broadcast_to(table[1], table.shape)):
        foreign = Sharing(array)
        assert tokens(foreign) == tokens(np.ascontiguousarray(array, np.float32))
        assert tokens(foreign, [2, 0]) == tokens(np.ascontiguousarray(array, np.float32), [2, 0])
        assert (foreign.shared, foreign.given_back, foreign.capsules) == (4, 4, 0)
    row = Sharing(table[2])
    assert token(row) == token(TABLE[2].astype(dtype).astype(np.float32))
    assert (row.shared, row.capsules) == (1, 0)


def test_an_offset_counts() -> None:
    """In bytes, before the first score."""
    foreign = Sharing(TABLE[1:], byte_offset=TABLE.strides[0], data=TABLE.ctypes.data)
    assert tokens(foreign, [0, 1, 2]) == tokens(TABLE, [1, 2, 3])
    assert foreign.capsules == 0


@pytest.mark.parametrize(
    "array",
    [
        np.repeat(TABLE, 2, axis=1)[:, ::2],
        TABLE.astype(np.float64),
        np.asfortranarray(TABLE),
        np.arange(132).reshape(4, 33),
    ],
    ids=["strided", "float64", "columns", "int64"],
)
def test_other_arrays_go_by_a_capsule(array: np.ndarray) -> None:
    """Where scores do not lie side by side, or are of a type that is converted."""
    foreign = Sharing(array)
    assert tokens(foreign) == tokens(np.array(array))
    assert (foreign.shared, foreign.capsules, foreign.given_back) == (2, 2, 4)


def refuse(_: Any, __: Any) -> int:
    return -1


#: In C: of an object that has an index it returns that, and of any other -1, with an error set.
FAIL = ctypes.pythonapi.PyLong_AsLong


@pytest.mark.parametrize(
    "made",
    [
        lambda: interface(refuse),
        lambda: interface(FAIL),
        lambda: interface(None),
        lambda: interface(major=2),
        lambda: new_capsule(1 << 20, ctypes.c_char_p(b"another")),
        lambda: 3,
        lambda: None,
    ],
    ids=["refused", "error", "none", "version", "name", "no capsule", "nothing"],
)
def test_without_such_a_function_a_capsule_is_asked_for(made: Any) -> None:
    """Or with one that is not for us."""

    class Other(Sharing):
        __dlpack_c_exchange_api__ = made()

    foreign = Other(TABLE)
    assert tokens(foreign) == tokens(TABLE)
    assert (foreign.shared, foreign.capsules) == (0, 2)


def test_an_interrupt_is_no_refusal() -> None:
    """Ctrl-C while a library shares its array ends the call."""

    class Interrupted(Sharing):
        __dlpack_c_exchange_api__ = interface(FAIL)

        def __index__(self) -> int:
            raise KeyboardInterrupt("not now")  # noqa: EM101, TRY003

    with pytest.raises(KeyboardInterrupt, match="not now"):
        token(Interrupted(TABLE[0]))


def test_a_row_may_be_there_more_often_than_there_is_memory() -> None:
    """What is told of so many rows would not fit."""
    row = np.broadcast_to(TABLE[:1], (10**13, TABLE.shape[1]))
    for scores in (row, Sharing(row)):
        with pytest.raises(ParameterError, match="1 for 10000000000000 rows"):
            batch.draw_tokens([Sampler()], scores)
        with pytest.raises(MemoryError, match="10000000000000 rows are too many"):
            batch.draw_tokens([Sampler()], scores, [7])


def test_a_derived_class_speaks_for_itself() -> None:
    """It may mean something else by its memory."""

    class Derived(Sharing):
        def __dlpack__(self, **_: Any) -> Any:
            msg = "nothing is computed yet"
            raise BufferError(msg)

    for draw in (token, tokens):
        with pytest.raises(LogitsError, match="nothing is computed yet"):
            draw(Derived(TABLE))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"device": 2}, "bring it to the host"),
        ({"data": None}, "must have memory"),
        ({"ndim": 65}, "at most 64 axes"),
        ({"ndim": -1}, "at most 64 axes"),
        ({"shape": None}, "shape and strides"),
        ({"lanes": 2}, "a type must be one of"),
    ],
)
def test_a_description_that_cannot_be_is_refused(fields: dict[str, Any], message: str) -> None:
    """By the way of capsules, which has the errors; no sampler has moved."""
    sampler = Sampler(SamplingParams(seed=3))
    with pytest.raises(LogitsError, match=message):
        batch.draw_tokens([sampler], Sharing(TABLE[:1], **fields))
    assert sampler.position == 0


def test_an_address_that_is_not_aligned_is_copied_from() -> None:
    """No score can be read there in place."""
    memory = np.zeros(TABLE.nbytes + 1, np.uint8)
    memory[1:] = TABLE.view(np.uint8).reshape(-1)
    foreign = Sharing(TABLE, data=memory.ctypes.data + 1)
    assert tokens(foreign) == tokens(TABLE)
    assert foreign.capsules == 2


def test_bad_scores_are_found() -> None:
    """As in any other array."""
    bad = TABLE.copy()
    bad[2, 7] = np.nan
    samplers = [Sampler(SamplingParams(seed=3)) for _ in bad]
    with pytest.raises(LogitsError, match="token 7 has the score NaN") as caught:
        batch.draw_tokens(samplers, Sharing(bad))
    assert caught.value.row == 2
    with pytest.raises(ParameterError, match="for 4 rows"):
        batch.draw_tokens(samplers[:2], Sharing(TABLE))
    with pytest.raises(ParameterError, match="of 4 rows"):
        batch.draw_tokens(samplers, Sharing(TABLE), [0, 1, 2, 4])
    assert [sampler.position for sampler in samplers] == [0] * 4


def test_out_may_not_lie_in_such_scores() -> None:
    """They are read while it is written."""
    buffer = np.zeros(80, np.int64)
    foreign = Sharing(buffer.view(np.float32).reshape(4, 40))
    samplers = [Sampler(SamplingParams(seed=1)) for _ in range(3)]
    with pytest.raises(ParameterError, match="out must be apart from logits and mask"):
        sortition.sample_batch(foreign, samplers, rows=[0, 1, 2], out=buffer[-3:])
    assert foreign.shared == 1


@pytest.mark.heavy
def test_torch() -> None:
    """All precisions; what torch does lazily is never read as it lies there."""
    torch = pytest.importorskip("torch")
    table = torch.from_numpy(TABLE)
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scores = table.to(dtype)
        assert tokens(scores) == tokens(scores.float().numpy())
        assert tokens(scores[:, 2:]) == tokens(scores.float().numpy()[:, 2:])
        assert token(scores[3]) == token(scores[3].float().numpy())
    flat = torch.complex(table, table).conj().imag.as_strided((4, 33), (33, 1))
    for negated in (torch.complex(table, table).conj().imag, flat, torch._neg_view(table)):
        assert negated.is_neg()
        assert tokens(negated) == tokens(negated.resolve_neg().numpy())
        assert token(negated[0]) == token(negated[0].resolve_neg().numpy())
    column = torch._neg_view(table)[:, :1]
    np.testing.assert_allclose(sortition.logsumexp(column), -TABLE[:, 0], rtol=1e-6)
    graded = table.clone().requires_grad_()
    for wanted in (graded, graded * 1, graded[:, ::2], torch.nn.Parameter(table), graded.double()):
        assert tokens(wanted) == tokens(wanted.detach().numpy())
    for lost in (table.to("meta"), table.to_sparse()):
        with pytest.raises(LogitsError, match="got Tensor"):
            tokens(lost)
