"""Hard rules: what they remove is -inf, and nothing later brings it back. And the bias, which only adds.

Each rule returns a new row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sortition.reference.weights import Scores, clamped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["allowed_ids", "bad_words", "custom", "logit_bias", "mask", "min_tokens", "no_repeat_ngram", "suppress"]

OUT = np.float32(-np.inf)


def mask(scores: Scores, words: ArrayLike) -> Scores:
    """Keep token t if bit t & 31 of word t >> 5 is set. Tokens beyond the last word are removed.

    This is the format of the masks of xgrammar, llguidance and outlines-core. Bits beyond the last score are ignored.

    The number 6 is 110 in binary, which allows the ids 1 and 2:

    >>> mask(np.zeros(5, np.float32), [6])
    array([-inf,   0.,   0., -inf, -inf], dtype=float32)
    """
    packed = np.asarray(words).astype(np.uint32)
    ids = np.arange(min(len(scores), 32 * len(packed)))
    allowed = ids[(packed[ids >> 5] >> (ids & 31).astype(np.uint32)) & 1 == 1]
    return allowed_ids(scores, allowed)


def allowed_ids(scores: Scores, ids: ArrayLike) -> Scores:
    """Keep these ids and no other.

    >>> allowed_ids(np.zeros(3, np.float32), [1])
    array([-inf,   0., -inf], dtype=float32)
    """
    kept = np.full_like(scores, OUT)
    where = np.asarray(ids, np.intp)
    kept[where] = scores[where]
    return kept


def suppress(scores: Scores, ids: Iterable[int]) -> Scores:
    """Remove these ids.

    >>> suppress(np.zeros(3, np.float32), [1])
    array([  0., -inf,   0.], dtype=float32)
    """
    left = scores.copy()
    left[np.fromiter(ids, np.intp)] = OUT
    return left


def min_tokens(scores: Scores, least: int, outputs: int, stop_tokens: Iterable[int]) -> Scores:
    """Remove the stop tokens while there are fewer than `least` outputs.

    >>> min_tokens(np.zeros(2, np.float32), least=3, outputs=2, stop_tokens=[0])
    array([-inf,   0.], dtype=float32)
    >>> min_tokens(np.zeros(2, np.float32), least=3, outputs=3, stop_tokens=[0])
    array([0., 0.], dtype=float32)
    """
    return suppress(scores, (t for t in stop_tokens if t < len(scores))) if outputs < least else scores


def bad_words(scores: Scores, words: Iterable[Sequence[int]], context: Sequence[int]) -> Scores:
    """Remove the last id of a word if the context ends with the rest of the word. A word of one id is always removed.

    >>> bad_words(np.zeros(4, np.float32), [[1, 2], [3]], context=[0, 1])
    array([  0.,   0., -inf, -inf], dtype=float32)
    """
    ends = list(context)
    return suppress(scores, [word[-1] for word in words if ends[len(ends) - len(word) + 1 :] == list(word[:-1])])


def no_repeat_ngram(scores: Scores, n: int, context: Sequence[int]) -> Scores:
    """Remove every id that would complete an n-gram that is already in the context (arXiv 1705.04304).

    The context ends in 1, and 1 was followed by 2 before:

    >>> no_repeat_ngram(np.zeros(4, np.float32), 2, [1, 2, 3, 1])
    array([  0.,   0., -inf,   0.], dtype=float32)
    """
    tokens = tuple(context)
    if len(tokens) < n:
        return scores
    rest = tokens[len(tokens) - n + 1 :]
    runs = (tokens[i : i + n] for i in range(len(tokens) - n + 1))
    return suppress(scores, {run[-1] for run in runs if run[:-1] == rest and 0 <= run[-1] < len(scores)})


def logit_bias(scores: Scores, bias: Mapping[int, float]) -> Scores:
    """Add its bias, which is finite or -inf, to the score of each id. What would overflow is the largest finite float.

    >>> logit_bias(np.array([1, -np.inf], np.float32), {0: 0.5, 1: 9})
    array([ 1.5, -inf], dtype=float32)
    """
    ids = np.fromiter(bias, np.intp)
    given = np.fromiter(bias.values(), np.float64)
    added = clamped(given, given)
    changed = scores.copy()
    with np.errstate(over="ignore"):
        changed[ids] = clamped(scores[ids] + added, np.minimum(scores[ids], added))
    return changed


def custom(
    scores: Scores,
    processor: Callable[[NDArray[np.int64], Scores], ArrayLike | None],
    context: Sequence[int],
) -> Scores:
    """Replace the scores by what a function of the context and the scores returns.

    If it returns `None`, the scores are used as it left them. What was impossible before stays impossible:

    >>> custom(np.array([1, 2, -np.inf], np.float32), lambda context, scores: scores + context[-1], [5, 7])
    array([  8.,   9., -inf], dtype=float32)
    """
    shown = scores.copy()
    answer = processor(np.array(context, np.int64), shown)
    return np.where(scores > -np.inf, np.asarray(shown if answer is None else answer, np.float32), scores)
