"""Arrays as the kernels take them: float32, aligned, the last axis contiguous. What is so already is not copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.errors import LogitsError, ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Logits", "answer", "float32", "mask", "masks", "row", "rows", "table", "tokens"]

#: What may be given as scores: anything that NumPy makes a real numeric array of.
Logits = Any


def float32(logits: Logits) -> npt.NDArray[np.float32]:
    """The scores as a float32 array of the same shape; half precision and other real types are converted once.

    Raises:
        LogitsError: if they are not real numbers.
    """
    if type(logits) is np.ndarray and logits.dtype == np.float32 and logits.flags.aligned:
        return logits
    try:
        array = np.asarray(logits)
    except ValueError:
        msg = f"logits must be rows of one length, got {logits!r:.80}"
        raise LogitsError(msg) from None
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        msg = f"logits must be real numbers, got dtype {array.dtype}"
        raise LogitsError(msg)
    # A float64 beyond the range of float32 becomes an infinity, which is reported as such.
    with np.errstate(over="ignore"):
        return np.require(array, np.float32, ["A"])


def row(logits: Logits) -> npt.NDArray[np.float32]:
    """One contiguous row, from an array of shape ``(vocab,)`` or ``(1, vocab)``."""
    array = float32(logits)
    if array.ndim == 2 and array.shape[0] == 1:  # noqa: PLR2004 - a batch of one
        array = array[0]
    if array.ndim != 1:
        msg = f"logits must have the shape (vocab,), got {array.shape}"
        raise LogitsError(msg)
    return np.ascontiguousarray(array)


def answer(scores: Logits, length: int) -> npt.NDArray[np.float32]:
    """What a processor returned, as one contiguous row."""
    array = np.asarray(scores)
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        msg = f"a processor must return real numbers or None, got {scores!r:.80}"
        raise LogitsError(msg)
    if array.shape != (length,):
        msg = f"a processor must return scores of the shape ({length},), got {array.shape}"
        raise LogitsError(msg)
    return np.ascontiguousarray(float32(array))


def rows(logits: Logits) -> npt.NDArray[np.float32]:
    """The same scores as a matrix of rows; any row stride is kept."""
    array = float32(logits)
    if array.ndim == 0 or array.shape[-1] == 0:
        msg = f"logits must have at least one score along the last axis, got shape {array.shape}"
        raise LogitsError(msg)
    if array.ndim != 2:  # noqa: PLR2004 - a matrix
        array = array.reshape(-1, array.shape[-1])
    if array.strides[1] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array


def table(logits: Logits) -> npt.NDArray[np.float32]:
    """Rows of a batch, of shape ``(rows, vocab)``; any row stride is kept."""
    array = float32(logits)
    if array.ndim != 2:  # noqa: PLR2004 - rows and scores
        msg = f"logits must have the shape (rows, vocab), got {array.shape}"
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
        msg = f"mask must have the shape ({rows}, words), a row for each row of scores, got {array.shape}"
        raise ParameterError(msg)
    if array.strides[1] != array.itemsize or not array.flags.aligned:
        array = np.require(array, requirements=["C", "A"])
    return array.view(np.uint32)


def _packed(words: Any) -> npt.NDArray[np.int32 | np.uint32]:
    array = np.asarray(words)
    if array.dtype not in (np.int32, np.uint32):
        msg = f"mask must be packed int32 or uint32, got dtype {array.dtype}"
        raise ParameterError(msg)
    return array


def tokens(name: str, ids: Any) -> list[int]:
    """Token ids as a list.

    Raises:
        ParameterError: if they are not integers in [0, 2^32).
    """
    array = np.asarray(list(ids) if isinstance(ids, (set, frozenset, range)) else ids)
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        msg = f"{name} must be a sequence of integer token ids, got {ids!r:.80}"
        raise ParameterError(msg)
    if array.dtype.kind == "i" and int(array.min()) < 0:
        msg = f"{name} must hold token ids of at least 0, got {int(array.min())}"
        raise ParameterError(msg)
    if int(array.max()) >= 2**32:
        msg = f"{name} must hold token ids below {2**32}, got {int(array.max())}"
        raise ParameterError(msg)
    listed: list[int] = array.tolist()
    return listed
