"""The kernels as NumPy functions, over the last axis.

Scores are of any shape, of NumPy or any library with DLPack, in the memory of the host: float32, float16 and bfloat16
are read in place, other real types are converted once. What comes back is that of the same numbers as float32. NaN and
+inf raise ``LogitsError``, a row of nothing but -inf raises ``NoCandidateError``, with the row if there are several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import _native
from sortition._arrays import Logits, rows, scores
from sortition._checks import integer, number
from sortition.errors import LogitsError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

__all__ = ["argmax", "entropy", "log_softmax", "logsumexp", "softmax", "top_k", "top_p"]


def argmax(x: Logits) -> Any:
    """The id of the best score, of equals the lowest: an ``int``, or ``int64`` of the shape before the last axis.

    >>> argmax([1.0, 3.0, 3.0])
    1
    """
    return _per_row(x, _native.argmax, np.int64)


def softmax(x: Logits, *, temperature: float = 1.0, out: npt.NDArray[np.float32] | None = None) -> Any:
    """Probabilities, ``exp(x / temperature)`` over their sum, float32 of the same shape; written into ``out`` if given.

    Each weight is within two units in the last place; four at a time are summed in float32, the rest in float64.
    ``temperature`` is finite and above 0. After an error ``out`` may be partly written.

    >>> softmax([0.0, 0.0, -float("inf")])
    array([0.5, 0.5, 0. ], dtype=float32)
    """
    array, out = _pair(x, out)
    _native.softmax(array, number("temperature", temperature), out.reshape(-1, array.shape[-1]))
    return out


def log_softmax(x: Logits, *, out: npt.NDArray[np.float32] | None = None) -> Any:
    """Logarithms of the probabilities, float32 of the same shape; written into ``out`` if given.

    >>> log_softmax([1000.0, 0.0])
    array([    0., -1000.], dtype=float32)
    """
    array, out = _pair(x, out)
    _native.log_softmax(array, out.reshape(-1, array.shape[-1]))
    return out


def logsumexp(x: Logits) -> Any:
    """The logarithm of the sum of ``exp(x)``: a ``float``, or a ``float64`` array of the shape before the last axis.

    >>> round(logsumexp([1000.0, 1000.0]), 6)
    1000.693147
    """
    return _per_row(x, _native.logsumexp, np.float64)


def entropy(x: Logits) -> Any:
    """The entropy of the probabilities in nats, 0 · ln 0 being 0: a ``float``, or a ``float64`` array.

    >>> round(entropy([0.0, 0.0, -float("inf")]), 6)
    0.693147
    """
    return _per_row(x, _native.entropy, np.float64)


def top_k(x: Logits, k: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The ``k`` best scores and their ids, sorted, best first, ties to the lower id; at most the vocabulary.

    Tokens with the score -inf come last.

    >>> values, ids = top_k([0.125, 0.5, 0.5, 0.25], 3)
    >>> values, ids
    (array([0.5 , 0.5 , 0.25], dtype=float32), array([1, 2, 3]))
    """
    array = scores(x)
    matrix = rows(array)
    k = min(integer("k", k, least=1), matrix.shape[1])
    values = np.empty((matrix.shape[0], k), np.float32)
    ids = np.empty((matrix.shape[0], k), np.int64)
    _native.top_k(matrix, values, ids)
    shape = (*array.shape[:-1], k)
    return values.reshape(shape), ids.reshape(shape)


def top_p(x: Logits, p: float) -> npt.NDArray[np.int64] | Sequence[npt.NDArray[np.int64]]:
    """The nucleus: the ids of the fewest tokens, best first, whose probability is at least ``p``, in (0, 1].

    One ``int64`` array for a row, a list of them for several.

    >>> top_p(np.log([0.1, 0.6, 0.3]), 0.8)
    array([1, 2])
    """
    array = scores(x)
    if array.ndim > 2:  # noqa: PLR2004 - rows and scores
        msg = f"logits must have the shape (vocab,) or (rows, vocab), got {array.shape}"
        raise LogitsError(msg)
    nuclei = [np.array(ids, np.int64) for ids in _native.top_p(array, number("p", p))]
    return nuclei[0] if array.ndim == 1 else nuclei


def _per_row(x: Logits, kernel: Callable[[Any], list[Any]], dtype: type[np.generic]) -> Any:
    array = scores(x)
    values = kernel(array)
    shape = array.shape[:-1]
    return np.array(values, dtype).reshape(shape) if shape else values[0]


def _pair(x: Logits, out: npt.NDArray[np.float32] | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """The scores, of which there must be some, and an array for as many numbers, which shares no memory with them."""
    array = scores(x)
    if array.ndim == 0 or array.size == 0:
        array = rows(array)
    out = _out(out, array.shape)
    return array.copy() if np.may_share_memory(array, out) else array, out


def _out(out: npt.NDArray[np.float32] | None, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if out is None:
        return np.empty(shape, np.float32)
    flags = out.flags if isinstance(out, np.ndarray) else None
    if flags is None or out.dtype != np.float32 or out.shape != shape or not flags.carray:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        msg = f"out must be a writable, aligned, contiguous float32 array of shape {shape}, got {got}"
        raise ParameterError(msg)
    return out
