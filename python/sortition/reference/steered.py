"""Policies with a memory: mirostat (arXiv 2007.14966) in the place of the cuts, and adaptive-p behind them.

Mirostat remembers one number, mu, which starts at twice tau. Adaptive-p remembers a decaying sum of the probabilities
of the tokens drawn, and the sum of the decay factors.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from sortition.reference.cuts import Keep, prefix, top_k
from sortition.reference.weights import MET, Floats, Scores, best_first, log_probabilities, probabilities

__all__ = ["Average", "adapted", "adaptive_p", "first_mu", "mirostat_1", "mirostat_2", "next_average", "next_mu"]

FIT = 100
"""Mirostat 1 fits its exponent to this many of the best."""

PEAK, SHARPNESS, WIDTH = 5.0, 10.0, 0.3
"""The shape of adaptive-p: height, steepness and width of the hill around the target."""


def mirostat_1(scores: Scores, temperature: float, mu: float, vocab: int) -> Keep:
    """Mirostat 1: keep the k best, at least one; k follows from mu and a power law fitted to the best probabilities.

    >>> mirostat_1(np.log(np.array([0.5, 0.25, 0.25], np.float32)), 1.0, mu=0.0, vocab=3)
    array([ True, False, False])
    """
    best = best_first(scores)[:FIT]
    x = scores[best[probabilities(scores, temperature)[best] > 0]].astype(np.float64)
    if len(x) < 2:  # noqa: PLR2004 - a slope takes two points
        return top_k(scores, 1.0, 1)
    ranks = np.arange(1, len(x))
    t = np.log((ranks + 1) / ranks)
    # the logarithm of a ratio of probabilities is a difference of scores, which tells apart more
    slope = float((t * (x[:-1] - x[1:]) / temperature).sum() / (t * t).sum())
    excess = slope - 1
    if slope <= 0:  # a flat row has no law to follow
        return scores > -np.inf
    spread = math.log(vocab) if excess == 0 else (1 - vocab**-excess) / excess  # the limit, where 0/0 stands
    if spread <= 0:
        return top_k(scores, 1.0, 1)
    log_k = (mu * math.log(2) - math.log(spread)) / slope  # (2^mu / spread)^(1 / slope) may be beyond any float
    return top_k(scores, 1.0, max(1, int(math.exp(min(log_k, math.log(2 * len(scores)))))))


def mirostat_2(scores: Scores, temperature: float, mu: float) -> Keep:
    """Mirostat 2: keep tokens with a surprise of at most mu bits, and always the best.

    The surprises are 1, 2, 3 and 3 bits:

    >>> mirostat_2(np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32)), 1.0, mu=2.5)
    array([ True,  True, False, False])
    """
    order = best_first(scores)
    surprise = -log_probabilities(scores, temperature)[order] / math.log(2)
    return prefix(scores, order, int((surprise + math.log2(MET) <= mu).sum()), 1)


def first_mu(tau: float) -> float:
    """The mu before the first token: twice tau, but at most the largest float64.

    >>> first_mu(5.0)
    10.0
    """
    return min(2 * tau, sys.float_info.max)


def next_mu(mu: float, probability: float, *, tau: float, eta: float) -> float:
    """The next mu: mu - eta * (surprise - tau), where surprise is that of the token drawn, in bits, among those kept.

    >>> next_mu(10.0, 0.25, tau=5.0, eta=0.1)
    10.3

    It stays finite for any eta:

    >>> next_mu(10.0, 0.25, tau=1e-9, eta=1e308) == -float(np.finfo(np.float64).max)
    True
    """
    return min(max(mu - eta * (-math.log2(probability) - tau), -sys.float_info.max), sys.float_info.max)


class Average(NamedTuple):
    """The memory of adaptive-p: sum of decay^age * probability, and sum of decay^age."""

    weighted: float
    total: float

    @staticmethod
    def start(target: float, decay: float) -> Average:
        """As if every token so far had hit the target.

        >>> Average.start(0.4, 0.5)
        Average(weighted=0.8, total=2.0)
        """
        return Average(target / (1 - decay), 1 / (1 - decay))


def adapted(target: float, average: Average) -> float:
    """The probability to aim at now, so that the average returns to the target: 2 * target - average, within [0, 1].

    >>> adapted(0.5, Average(weighted=0.5, total=2.0))
    0.75
    """
    return min(max(2 * target - average.weighted / average.total, 0.0), 1.0)


def adaptive_p(scores: Scores, temperature: float, target: float) -> Scores:
    """Replace each score by 5 - 10 d^2 / (1 + d), where d is how many widths its probability is from the target.

    From llama.cpp, pull request 17927. No probability is further from the target than 10/3 widths, so no score is below
    -20.7: it takes a cut before this stage to keep out the many unlikely tokens of a large vocabulary.

    The probability .5 hits the target. The probability .2 is one width away, which gives 5 - 10/2 = 0:

    >>> adaptive_p(np.log(np.array([0.5, 0.2, 0.3], np.float32)), 1.0, 0.5)[:2].round(3) + 0.0
    array([5., 0.], dtype=float32)
    """
    distance: Floats = np.abs(probabilities(scores, temperature) - target) / WIDTH
    return np.where(scores > -np.inf, PEAK - SHARPNESS * distance**2 / (1 + distance), -np.inf).astype(np.float32)


def next_average(average: Average, probability: float, decay: float) -> Average:
    """The memory after a token that had this probability before the change of scores.

    >>> next_average(Average(0.8, 2.0), 0.1, 0.5)
    Average(weighted=0.5, total=2.0)
    """
    return Average(probability + decay * average.weighted, 1 + decay * average.total)
