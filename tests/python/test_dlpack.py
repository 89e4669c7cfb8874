"""Scores of other libraries, through DLPack: read in place, given back once, refused where they cannot be read.

The capsules are made here by hand, field by field; at the end torch makes them.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sortition
from foreign import DELETER, Foreign, Managed, Old, new_capsule
from sortition import LogitsError, Sampler, SamplingParams, _arrays, _native

ROW = np.linspace(-2, 3, 40).astype(np.float32)
TABLE = np.random.default_rng(5).normal(size=(4, 33)).astype(np.float32)

KINDS = pytest.mark.parametrize("kind", [Foreign, Old])
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])


@KINDS
@TYPES
def test_scores_are_read_where_they_are(kind: type[Foreign], dtype: Any) -> None:
    """A row and a table, also with a stride between the rows, with what NumPy's arrays of the same numbers give."""
    for array in (ROW.astype(dtype), TABLE.astype(dtype), TABLE.astype(dtype)[::2, 3:30], TABLE.astype(dtype)[::-1]):
        foreign = kind(array)
        read = _arrays.scores(foreign)
        assert read.ctypes.data == array.ctypes.data
        assert read.strides == array.strides
        assert _arrays.rows(read).ctypes.data == array.ctypes.data
        np.testing.assert_array_equal(sortition.softmax(foreign), sortition.softmax(array))
        assert foreign.given_back == 1
        del read
        assert foreign.given_back == 2


@TYPES
def test_every_door_takes_them(dtype: Any) -> None:
    """One sequence, a batch, a draft, and no state at all."""
    row, table = ROW.astype(dtype), TABLE.astype(dtype)

    def answers(wrapped: Any) -> list[Any]:
        params = SamplingParams(seed=3, top_p=0.9)
        sampler = Sampler(params)
        drawn = sampler.sample(wrapped(row)), sampler.draw(wrapped(row[None]), logprobs=2)
        verified = Sampler(params).verify(wrapped(table), [1, 2, 3], wrapped(table[:3]))
        batch = sortition.sample_batch(wrapped(table), [Sampler(params, stream=at) for at in range(4)])
        processed = Sampler(SamplingParams(top_k=3)).process(wrapped(row)).tolist()
        return [*drawn, verified, batch.tokens.tolist(), processed, sortition.sample(wrapped(table), seed=1).tolist()]

    assert answers(Foreign) == answers(lambda array: array)


@KINDS
def test_the_offset_counts(kind: type[Foreign]) -> None:
    """In bytes, on top of the pointer; null strides say that the memory is contiguous."""
    shape = (ctypes.c_int64 * 2)(3, 11)
    foreign = kind(TABLE, byte_offset=33 * 4, shape=shape, strides=None)
    np.testing.assert_array_equal(_arrays.scores(foreign), TABLE[1:2].reshape(3, 11))


@KINDS
def test_scores_that_are_not_beside_each_other_are_copied(kind: type[Foreign]) -> None:
    for array in (TABLE.T, TABLE[:, ::2], np.broadcast_to(ROW[:1], (5, 7)), ROW[::-1]):
        np.testing.assert_array_equal(sortition.log_softmax(kind(array)), sortition.log_softmax(array.copy()))


@TYPES
def test_rows_may_come_one_by_one(dtype: Any) -> None:
    """In a list, all of one type."""
    table = TABLE.astype(dtype)
    rows = [Foreign(row) for row in table]
    np.testing.assert_array_equal(sortition.softmax(rows), sortition.softmax(table))
    assert [row.given_back for row in rows] == [1] * 4
    with pytest.raises(LogitsError, match="rows of one length and type"):
        sortition.argmax([*rows, Foreign(ROW[:5])])


def test_rows_of_several_types_become_one_table() -> None:
    """Half precision is part of float32, so nothing is lost."""
    halves = [0.5, -1.0, float("-inf")]
    rows = [Foreign(np.array(halves, dtype)) for dtype in (np.float32, ml_dtypes.bfloat16, np.float16)]
    for several in (rows[:2], rows[::-1], tuple(rows[1:])):
        assert sortition.softmax(several).tolist() == [sortition.softmax(halves).tolist()] * len(several)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.uint16])
def test_other_real_types_are_converted(dtype: Any) -> None:
    """As NumPy's are."""
    row = np.arange(20).astype(dtype)
    assert sortition.logsumexp(Foreign(row)) == sortition.logsumexp(row)


def test_nothing_is_an_array_too() -> None:
    """Without memory; there is no score in it."""
    with pytest.raises(LogitsError, match=r"at least one score .* \(2, 0\)"):
        sortition.argmax(Foreign(np.zeros((2, 0), np.float32), data=None))


def test_memory_outlives_what_it_came_from_and_is_given_back_once() -> None:
    """While an array is on it, and no longer."""
    foreign = Foreign(ROW.copy())
    read = _arrays.row(foreign)
    part = read[3:]
    del read
    gc.collect()
    assert foreign.given_back == 0
    np.testing.assert_array_equal(part, ROW[3:])
    assert not part.flags.writeable
    del part
    gc.collect()
    assert foreign.given_back == 1


@KINDS
def test_a_capsule_is_used_once(kind: type[Foreign]) -> None:
    """The second time it has another name, and the memory is not given back again."""
    foreign = kind(ROW)
    capsule = foreign.__dlpack__()
    memory = _native.DLPack(capsule)
    with pytest.raises(BufferError, match="used_dltensor"):
        _native.DLPack(capsule)
    del memory
    assert foreign.given_back == 1


@KINDS
def test_nothing_to_give_back(kind: type[Foreign]) -> None:
    """A deleter may be null."""
    assert sortition.argmax(kind(ROW, deleter=DELETER())) == 39


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "device": ({"device": 2}, r"device 2 of DLPack.*\.cpu\(\)"),
    "lanes": ({"lanes": 2}, "2 lanes"),
    "bits": ({"bits": 4}, "4 bits"),
    "code": ({"code": 3}, "code 3"),
    "negative axes": ({"ndim": -1}, "at most 64 axes, got -1"),
    "many axes": ({"ndim": 65}, "at most 64 axes, got 65"),
    "no shape": ({"shape": None}, "must be aligned pointers, got 0x0"),
    "odd strides": ({"strides": ctypes.cast(4097, ctypes.POINTER(ctypes.c_int64))}, "aligned pointers, got 0x1001"),
    "negative length": ({"shape": (ctypes.c_int64 * 1)(-5)}, "length of at least 0, got -5"),
    "huge": ({"shape": (ctypes.c_int64 * 1)(2**62)}, "logits must be an array that the host can read"),
    "huge stride": ({"strides": (ctypes.c_int64 * 1)(2**62)}, "stride must fit"),
    "no memory": ({"data": None}, "must have memory"),
    "beyond all memory": ({"byte_offset": 2**64 - 1}, "must have memory"),
}


@KINDS
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_right_is_refused(case: str, kind: type[Foreign]) -> None:
    """And given back, if it was taken."""
    fields, message = REFUSED[case]
    foreign = kind(ROW, **fields)
    sampler = Sampler(SamplingParams())
    with pytest.raises(LogitsError, match=message):
        sampler.sample(foreign)
    assert sampler.position == 0
    assert foreign.given_back == (case != "device")


def test_another_major_version_is_refused() -> None:
    """All that is known of it is how to give it back."""
    foreign = Foreign(ROW, major=2)
    with pytest.raises(LogitsError, match="major version must be 1, got 2"):
        sortition.argmax(foreign)
    assert foreign.given_back == 1


@pytest.mark.parametrize("dtype", [np.complex64, np.bool_, ml_dtypes.float8_e5m2])
def test_what_is_no_real_number_is_refused(dtype: Any) -> None:
    """And a float that NumPy does not have."""
    foreign = Foreign(np.ones(3, dtype))
    with pytest.raises(LogitsError, match=r"bool|complex64|code 12"):
        sortition.argmax(foreign)
    gc.collect()
    assert foreign.given_back == 1


def test_a_capsule_of_another_device_is_refused() -> None:
    """Whatever the array said."""
    foreign = Foreign(ROW, device=2)
    with pytest.raises(BufferError, match="device 2"):
        _native.DLPack(foreign.__dlpack__())
    assert foreign.given_back == 1


def test_odd_capsules_are_refused() -> None:
    """Of another name, with a pointer that no struct can be at, and none at all."""
    managed, name = Managed(), ctypes.c_char_p(b"tensor")
    with pytest.raises(BufferError, match="tensor"):
        _native.DLPack(new_capsule(ctypes.addressof(managed), name))
    with pytest.raises(BufferError, match="aligned"):
        _native.DLPack(new_capsule(ctypes.addressof(managed) + 1, ctypes.c_char_p(b"dltensor")))
    with pytest.raises(TypeError):
        _native.DLPack(ROW)


@pytest.mark.parametrize("error", [BufferError, RuntimeError, OverflowError, AttributeError, KeyError])
def test_what_a_library_says_is_passed_on(error: type[Exception]) -> None:
    """Whatever it raises."""

    class Bound(Foreign):
        def __dlpack__(self, **_: Any) -> Any:
            raise error("these need gradients, use .detach()")  # noqa: EM101, TRY003

    with pytest.raises(LogitsError, match=r"got Bound: '?these need gradients, use \.detach\(\)") as caught:
        sortition.argmax(Bound(ROW))
    assert isinstance(caught.value.__cause__, error)


def test_out_may_not_lie_in_scores_of_another_library() -> None:
    """Nor in rows that are not asked for; beside them it may."""
    buffer = np.zeros(80, np.int64)
    table = buffer.view(np.float32).reshape(4, 40)
    samplers = [Sampler(SamplingParams(seed=1)) for _ in range(3)]
    for out in (buffer[:3], buffer[-3:]):
        with pytest.raises(sortition.ParameterError, match="out must be apart from logits and mask"):
            sortition.sample_batch(Foreign(table), samplers, rows=[0, 1, 2], out=out)
    assert [sampler.position for sampler in samplers] == [0, 0, 0]
    assert sortition.sample_batch(Foreign(table[:3]), samplers, out=buffer[-3:]).tokens is not None


def test_memory_that_is_the_hosts_as_well_is_read_by_its_buffer() -> None:
    """As on Apple's chips: the array says that it is on the device, and is a buffer of the host."""

    class Unified(bytearray):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 8, 0

    assert sortition.argmax(Unified([3, 9, 4])) == 1


@pytest.mark.heavy
def test_torch() -> None:
    """Its bfloat16, which cannot become an array of NumPy, its gradients, and a device without memory."""
    torch = pytest.importorskip("torch")
    table = torch.from_numpy(TABLE)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scores = table.to(dtype)
        assert _arrays.scores(scores).ctypes.data == scores.data_ptr()
        same = scores.float().numpy()
        assert sortition.sample(scores, seed=4).tolist() == sortition.sample(same, seed=4).tolist()
        for row, wide in zip(scores, same, strict=True):
            assert Sampler(SamplingParams(seed=1)).draw(row) == Sampler(SamplingParams(seed=1)).draw(wide)
        assert Sampler(SamplingParams(seed=1)).verify(scores, [1, 2, 3]) == Sampler(SamplingParams(seed=1)).verify(
            same, [1, 2, 3]
        )
        np.testing.assert_array_equal(sortition.softmax(scores[::2, 1::2]), sortition.softmax(same[::2, 1::2]))
    assert sortition.argmax(table.double()).tolist() == TABLE.argmax(1).tolist()
    assert sortition.argmax(table.clone().requires_grad_() * 1).tolist() == TABLE.argmax(1).tolist()
    assert sortition.argmax(torch.nn.Parameter(table)).tolist() == TABLE.argmax(1).tolist()
    with pytest.raises(LogitsError, match="got Tensor"):
        sortition.argmax(torch.empty(3, device="meta"))
