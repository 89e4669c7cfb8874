"""The functions that take a row, in float64. All work on the last axis; a score of -inf is a probability of 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sortition.reference.cuts import top_p as nucleus
from sortition.reference.weights import Floats, Scores, best_first

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["argmax", "entropy", "log_softmax", "logsumexp", "softmax", "top_k", "top_p"]


def argmax(x: ArrayLike) -> NDArray[np.intp]:
    """The id of the best, the lowest of equals.

    >>> int(argmax([1.0, 3.0, 3.0]))
    1
    """
    return np.asarray(np.argmax(np.asarray(x), axis=-1))


def logsumexp(x: ArrayLike) -> Floats:
    """Logarithm of the sum of e^x.

    >>> float(logsumexp([1000.0, 1000.0]).round(6))
    1000.693147
    """
    row = np.asarray(x).astype(np.float64)
    best = row.max(axis=-1, keepdims=True)
    return np.asarray(best[..., 0] + np.log(np.exp(row - best).sum(axis=-1)))


def log_softmax(x: ArrayLike) -> Floats:
    """Each x less the logsumexp of all.

    >>> log_softmax([1000.0, 0.0])
    array([    0., -1000.])
    """
    row = np.asarray(x).astype(np.float64)
    shifted = row - row.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def softmax(x: ArrayLike, temperature: float = 1.0) -> Floats:
    """e^(x/T) over its sum.

    >>> softmax(np.log([3.0, 1.0])).round(6)
    array([0.75, 0.25])
    """
    row = np.asarray(x).astype(np.float64)
    with np.errstate(over="ignore"):
        weight = np.exp((row - row.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def entropy(x: ArrayLike) -> Floats:
    """-sum P ln P of the softmax, in nats; 0 ln 0 is 0.

    >>> float(entropy([0.0, 0.0, -np.inf]).round(6))
    0.693147
    """
    probability = softmax(x)
    return np.asarray(-(probability * np.log(np.where(probability > 0, probability, 1.0))).sum(axis=-1))


def top_k(x: ArrayLike, k: int) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """The k best scores and their ids, best first, equal scores by id.

    >>> top_k(np.array([0.125, 0.5, 0.5, 0.25]), 3)
    (array([0.5 , 0.5 , 0.25]), array([1, 2, 3]))
    """
    row = np.asarray(x)
    ids = np.argsort(-row, axis=-1, kind="stable")[..., :k].astype(np.int64)
    return np.take_along_axis(row, ids, axis=-1), ids


def top_p(x: ArrayLike, p: float) -> NDArray[np.intp]:
    """The ids of the nucleus of one row, best first.

    >>> top_p(np.log([0.1, 0.6, 0.3]), 0.8)
    array([1, 2])
    """
    row: Scores = np.asarray(x).astype(np.float32)
    order = best_first(row)
    return order[nucleus(row, 1.0, p)[order]]
