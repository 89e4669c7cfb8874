"""What the history does to the scores: repetition, frequency, presence, DRY.

What is subtracted is float32, and so is the operation: one rounding each, held inside the finite range; -inf stays
-inf.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sortition.reference.weights import Scores, clamped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["counted", "dry", "frequency", "presence", "repetition", "unbroken"]

SMALLEST = np.float32(2.0**-149)
"""A penalty that would round to zero is this: 0 / 0 would be NaN."""

LARGEST_EXPONENT = 88.72283935546875  # ln of the largest float32, as a float32


def counted(
    size: int,
    prompt: Sequence[int],
    output: Sequence[int],
    scope: str,
    window: int | None = None,
    exclude: Iterable[int] = (),
) -> NDArray[np.int64]:
    """How often each id occurs in the last `window` tokens of the scope; excluded ids are not counted.

    The scope is "output", or "all" for the prompt followed by the output. Ids of `size` and above are ignored.

    >>> counted(4, prompt=[0, 3], output=[1, 1, 9], scope="all", window=4, exclude=[3])
    array([0, 2, 0, 0])
    """
    history = [*(prompt if scope == "all" else ()), *output]
    if window is not None:
        history = history[max(0, len(history) - window) :]
    count = np.bincount([t for t in history if t < size], minlength=size).astype(np.int64)
    count[[t for t in exclude if t < size]] = 0
    return count


def repetition(scores: Scores, penalty: float, count: NDArray[np.int64]) -> Scores:
    """For each id that was seen, however often, multiply a score below zero by the penalty, and divide any other by it.

    This is how transformers implements CTRL (arXiv 1909.05858).

    >>> repetition(np.array([2, -2, 1], np.float32), 2.0, np.array([2, 1, 0]))
    array([ 1., -4.,  1.], dtype=float32)
    """
    r = np.maximum(clamped(penalty), SMALLEST)
    with np.errstate(over="ignore"):
        changed = np.where(scores < 0, scores * r, scores / r)
    return np.where(count > 0, clamped(changed, scores), scores)


def frequency(scores: Scores, penalty: float, count: NDArray[np.int64]) -> Scores:
    """Subtract the penalty once for each time the id was seen (OpenAI API).

    >>> frequency(np.array([1, 1], np.float32), 0.5, np.array([3, 0]))
    array([-0.5,  1. ], dtype=float32)
    """
    with np.errstate(over="ignore"):
        changed = scores - clamped(penalty * count)
    return np.where(count > 0, clamped(changed, scores), scores)


def presence(scores: Scores, penalty: float, count: NDArray[np.int64]) -> Scores:
    """Subtract the penalty once if the id was seen, however often (OpenAI API).

    >>> presence(np.array([1, 1], np.float32), 0.25, np.array([3, 0]))
    array([0.75, 1.  ], dtype=float32)
    """
    with np.errstate(over="ignore"):
        changed = scores - clamped(penalty)
    return np.where(count > 0, clamped(changed, scores), scores)


def dry(
    scores: Scores,
    context: Sequence[int],
    *,
    multiplier: float,
    base: float = 1.75,
    allowed_length: int = 2,
    window: int | None = None,
    breakers: Collection[Sequence[int]] = (),
) -> Scores:
    """Subtract multiplier * base^(length - allowed_length) from every token that would continue a repeat that long.

    The length of a token's repeat is that of the longest suffix of the context that occurred earlier, directly before
    that token. A breaker, which is a sequence of tokens, ends the suffix; a breaker of one token is never penalised.
    The exponent is limited so that base^exponent fits in float32. From text-generation-webui, pull request 5677.

    The context ends in 1 2, and 1 2 was followed by 3 before:

    >>> dry(np.zeros(4, np.float32), [1, 2, 3, 1, 2], multiplier=0.8)
    array([ 0. ,  0. ,  0. , -0.8], dtype=float32)
    >>> dry(np.zeros(4, np.float32), [1, 2, 3, 1, 2], multiplier=0.8, breakers=[[3]])
    array([0., 0., 0., 0.], dtype=float32)
    """
    tokens = list(context) if window is None else list(context)[max(0, len(context) - window) :]
    never = {breaker[0] for breaker in breakers if len(breaker) == 1}
    limit = unbroken(tokens, breakers)
    largest = math.floor(LARGEST_EXPONENT / math.log(base)) if base > 1 else len(tokens)
    longest: dict[int, int] = {}
    for token, length in zip(tokens[:0:-1], shared_suffixes(tokens)[1:], strict=True):
        longest[token] = max(longest.get(token, 0), min(length, limit))
    changed = scores.copy()
    for token, length in longest.items():
        if length >= allowed_length and token < len(scores) and token not in never:
            penalty = clamped(multiplier * float(base) ** min(length - allowed_length, largest))
            with np.errstate(over="ignore"):
                changed[token] = clamped(scores[token] - penalty, scores[token])
    return changed


def unbroken(tokens: Sequence[int], breakers: Iterable[Sequence[int]]) -> int:
    """How many tokens follow the last breaker.

    >>> unbroken([1, 8, 9, 2], [[8, 9]]), unbroken([1, 8, 2], [[8, 9]])
    (1, 3)
    """
    for after in range(len(tokens)):
        end = len(tokens) - after
        if any(len(b) <= end and list(tokens[end - len(b) : end]) == list(b) for b in breakers):
            return after
    return len(tokens)


def shared_suffixes(tokens: Sequence[int]) -> list[int]:
    """Entry i: the longest common suffix of the tokens and of the tokens without their last i (the "Z function").

    Linear: what was compared once, from `left` to `right` counted from the end, is looked up and not compared again.

    >>> shared_suffixes([1, 2, 3, 1, 2])
    [5, 0, 0, 2, 0]
    """
    back = tokens[::-1]
    size = len(back)
    lengths = [size] * min(size, 1) + [0] * (size - 1)
    left = right = 0
    for i in range(1, size):
        length = min(right - i, lengths[i - left]) if i < right else 0
        while i + length < size and back[i + length] == back[length]:
            length += 1
        lengths[i] = length
        if i + length > right:
            left, right = i, i + length
    return lengths
