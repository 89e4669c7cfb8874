"""The kernels as NumPy functions, over the last axis.

Scores may have any shape, and may come from NumPy or any library with DLPack, in host memory. float32, float16 and
bfloat16 are read in place, and other real types are converted once. Half precision gives the results of the same
numbers in float32. A score must be finite or -inf. A row must have a score; a table may have no rows, and then it
has no results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import _native
from sortition._arrays import Logits, rows, scores
from sortition._checks import integer, number, place
from sortition.errors import LogitsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["argmax", "entropy", "log_softmax", "logsumexp", "softmax", "top_k", "top_p"]


def argmax(x: Logits) -> Any:
    """The id of the largest score, the lowest id in a tie.

    >>> argmax([1.0, 3.0, 3.0])
    1

    Args:
        x: scores of shape ``(..., vocab)``.

    Returns:
        An ``int`` for one row, else an ``int64`` array of shape ``(...)``.

    Raises:
        LogitsError: a score is NaN or +inf, or the scores are not real numbers; with the row, if there are several.
        NoCandidateError: a row has no score above -inf.
    """
    return _native.argmax(x)


def softmax(x: Logits, *, temperature: float = 1.0, out: npt.NDArray[np.float32] | None = None) -> Any:
    """The probabilities ``exp(x / temperature)`` divided by their sum.

    The exponential is within two units in the last place. Four numbers at a time are added in float32, the rest in
    float64. After an error ``out`` may be partly written.

    >>> softmax([0.0, 0.0, -float("inf")])
    array([0.5, 0.5, 0. ], dtype=float32)

    Args:
        x: scores of shape ``(..., vocab)``.
        temperature: finite and above 0.
        out: where to write the result: contiguous, float32, of the shape of ``x``. By default a new array.

    Returns:
        ``out``, or a float32 array of the shape of ``x``.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
        ParameterError: ``temperature`` or ``out`` is not as above.
    """
    array, out = _pair(x, out)
    _native.softmax(array, number("temperature", temperature), out.reshape(-1, array.shape[-1]))
    return out


def log_softmax(x: Logits, *, out: npt.NDArray[np.float32] | None = None) -> Any:
    """The natural logarithms of the probabilities.

    >>> log_softmax([1000.0, 0.0])
    array([    0., -1000.], dtype=float32)

    Args:
        x: scores of shape ``(..., vocab)``.
        out: as for :func:`softmax`.

    Returns:
        ``out``, or a float32 array of the shape of ``x``.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
        ParameterError: ``out`` is not as it must be.
    """
    array, out = _pair(x, out)
    _native.log_softmax(array, out.reshape(-1, array.shape[-1]))
    return out


def logsumexp(x: Logits) -> Any:
    """The natural logarithm of the sum of ``exp(x)``.

    >>> round(logsumexp([1000.0, 1000.0]), 6)
    1000.693147

    Args:
        x: scores of shape ``(..., vocab)``.

    Returns:
        A ``float`` for one row, else a ``float64`` array of shape ``(...)``.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
    """
    return _native.logsumexp(x)


def entropy(x: Logits) -> Any:
    """The entropy of the probabilities, in nats; a token with the score -inf adds nothing.

    >>> round(entropy([0.0, 0.0, -float("inf")]), 6)
    0.693147

    Args:
        x: scores of shape ``(..., vocab)``.

    Returns:
        A ``float`` for one row, else a ``float64`` array of shape ``(...)``.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
    """
    return _native.entropy(x)


def top_k(x: Logits, k: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The ``k`` best scores and their ids, best first; in a tie the lower id comes first.

    Tokens with the score -inf come last.

    >>> values, ids = top_k([0.125, 0.5, 0.5, 0.25], 3)
    >>> values, ids
    (array([0.5 , 0.5 , 0.25], dtype=float32), array([1, 2, 3]))

    Args:
        x: scores of shape ``(..., vocab)``.
        k: how many, at least 1. More than the vocabulary means all of it.

    Returns:
        The scores, float32, and the ids, ``int64``, both of shape ``(..., k)``.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
        ParameterError: ``k`` is not an integer of at least 1.
    """
    array = _filled(x)
    k = min(integer("k", k, least=1), array.shape[-1])
    values, ids = _native.top_k(array, k)
    if array.ndim == 1:
        return values, ids
    shape = (*array.shape[:-1], k)
    return values.reshape(shape), ids.reshape(shape)


def top_p(x: Logits, p: float) -> npt.NDArray[np.int64] | Sequence[npt.NDArray[np.int64]]:
    """The nucleus: the ids of the fewest tokens whose total probability is at least ``p``, best first.

    >>> top_p(np.log([0.1, 0.6, 0.3]), 0.8)
    array([1, 2])

    Args:
        x: scores of shape ``(vocab,)`` or ``(rows, vocab)``.
        p: in (0, 1].

    Returns:
        An ``int64`` array for one row, a list of them for several.

    Raises:
        LogitsError, NoCandidateError: as for :func:`argmax`.
        ParameterError: ``p`` is outside (0, 1].
    """
    array = scores(x, "x")
    if array.ndim > 2:  # noqa: PLR2004 - rows and scores
        msg = f"x must have the shape (vocab,) or (rows, vocab), got {array.shape}"
        raise LogitsError(msg)
    nuclei = [np.array(ids, np.int64) for ids in _native.top_p(array, number("p", p))]
    return nuclei[0] if array.ndim == 1 else nuclei


def _pair(x: Logits, out: npt.NDArray[np.float32] | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """The scores, and an array for as many numbers, which shares no memory with them."""
    array = _filled(x)
    out = np.empty(array.shape, np.float32) if out is None else place("out", out, np.float32, array.shape)
    return array.copy() if np.may_share_memory(array, out) or not array.size else array, out


def _filled(x: Logits) -> npt.NDArray[Any]:
    """The scores, of which there must be some in a row; there may be no rows."""
    array = scores(x, "x")
    if array.ndim == 0 or array.shape[-1] == 0:
        rows(array, "x")  # says what is missing
    return array
