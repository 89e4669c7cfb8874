"""Cuts: which candidates stay. Each takes scores, a temperature and its own value, and returns a boolean row.

Probabilities are those of the candidates left so far, renormalised. "Best first" means by descending score, and by
ascending id among equal scores. A limit that is missed by no more than a factor of 1 - 2^-20 counts as met. Every cut
keeps at least `min_keep` candidates, the best in its own order.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sortition.reference.weights import (
    MET,
    Floats,
    Scores,
    best_first,
    entropy_of,
    log_mass,
    log_probabilities,
    mean_of,
    probabilities,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "epsilon",
    "eta",
    "min_k",
    "min_p",
    "p_less",
    "tfs",
    "top_a",
    "top_h",
    "top_k",
    "top_n_sigma",
    "top_p",
    "typical",
    "xtc",
]

Keep = NDArray[np.bool_]


def top_k(scores: Scores, _temperature: float, k: int, *, min_keep: int = 1, ties: bool = False) -> Keep:
    """Keep the k best candidates (arXiv 1805.04833).

    Of several that equal the k-th, those with the lower ids stay; with `ties`, all of them stay.

    >>> top_k(np.array([3, 2, 2, 1], np.float32), 1.0, 2)
    array([ True,  True, False, False])
    >>> top_k(np.array([3, 2, 2, 1], np.float32), 1.0, 2, ties=True)
    array([ True,  True,  True, False])
    """
    candidates = scores[scores > -np.inf]
    k = min(max(k, min_keep), len(candidates))
    last = np.partition(candidates, len(candidates) - k)[len(candidates) - k]
    keep: Keep = scores >= last if ties else scores > last
    if ties:
        return keep
    keep[np.flatnonzero(scores == last)[: k - int(keep.sum())]] = True
    return keep


def top_p(scores: Scores, temperature: float, p: float, *, min_keep: int = 1) -> Keep:
    """Keep the shortest prefix, best first, whose probability is at least p (arXiv 1904.09751). p = 1 cuts nothing.

    Here .4 + .3 falls short of .8, so the third token stays as well:

    >>> top_p(np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), 1.0, 0.8)
    array([ True,  True,  True, False])
    """
    if p >= 1:
        return scores > -np.inf
    order = best_first(scores)
    return prefix(scores, order, reaching(probabilities(scores, temperature)[order], p), min_keep)


def min_p(scores: Scores, temperature: float, p: float, *, min_keep: int = 1) -> Keep:
    """Keep tokens with at least p times the probability of the best (arXiv 2407.01082). p = 0 cuts nothing.

    This is a limit on scores: the best score plus T ln p.

    >>> min_p(np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32)), 1.0, 0.5)
    array([ True,  True, False, False])
    """
    if p == 0:
        return scores > -np.inf
    limit = float(scores.max()) + temperature * math.log(p * MET)
    return at_least(scores, scores.astype(np.float64) >= limit, min_keep)


def typical(
    scores: Scores, temperature: float, mass: float, *, min_keep: int = 1, ties: bool = False, exceed: bool = False
) -> Keep:
    """Keep the candidates whose surprise is closest to the entropy, up to a total of `mass` (arXiv 2202.00666).

    The surprise of a token is -ln P, and the entropy is the mean of the surprises. So a token is as far from it as its
    score is from the mean score, divided by T. In order of this distance, the candidate at which the total reaches
    `mass`, and `min_keep` is met, is the last. Others whose distance differs from that of the last by no more than a
    factor of 1 - 2^-20 in P, which is -ln(1 - 2^-20) nats, are as close as the last: of these, the lower ids stay,
    until the total reaches `mass`. With `ties`, all of these stay; with `exceed`, the total must exceed `mass` and not
    only reach it. A mass of 1 cuts nothing.

    The entropy of .6 .2 .1 .1 is 1.09. The surprise of the second token, 1.61, is closer to it than .51 and 2.30:

    >>> typical(np.log(np.array([0.6, 0.2, 0.1, 0.1], np.float32)), 1.0, 0.15)
    array([False,  True, False, False])

    The entropy of .25 .5 .25 is 1.5 bits, which is half a bit from every surprise, so that ids decide:

    >>> typical(np.log(np.array([0.25, 0.5, 0.25], np.float32)), 1.0, 0.2)
    array([ True, False, False])
    """
    if mass >= 1:
        return scores > -np.inf
    p, ids = probabilities(scores, temperature), np.flatnonzero(scores > -np.inf)
    below = scores[ids].astype(np.float64) - float(scores.max())
    distance = np.abs(below - mean_of(scores, temperature))

    def count(order: NDArray[np.intp]) -> int:
        return min(max(reaching(p[ids[order]], mass, exceed=exceed), min_keep), len(order))

    order = np.argsort(distance, kind="stable")
    last, slack = distance[order[count(order) - 1]], -temperature * np.log(MET)
    near, far = last - slack, last + slack
    closer, level = np.flatnonzero(distance < near), np.flatnonzero((distance >= near) & (distance <= far))
    order = np.concatenate([closer, level])
    return prefix(scores, ids[order], len(order) if ties else count(order), 1)


def epsilon(scores: Scores, temperature: float, limit: float, *, min_keep: int = 1, ties: bool = False) -> Keep:
    """Keep tokens with a probability of at least `limit` (arXiv 2210.15191).

    >>> epsilon(np.log(np.array([0.5, 0.25, 0.25], np.float32)), 1.0, 0.3)
    array([ True, False, False])
    """
    return likely(scores, temperature, np.log(limit), min_keep, ties=ties)


def eta(scores: Scores, temperature: float, value: float, *, min_keep: int = 1, ties: bool = False) -> Keep:
    """Keep tokens with a probability of at least min(eta, sqrt(eta) e^-H), where H is the entropy (arXiv 2210.15191).

    With two equal probabilities e^-H is 1/2, so the limit is sqrt(.64)/2 = .4:

    >>> eta(np.zeros(2, np.float32), 1.0, 0.64)
    array([ True,  True])
    """
    limit = min(np.log(value), np.log(value) / 2 - entropy_of(scores, temperature))
    return likely(scores, temperature, limit, min_keep, ties=ties)


def top_a(scores: Scores, temperature: float, a: float, *, min_keep: int = 1) -> Keep:
    """Keep tokens with a probability of at least a times the square of the best one's (KoboldAI).

    The limit is .6 * .5^2 = .15:

    >>> top_a(np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32)), 1.0, 0.6)
    array([ True,  True, False, False])
    """
    limit = np.log(a) - 2 * log_mass(scores, temperature)
    return likely(scores, temperature, limit, min_keep)


def p_less(scores: Scores, temperature: float, order: float = 2.0, *, min_keep: int = 1) -> Keep:
    """Keep tokens with a probability of at least (sum P^q)^(1/(q-1)), where q is the order (arXiv 2509.23234).

    At order 2 the limit is the probability that two draws give the same token, here .25 + .0625 + .0625 = .375:

    >>> p_less(np.log(np.array([0.5, 0.25, 0.25], np.float32)), 1.0)
    array([ True, False, False])
    """
    # weights to the power of q are weights at the temperature T / q
    limit = (log_mass(scores, max(temperature / order, sys.float_info.min)) - order * log_mass(scores, temperature)) / (
        order - 1
    )
    return likely(scores, temperature, limit, min_keep)


def min_k(scores: Scores, temperature: float, tau: float, *, min_keep: int = 1) -> Keep:
    """Keep the k candidates before the steepest drop of the scores, or floor(tau / range) where that is more.

    With scores x sorted best first, the drop before rank i >= 1 is (x[i-1] - x[i]) / (i * range). Of equal drops the
    first counts. The range is that of x / T (arXiv 2604.11012); a range of 0 cuts nothing.

    The drops are .2, 3.8/2, 1/3 in the first example. In the second they are 1, 1.8/2, 2.2/3, so that the first is the
    steepest only because of the division by the rank:

    >>> min_k(np.array([5, 4.8, 1, 0], np.float32), 1.0, 0.0)
    array([ True,  True, False, False])
    >>> min_k(np.array([5, 4, 2.2, 0], np.float32), 1.0, 0.0)
    array([ True, False, False, False])

    At T = 2 the range is 2.5, so tau = 5 keeps 5 / 2.5 = 2 candidates:

    >>> min_k(np.array([5, 4, 2.2, 0], np.float32), 2.0, 5.0)
    array([ True,  True, False, False])
    """
    order = best_first(scores)
    x = scores[order].astype(np.float64)
    if x[0] == x[-1]:
        return scores > -np.inf
    steepest = int(np.argmax((x[:-1] - x[1:]) / np.arange(1, len(x)))) + 1
    floor = int(min(tau * temperature / float(x[0] - x[-1]) / MET, len(x)))
    return prefix(scores, order, max(steepest, floor), min_keep)


def top_n_sigma(scores: Scores, _temperature: float, n: float, *, min_keep: int = 1) -> Keep:
    """Keep scores that are at most n standard deviations below the best (arXiv 2411.07641).

    The standard deviation is that of the population of finite scores. For 2 and 0 it is 1:

    >>> top_n_sigma(np.array([2, 0, -np.inf], np.float32), 1.0, 1.9)
    array([ True, False, False])
    """
    finite = scores[scores > -np.inf].astype(np.float64)
    reach = n * float(finite.std())
    return at_least(scores, float(finite.max()) - scores.astype(np.float64) <= reach / MET, min_keep)


def tfs(scores: Scores, temperature: float, z: float, *, min_keep: int = 1) -> Keep:
    """Tail-free sampling: keep tokens while their bends add up to at most z of all bends (Phénix and Egan, 2019).

    With probabilities p sorted best first, the bend |p[i] - 2 p[i+1] + p[i+2]| belongs to token i + 1. Token 0 always
    stays, and the last token always goes. z = 1, two candidates, or no bend at all cut nothing.

    The bends are .15 .02 .04, of which the first is .71 of the sum:

    >>> tfs(np.log(np.array([0.5, 0.25, 0.15, 0.07, 0.03], np.float32)), 1.0, 0.75)
    array([ True,  True, False, False, False])

    Before the absolute value is taken the bends are -.05 .10 .00. The first counts as a third of the sum:

    >>> tfs(np.log(np.array([0.4, 0.3, 0.15, 0.1, 0.05], np.float32)), 1.0, 0.2)
    array([ True, False, False, False, False])
    """
    order = best_first(scores)
    p = weights(scores, temperature).astype(np.float64)[order]  # their differences are exact, and so are bends of 0
    bends = np.abs(p[:-2] - 2 * p[1:-1] + p[2:])
    if z >= 1 or not bends.any():
        return scores > -np.inf
    reached = np.cumsum(bends) / bends.sum()
    return prefix(scores, order, 1 + int((reached * MET <= z).sum()), min_keep)


def top_h(scores: Scores, temperature: float, share: float, *, min_keep: int = 1, whole: bool = False) -> Keep:
    """Keep the longest prefix, best first, whose entropy is at most `share` of the entropy of all (arXiv 2509.02510).

    The entropy of a prefix is that of its renormalised distribution. With `whole`, only the best hundred tokens are
    looked at, and the entropy of a prefix is the sum of its terms in their distribution, without renormalisation
    (transformers). A share of 1 cuts nothing; with a smaller share, tokens too unlikely to have a weight are removed.

    The entropy of .4 .3 .2 .1 is 1.28 nats, and .55 of it is .70. The first two tokens, renormalised, have .68:

    >>> top_h(np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), 1.0, 0.55)
    array([ True,  True, False, False])
    """
    if share >= 1 and not whole:
        return scores > -np.inf
    if whole:
        scores = np.where(top_k(scores, temperature, max(100, min_keep)), scores, np.float32(-np.inf))
    order = best_first(scores)
    p = probabilities(scores, temperature)[order]
    terms = np.cumsum(-p * np.log(np.where(p > 0, p, 1.0)))
    mass = np.cumsum(p)
    held = terms if whole else terms / mass + np.log(mass)
    return prefix(scores, order, int(((held * MET <= share * terms[-1]) & (p > 0)).sum()), min_keep)


def xtc(
    scores: Scores,
    temperature: float,
    threshold: float,
    *,
    protect: Collection[int] = (),
    min_keep: int = 1,
    or_nothing: bool = False,
) -> Keep:
    """Exclude top choices: of the tokens whose probability is at least `threshold`, keep only the least likely.

    From text-generation-webui, pull request 6335. A threshold above 1/2, or a single likely token, excludes nothing. If
    several are the least likely, the one with the lowest id stays. A protected id counts as likely but is never
    excluded. If fewer than `min_keep` would be left, the best `min_keep` and the protected ids stay instead; with
    `or_nothing`, all candidates do.

    >>> xtc(np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32)), 1.0, 0.1)
    array([False, False,  True,  True])
    """
    keep = scores > -np.inf
    ids = np.flatnonzero(keep & (log_probabilities(scores, temperature) >= np.log(threshold * MET)))
    if threshold > 0.5 or len(ids) < 2:  # noqa: PLR2004 - a half and two are the definition
        return keep
    least = ids[np.argmin(scores[ids])]  # argmin: the first of equals
    left = keep.copy()
    left[[i for i in ids if i != least and i not in protect]] = False
    if or_nothing and int(left.sum()) < min_keep:
        return keep
    kept = at_least(scores, left, min_keep)
    kept[[i for i in protect if keep[i]]] = True
    return kept


def reaching(mass: Floats, goal: float, *, exceed: bool = False) -> int:
    """How many of the probabilities, from the front, it takes to reach the goal, or to exceed it.

    >>> reaching(np.array([0.5, 0.25, 0.25]), 0.75), reaching(np.array([0.5, 0.25, 0.25]), 0.75, exceed=True)
    (2, 3)
    """
    cumulative = np.cumsum(mass)
    short = cumulative <= goal / MET if exceed else cumulative < goal * MET
    return int(short.sum()) + 1


def likely(scores: Scores, temperature: float, log_limit: float, min_keep: int, *, ties: bool = False) -> Keep:
    """Keep tokens whose log-probability is at least `log_limit`; `ties` as in `at_least`."""
    return at_least(scores, log_probabilities(scores, temperature) >= log_limit + np.log(MET), min_keep, ties=ties)


def prefix(scores: Scores, order: NDArray[np.intp], count: int, min_keep: int) -> Keep:
    """Keep the first `count` of the order, and no fewer than `min_keep`."""
    keep = np.zeros(len(scores), np.bool_)
    keep[order[: max(count, min_keep)]] = True
    return keep


def at_least(scores: Scores, keep: Keep, min_keep: int, *, ties: bool = False) -> Keep:
    """Return `keep`, or the best `min_keep` candidates if it has fewer; with `ties`, also all that equal the last."""
    if int(keep.sum()) >= min(min_keep, int((scores > -np.inf).sum())):
        return keep
    return top_k(scores, 1.0, min_keep, ties=ties)
