"""Arrays as the kernels take them: float32, float16 or bfloat16, aligned, the last axis contiguous.

What is so already is not copied, wherever it came from: arrays of other libraries are read through DLPack. NumPy has no
bfloat16 of its own: here it is a field of that name that holds the bits.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import _native
from sortition._checks import array as array_of
from sortition._checks import integers, is_masked, shown
from sortition.errors import LogitsError, ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    Scores = npt.NDArray[Any]

__all__ = ["Logits", "answer", "mask", "masks", "row", "rows", "scores", "table", "tokens"]

#: What may be given as scores: an array with ``__dlpack__``, or anything that NumPy makes a real numeric array of.
Logits = Any

BFLOAT16 = np.dtype([("bfloat16", np.uint16)], align=True)
_SINGLE = np.dtype(np.float32)
_READ = (_SINGLE, np.dtype(np.float16), BFLOAT16)
#: Of an infinity it makes the NaN by which the core knows a finite score that float32 has no room for.
_OUTSIDE = np.uint32(0x00400F64)
#: Host memory in DLPack: plain, pinned for CUDA, pinned for ROCm.
_HOST = (1, 3, 11)


def scores(logits: Logits, name: str = "logits") -> Scores:
    """The scores as an array of the same shape that the kernels can read; other real types become float32.

    Raises:
        LogitsError: if they are not real numbers, or not in the memory of the host; it calls them by ``name``. A number
            that is finite and outside the range of float32 becomes a NaN that is named for what it was when it is
            looked at.
    """
    array = _real(logits, name)
    if array.dtype in _READ and array.flags.aligned:
        return array
    if _wide(array.dtype):
        narrow, gone = _narrowed(array)
        narrow.view(np.uint32)[gone] |= _OUTSIDE
        return narrow
    kept = array.dtype == BFLOAT16 or array.dtype.type is np.float16
    return np.require(array, array.dtype.newbyteorder("=") if kept else np.float32, ["A"])


def _real(logits: Logits, name: str) -> Scores:
    """An array of real numbers of any type that NumPy has, or of bfloat16."""
    if type(logits) is np.ndarray and logits.dtype in _READ:
        return logits
    if _has_dlpack(logits):
        return _real(_shared(logits, name), name)
    if is_masked(logits):
        msg = f"{name} must be scores without a mask, got a masked array: fill it first, as by .filled(-numpy.inf)"
        raise LogitsError(msg)
    array = _array(logits, name)
    if _is_bfloat16(array.dtype):
        array = array.view(BFLOAT16)
    # Other packages have types of eight bits that say they are NumPy's kind of number.
    numbers = array.dtype.kind in "fiu" and issubclass(array.dtype.type, (np.floating, np.integer))
    if not numbers and array.dtype != BFLOAT16:
        got = shown(logits) if array.dtype.kind == "O" else f"dtype {array.dtype}"
        msg = f"{name} must be real numbers, of a type of NumPy or bfloat16, got {got}"
        raise LogitsError(msg)
    return array


@lru_cache(maxsize=64)  # a name is put together anew each time, which takes longer than a draw
def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.name == "bfloat16"


def _array(logits: Logits, name: str) -> Scores:
    if isinstance(logits, (list, tuple)) and logits and _has_dlpack(logits[0]):
        logits = [scores(part, name) for part in logits]
        if len({part.dtype for part in logits}) > 1:  # NumPy knows none that holds bfloat16 and others
            logits = [_widened(part) for part in logits]
    try:
        return np.asarray(logits)
    except Exception as error:
        msg = f"{name} must be rows of one length and type, got {shown(logits)}"
        raise LogitsError(msg) from error


def _wide(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.itemsize > _SINGLE.itemsize


def _narrowed(array: Scores) -> tuple[Scores, npt.NDArray[np.bool_]]:
    """As float32, and where it has no room for a finite score."""
    with np.errstate(over="ignore"):
        narrow = array.astype(_SINGLE)
    gone = np.isinf(narrow)
    return narrow, gone & np.isfinite(array) if gone.any() else gone


def _has_dlpack(logits: Logits) -> bool:
    """What is of NumPy has it too, and is an array already."""
    return hasattr(type(logits), "__dlpack_device__") and not isinstance(logits, np.ndarray)


def _shared(logits: Logits, name: str) -> Scores:
    """An array of another library as one of NumPy on the same memory, only to be read."""
    try:
        device = int(logits.__dlpack_device__()[0])
        if device not in _HOST:
            return _of_both(logits, device)
        if hasattr(logits, "is_neg") and logits.is_neg():  # torch negates later, and does not say so
            logits = logits.resolve_neg()
        if getattr(logits, "requires_grad", False) is True:  # torch shares none that is to be differentiated
            logits = logits.detach()
        memory = _native.DLPack(_capsule(logits))
        array = np.asarray(memory)
    except Exception as error:
        msg = f"{name} must be an array that the host can read, got {type(logits).__name__}: {error}"
        raise LogitsError(msg) from error
    return array.view(BFLOAT16) if memory.is_bfloat16 else array


def _capsule(logits: Logits) -> Any:
    try:
        return logits.__dlpack__(max_version=(1, 1))
    except TypeError:  # from before there were versions
        return logits.__dlpack__()


def _of_both(logits: Logits, device: int) -> Scores:
    """An array in memory that the host shares with a device, as on Apple's chips."""
    try:
        return np.asarray(memoryview(logits))
    except (TypeError, ValueError):
        msg = f"it is on device {device} of DLPack, bring it to the host first, as by .cpu()"
        raise BufferError(msg) from None


def row(logits: Logits, name: str = "logits") -> Scores:
    """One contiguous row, from an array of shape ``(vocab,)`` or ``(1, vocab)``."""
    array = scores(logits, name)
    if array.ndim == 2 and array.shape[0] == 1:  # noqa: PLR2004 - a batch of one
        array = array[0]
    if array.ndim != 1:
        msg = f"{name} must have the shape (vocab,), got {array.shape}"
        raise LogitsError(msg)
    return np.ascontiguousarray(array)


def answer(returned: Logits, length: int) -> npt.NDArray[np.float32]:
    """What a processor returned, as one contiguous row."""
    array = _real(returned, "what a processor returns")
    if array.shape != (length,):
        msg = f"a processor must return scores of the shape ({length},), got {array.shape}"
        raise LogitsError(msg)
    if _wide(array.dtype):
        narrow, gone = _narrowed(array)
        if gone.any():
            token = int(gone.argmax())
            msg = f"a processor gave token {token} the score {array[token]}: scores must fit in float32, below 3.41e38"
            raise LogitsError(msg, token=token)
        array = narrow
    return np.ascontiguousarray(_widened(array), np.float32)


def _widened(array: Scores) -> Scores:
    """Without bfloat16, which is the upper half of float32."""
    if array.dtype != BFLOAT16:
        return array
    return (np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def rows(logits: Logits, name: str = "logits") -> Scores:
    """The same scores as a matrix of rows; any row stride is kept."""
    array = scores(logits, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        msg = f"{name} must have at least one score along the last axis, got shape {array.shape}"
        raise LogitsError(msg)
    if array.ndim != 2:  # noqa: PLR2004 - a matrix
        array = array.reshape(-1, array.shape[-1])
    if array.strides[1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array


def table(logits: Logits, name: str = "logits", *, one: bool = False) -> Scores:
    """Rows of scores, of shape ``(rows, vocab)``, or ``one`` of them; any row stride is kept. ``[]`` has none."""
    array = scores(logits, name)
    if array.shape == (0,):
        array = array.reshape(0, 0)
    if array.ndim == 1 and one:
        array = array[None]
    if array.ndim != 2:  # noqa: PLR2004 - rows and scores
        msg = f"{name} must have the shape (rows, vocab), got {array.shape}"
        raise LogitsError(msg)
    return array if array.strides[1] == array.itemsize else np.ascontiguousarray(array)


def mask(words: Any) -> npt.NDArray[np.uint32]:
    """One packed mask, ``int32`` or ``uint32``, of shape ``(words,)`` or ``(1, words)``."""
    array = _packed(words)
    if array.ndim == 2 and array.shape[0] == 1:  # noqa: PLR2004 - a batch of one
        array = array[0]
    if array.ndim != 1 or array.size == 0:
        msg = f"mask must have the shape (words,), at least one word, got {array.shape}"
        raise ParameterError(msg)
    return np.require(array, requirements=["C", "A"]).view(np.uint32)


def masks(words: Any, rows: int) -> npt.NDArray[np.uint32]:
    """A packed mask for each of so many rows, of shape ``(rows, words)``; any row stride is kept."""
    array = _packed(words)
    if array.ndim != 2 or array.shape[0] != rows or array.shape[1] == 0:  # noqa: PLR2004 - rows and words
        msg = f"mask must have the shape ({rows}, words), at least one word for each row of scores, got {array.shape}"
        raise ParameterError(msg)
    if array.strides[1] != array.itemsize or not array.flags.aligned:
        array = np.require(array, requirements=["C", "A"])
    return array.view(np.uint32)


def _packed(words: Any) -> npt.NDArray[np.int32 | np.uint32]:
    array = array_of("mask", "packed int32 or uint32", words)
    if array.dtype not in (np.int32, np.uint32):
        packing = 'np.packbits(..., bitorder="little").view(np.uint32) packs a boolean array'
        msg = f"mask must be packed int32 or uint32, got dtype {array.dtype}: {packing}"
        raise ParameterError(msg)
    return array


def tokens(name: str, ids: Any) -> list[int]:
    """Token ids as a list.

    Raises:
        ParameterError: if they are not integers in [0, 2^32), in their order.
    """
    array = integers(name, "a sequence of integer token ids", ids)
    if array.size and int(array.min()) < 0:
        msg = f"{name} must hold token ids of at least 0, got {int(array.min())}"
        raise ParameterError(msg)
    if array.size and int(array.max()) >= 2**32:
        msg = f"{name} must hold token ids below {2**32}, got {int(array.max())}"
        raise ParameterError(msg)
    listed: list[int] = array.tolist()
    return listed
