"""The weight of a candidate, to the bit, and the pick among weights.

A weight is exp((x - max) / T), up to a factor that all candidates share. It is a float32, computed by a fixed recipe:
split x/T into a power of two and a remainder, evaluate a polynomial of degree six at the remainder, and scale the
result. Every multiply-add is fused, that is, rounded once. The same recipe gives the same bits on every machine, and
therefore the same token. Sums are float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MET",
    "Floats",
    "Scores",
    "best_first",
    "clamped",
    "entropy_of",
    "log_mass",
    "log_probabilities",
    "mean_of",
    "pick",
    "probabilities",
    "smoothed",
    "weights",
    "written",
]

Scores = NDArray[np.float32]
Floats = NDArray[np.float64]

FLOAT32_MAX = float(np.finfo(np.float32).max)
MET = 1.0 - 2.0**-20
"""A limit that is met within this factor counts as met, in every cut."""

LOG2_E = 1.4426950408889634
ROUNDER = 12582912.0  # 1.5 * 2^23: a float32 of this size has no fraction, so adding it rounds to an integer
# c6 down to c1 of 2^f = 1 + c1 f + c2 f^2 + … on [-1/2, 1/2]
POLYNOMIAL = np.array([0x3931CA10, 0x3AB01A8D, 0x3C1D7E37, 0x3D63561B, 0x3E75FE0E, 0x3F31721A], np.uint32)


def weights(scores: Scores, temperature: float = 1.0) -> Scores:
    """The weight of every score; 0 for -inf and for scores more than 126 powers of two below the best.

    A score of ln 2 weighs twice as much as a score of 0. The factor that all weights share is a power of two on which
    no one should rely: its exponent is the even integer next to that of the best weight, which for 8 is 4.

    >>> weights(np.array([0, -np.inf, 0], np.float32))
    array([1., 0., 1.], dtype=float32)
    >>> weights(np.log(np.array([8, 4], np.float32)))
    array([0.5 , 0.25], dtype=float32)
    """
    c = LOG2_E / temperature
    lift = 2.0**30 if c > FLOAT32_MAX else 1.0  # float32 has no such factor, but one for scores as much larger
    c = min(c / lift, FLOAT32_MAX)
    best = scores.max()
    # x * c may lose the digits that tell scores apart: then measure from the best
    if lift > 1 or abs(float(best)) * c > 2.0**15:
        with np.errstate(over="ignore"):
            scores = clamped(clamped(scores - best, scores) * np.float32(lift), scores)
        best = np.float32(0)
    hi = np.float32(c)
    lo = np.float32(c - float(hi))
    top = 2 * round(float(best) * c / 2)
    result = np.zeros(scores.shape, np.float32)
    seen = np.flatnonzero((scores > -np.inf) & (scores.astype(np.float64) >= (top - 126.0) / c))
    x = scores[seen]
    n = rounded(x, hi)
    f = fma(x, lo, fma(x, hi, -n))
    p = np.full_like(f, POLYNOMIAL.view(np.float32)[0])
    for coefficient in (*POLYNOMIAL.view(np.float32)[1:], np.float32(1)):
        p = fma(p, f, coefficient)
    result[seen] = np.ldexp(p, n.astype(np.int32) - top)
    return result


def rounded(x: Scores, factor: np.float32) -> Scores:
    """The integer next to x * factor, by way of float32 addition.

    >>> rounded(np.array([1.25, -0.75], np.float32), np.float32(2))
    array([ 2., -2.], dtype=float32)
    """
    return fma(x, factor, np.float32(ROUNDER)) - np.float32(ROUNDER)


def fma(a: Scores, b: Scores | np.float32, c: Scores | np.float32) -> Scores:
    """Fused multiply-add in float32: a * b + c, rounded once.

    The product is exact in float64. The sum is rounded to float64 by "round to odd": when digits are lost, the last
    kept digit becomes 1, which the final rounding to float32 cannot mistake for a tie.

    (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24; rounding the product first would lose the last term.

    >>> a = np.array([1 + 2.0**-12], np.float32)
    >>> fma(a, a, np.float32(-1)) == 2.0**-11 + 2.0**-24
    array([ True])

    (1 + 2^-12)^2 lies halfway between two float32. What is added decides, though float64 cannot hold the sum:

    >>> fma(a, a, np.float32(2.0**-60)) == 1 + 2.0**-11 + 2.0**-23
    array([ True])
    >>> fma(a, a, np.float32(-(2.0**-60))) == 1 + 2.0**-11
    array([ True])
    """
    product = a.astype(np.float64) * np.asarray(b, np.float64)
    addend = np.asarray(c, np.float64)
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)  # Knuth's TwoSum: product + addend = total + lost, exactly
    even = (total.view(np.int64) & 1) == 0
    odd = np.where((lost != 0) & even, np.nextafter(total, np.copysign(np.inf, lost)), total)
    return odd.astype(np.float32)


def pick(weight: Scores, coin: float) -> int:
    """The first id, in ascending order, at which the cumulative weight exceeds coin * total.

    >>> [pick(np.array([1, 0, 3], np.float32), coin) for coin in (0.0, 0.2499, 0.25, 0.999)]
    [0, 0, 2, 2]
    """
    cumulative = np.cumsum(weight, dtype=np.float64)
    ids = int(np.searchsorted(cumulative, coin * cumulative[-1], side="right"))
    return min(ids, int(np.flatnonzero(weight)[-1]))  # coin * total may round up to the total


def probabilities(scores: Scores, temperature: float = 1.0) -> Floats:
    """Weights over their sum.

    >>> probabilities(np.log(np.array([2, 1, 1], np.float32))).round(6)
    array([0.5 , 0.25, 0.25])
    """
    weight = weights(scores, temperature).astype(np.float64)
    probability: Floats = weight / weight.sum()
    return probability


def log_mass(scores: Scores, temperature: float = 1.0) -> float:
    """The logarithm of the sum of all weights over that of the best.

    >>> round(log_mass(np.array([7, 7, -np.inf], np.float32)), 6)
    0.693147
    """
    weight = weights(scores, temperature).astype(np.float64)
    return float(np.log(weight.sum() / weight[scores.argmax()]))


def log_probabilities(scores: Scores, temperature: float = 1.0) -> Floats:
    """Log-probabilities, from the scores: they are finite even where the probability is too small for a weight.

    >>> log_probabilities(np.array([0, -200, -np.inf], np.float32))
    array([   0., -200.,  -inf])
    """
    with np.errstate(over="ignore"):
        below = (scores.astype(np.float64) - float(scores.max())) / temperature
    logs: Floats = below - log_mass(scores, temperature)
    return logs


def entropy_of(scores: Scores, temperature: float = 1.0) -> float:
    """-sum P ln P in nats; a probability of 0 adds nothing.

    Two equal probabilities: ln 2.

    >>> round(entropy_of(np.array([7, 7, -np.inf], np.float32)), 6)
    0.693147
    """
    return max(0.0, log_mass(scores, temperature) - mean_of(scores, temperature) / temperature)


def mean_of(scores: Scores, temperature: float = 1.0) -> float:
    """The mean of all scores, each counted by its probability, relative to the best.

    >>> mean_of(np.array([7, 5, -np.inf], np.float32), 1e30)
    -1.0
    """
    candidates = scores > -np.inf
    weight = weights(scores, temperature)[candidates].astype(np.float64)
    return float((weight * (scores[candidates].astype(np.float64) - float(scores.max()))).sum() / weight.sum())


def best_first(scores: Scores) -> NDArray[np.intp]:
    """The ids of the candidates by descending score, and by ascending id among equal scores.

    >>> best_first(np.array([1, 3, -np.inf, 3], np.float32))
    array([1, 3, 0])
    """
    ids = np.flatnonzero(scores > -np.inf)
    return ids[np.argsort(-scores[ids], kind="stable")]


def written(scores: Scores, temperature: float) -> Scores:
    """The scores divided by the temperature: (x - max) / T in float64, rounded once to a finite float32.

    A temperature of 1 leaves the scores unchanged, to the bit.

    >>> written(np.array([3, 1, -np.inf], np.float32), 0.5)
    array([  0.,  -4., -inf], dtype=float32)
    """
    if temperature == 1.0:
        return scores
    with np.errstate(over="ignore"):
        return clamped((scores.astype(np.float64) - float(scores.max())) / temperature, scores)


def smoothed(scores: Scores, temperature: float, factor: float, curve: float = 1.0) -> Scores:
    """Quadratic smoothing: a score that the temperature leaves a below the best comes to factor a^2 (k + s a) below it.

    Here a = (max - x) / T, but at most the largest float32, k = (3 - curve) / 2 and s = (curve - 1) / 2, in float64.
    The best keeps its score at a temperature of 1 and has 0 at another, as without smoothing. The result is rounded
    once, to a finite float32. At curve 1 only the square is left: a distance of 1 / factor stays, shorter ones shrink,
    longer ones grow (kalomaze; text-generation-webui, pull requests 5403 and 5551). A temperature of 0 leaves the best
    alone, and nothing is smoothed.

    >>> row = np.array([3, 2.5, 1, -np.inf], np.float32)
    >>> smoothed(row, 1.0, 0.5)
    array([3.   , 2.875, 1.   ,  -inf], dtype=float32)
    >>> smoothed(row, 0.5, 0.5, curve=3.0)
    array([  0. ,  -0.5, -32. ,  -inf], dtype=float32)

    The order of the scores stays for curves in [1, 3]. Above 3, a score less than (curve - 3) / (curve - 1) below the
    best comes out above it. Below 1, those more than (3 - curve) / (1 - curve) below it do, far ones the most:

    >>> smoothed(np.array([3, 2.75, 2.5, 2], np.float32), 1.0, 2.0, curve=5.0)
    array([3.    , 3.0625, 3.    , 1.    ], dtype=float32)

    Other stacks have the same formula, and 0 for off. koboldcpp, text-generation-webui and Aphrodite, in their default
    orders, smooth what the fixed or dynamic temperature leaves, Aphrodite after most of its cuts. The first version of
    text-generation-webui smoothed instead of dividing. exllamav2 squares and then divides, so that factor / T there is
    factor / T^2 here; it has no curve. text-generation-webui offers factors up to 10 and curves from 1 to 10.
    """
    best = float(scores.max())
    with np.errstate(over="ignore"):
        below = np.minimum((best - scores.astype(np.float64)) / temperature, FLOAT32_MAX)
        bent = below * below * ((3.0 - curve) / 2.0 + (curve - 1.0) / 2.0 * below)
        return clamped((best if temperature == 1.0 else 0.0) - factor * bent, scores)


def clamped(values: ArrayLike, scores: ArrayLike | None = None) -> Scores:
    """Values as float32 held inside the finite range, save that what was -inf (in `scores`) stays -inf.

    >>> clamped(np.array([-1e39, 7.0]))
    array([-3.4028235e+38,  7.0000000e+00], dtype=float32)
    """
    held: Scores = np.asarray(np.clip(values, -FLOAT32_MAX, FLOAT32_MAX), np.float32)
    return held if scores is None else np.where(np.greater(scores, -np.inf), held, np.float32(-np.inf))
