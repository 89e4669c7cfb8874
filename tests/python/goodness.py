"""How well counts agree with probabilities: the G-test (Woolf 1957; Sokal and Rohlf, "Biometry")."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["FALSE_ALARM", "assert_follows", "g_test"]

FALSE_ALARM = 1e-6
"""How often a right sampler fails a test, with seeds that nobody has tried."""

FEW = 20
"""Tokens that fewer are expected of are counted together: the statistic follows its law only with many."""


def probability_of_more(statistic: float, degrees: int) -> float:
    """The probability that chi-square with so many degrees of freedom exceeds the statistic.

    From the table of the distribution: 11.070 at 5 degrees is the limit of 5 %.

    >>> round(probability_of_more(11.070, 5), 4), round(probability_of_more(5.991, 2), 4)
    (0.05, 0.05)
    """
    if statistic <= 0:
        return 1.0
    half, odd = statistic / 2, degrees % 2
    powers = [k + odd / 2 for k in range(degrees // 2)]
    terms = [math.exp(-half + power * math.log(half) - math.lgamma(power + 1)) for power in powers]
    return sum(terms, math.erfc(math.sqrt(half)) if odd else 0.0)


def g_statistic(counts: ArrayLike, expected: ArrayLike) -> float:
    """Twice the sum of O ln(O / E).

    2 (30 ln 1.5 + 10 ln .5):

    >>> round(g_statistic([30, 10], [20, 20]), 4)
    10.465
    """
    counts, expected = np.asarray(counts, np.float64), np.asarray(expected, np.float64)
    some = counts > 0
    return float(2 * (counts[some] * np.log(counts[some] / expected[some])).sum())


def g_test(tokens: np.ndarray, probabilities: np.ndarray) -> float:
    """The probability of a larger statistic for tokens that follow these probabilities; 0 if one came that has none."""
    counts = np.bincount(tokens, minlength=len(probabilities))
    if len(counts) > len(probabilities) or counts[probabilities <= 0].any():
        return 0.0
    expected = probabilities / probabilities.sum() * len(tokens)
    rare = expected < FEW
    counts, expected = (np.append(x[~rare], x[rare].sum()) for x in (counts, expected))
    if expected[-1] < FEW:  # even together: with the last of the others
        counts, expected = (np.append(x[:-2], x[-2:].sum()) for x in (counts, expected))
    return probability_of_more(g_statistic(counts, expected), len(expected) - 1) if len(expected) > 1 else 1.0


def assert_follows(tokens: np.ndarray, probabilities: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Hold the tokens to the probabilities."""
    assert g_test(tokens, probabilities) > false_alarm
