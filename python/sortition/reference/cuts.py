"""Cuts: which candidates stay. Each takes scores, a temperature and its own value, and returns a boolean row.

Chances are those of the candidates left so far, renormalised. "Best first" is by score, equal scores by id. A limit met
within 2^-20, relative, counts as met. Every cut keeps at least `min_keep` candidates, the best in its own order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sortition.reference.weights import MET, Floats, Scores, best_first, chances, entropy_of, log_chances, log_mass

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
    """Keep the k best; of those equal to the k-th the lower ids, or with `ties` all (arXiv 1805.04833).

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
    """Keep the shortest prefix, best first, whose mass is at least p (arXiv 1904.09751). p = 1 cuts nothing.

    .4 + .3 falls short of .8, so the third stays:

    >>> top_p(np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), 1.0, 0.8)
    array([ True,  True,  True, False])
    """
    if p >= 1:
        return scores > -np.inf
    order = best_first(scores)
    return prefix(scores, order, reaching(chances(scores, temperature)[order], p), min_keep)


def min_p(scores: Scores, temperature: float, p: float, *, min_keep: int = 1) -> Keep:
    """Keep what has at least p times the chance of the best (arXiv 2407.01082). p = 0 cuts nothing.

    It is a limit on scores: the best, plus T ln p.

    >>> min_p(np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32)), 1.0, 0.5)
    array([ True,  True, False, False])
    """
    if p == 0:
        return scores > -np.inf
    limit = float(scores.max()) + temperature * np.log(p * MET)
    return at_least(scores, scores.astype(np.float64) >= limit, min_keep)


def typical(
    scores: Scores, temperature: float, mass: float, *, min_keep: int = 1, ties: bool = False, exceed: bool = False
) -> Keep:
    """Keep the candidates whose surprise is closest to the entropy until their mass reaches `mass` (arXiv 2202.00666).

    `ties` also keeps all that are as close as the last one kept; with `exceed` the mass must be exceeded.

    The entropy of .6 .2 .1 .1 is 1.09, and the surprise of .2 is 1.61, closer than .51 of the first and 2.30:

    >>> typical(np.log(np.array([0.6, 0.2, 0.1, 0.1], np.float32)), 1.0, 0.15)
    array([False,  True, False, False])
    """
    if mass >= 1:
        return scores > -np.inf
    distance = np.abs(entropy_of(scores, temperature) + log_chances(scores, temperature))
    ids = np.flatnonzero(scores > -np.inf)
    order = ids[np.argsort(distance[ids], kind="stable")]
    count = max(reaching(chances(scores, temperature)[order], mass, exceed=exceed), min_keep)
    keep = prefix(scores, order, count, min_keep)
    if ties:
        keep |= (scores > -np.inf) & (distance <= distance[order[min(count, len(order)) - 1]])
    return keep


def epsilon(scores: Scores, temperature: float, limit: float, *, min_keep: int = 1, ties: bool = False) -> Keep:
    """Keep chances of at least `limit` (arXiv 2210.15191).

    >>> epsilon(np.log(np.array([0.5, 0.25, 0.25], np.float32)), 1.0, 0.3)
    array([ True, False, False])
    """
    return likely(scores, temperature, np.log(limit), min_keep, ties=ties)


def eta(scores: Scores, temperature: float, value: float, *, min_keep: int = 1, ties: bool = False) -> Keep:
    """Keep chances of at least min(eta, sqrt(eta) e^-H), H the entropy (arXiv 2210.15191).

    Two equal chances: e^-H is 1/2, sqrt(.64)/2 = .4.

    >>> eta(np.zeros(2, np.float32), 1.0, 0.64)
    array([ True,  True])
    """
    limit = min(np.log(value), np.log(value) / 2 - entropy_of(scores, temperature))
    return likely(scores, temperature, limit, min_keep, ties=ties)


def top_a(scores: Scores, temperature: float, a: float, *, min_keep: int = 1) -> Keep:
    """Keep chances of at least a times the square of the best (KoboldAI).

    .6 * .5^2 = .15:

    >>> top_a(np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32)), 1.0, 0.6)
    array([ True,  True, False, False])
    """
    limit = np.log(a) - 2 * log_mass(scores, temperature)
    return likely(scores, temperature, limit, min_keep)


def p_less(scores: Scores, temperature: float, order: float = 2.0, *, min_keep: int = 1) -> Keep:
    """Keep chances of at least (sum P^q)^(1/(q-1)), q the order (arXiv 2509.23234).

    At order 2 the limit is the chance that two draws agree: .25 + .0625 + .0625 = .375.

    >>> p_less(np.log(np.array([0.5, 0.25, 0.25], np.float32)), 1.0)
    array([ True, False, False])
    """
    # weights to the power of q are weights at the temperature T / q
    limit = (log_mass(scores, temperature / order) - order * log_mass(scores, temperature)) / (order - 1)
    return likely(scores, temperature, limit, min_keep)


def min_k(scores: Scores, temperature: float, tau: float, *, min_keep: int = 1) -> Keep:
    """Keep k candidates: those before the steepest drop per rank, or floor(tau / range) where that is more.

    Scores best first; the drop before rank i >= 1 is (x[i-1] - x[i]) / (i * range), the first of equal drops counts;
    the range is that of x / T (arXiv 2604.11012). A range of 0 cuts nothing.

    Drops .2, 3.8/2, 1/3; then 1, 1.8/2, 2.2/3, where only the rank makes the first the steepest:

    >>> min_k(np.array([5, 4.8, 1, 0], np.float32), 1.0, 0.0)
    array([ True,  True, False, False])
    >>> min_k(np.array([5, 4, 2.2, 0], np.float32), 1.0, 0.0)
    array([ True, False, False, False])

    At T = 2 the range of 5 is 2.5, and 5.0 over it is 2:

    >>> min_k(np.array([5, 4, 2.2, 0], np.float32), 2.0, 5.0)
    array([ True,  True, False, False])
    """
    order = best_first(scores)
    x = scores[order].astype(np.float64)
    if x[0] == x[-1]:
        return scores > -np.inf
    steepest = int(np.argmax((x[:-1] - x[1:]) / np.arange(1, len(x)))) + 1
    floor = int(min(tau * temperature / (x[0] - x[-1]) / MET, len(x)))
    return prefix(scores, order, max(steepest, floor), min_keep)


def top_n_sigma(scores: Scores, _temperature: float, n: float, *, min_keep: int = 1) -> Keep:
    """Keep scores no further than n population deviations below the best (arXiv 2411.07641).

    The deviation of 2 and 0 is 1:

    >>> top_n_sigma(np.array([2, 0, -np.inf], np.float32), 1.0, 1.9)
    array([ True, False, False])
    """
    finite = scores[scores > -np.inf].astype(np.float64)
    reach = n * float(finite.std())
    return at_least(scores, float(finite.max()) - scores.astype(np.float64) <= reach / MET, min_keep)


def tfs(scores: Scores, temperature: float, z: float, *, min_keep: int = 1) -> Keep:
    """Tail-free: keep token i while the bends up to it sum to at most z of all bends; the last goes.

    By Phénix and Egan, 2019.

    Chances best first; the bend |p[i] - 2 p[i+1] + p[i+2]| belongs to token i + 1; token 0 stays. z = 1, two
    candidates, or no bend at all cut nothing.

    Bends .15 .02 .04, so .71 up to the second:

    >>> tfs(np.log(np.array([0.5, 0.25, 0.15, 0.07, 0.03], np.float32)), 1.0, 0.75)
    array([ True,  True, False, False, False])

    Bends -.05 .10 .00, of which the first is a third of all and not less than nothing:

    >>> tfs(np.log(np.array([0.4, 0.3, 0.15, 0.1, 0.05], np.float32)), 1.0, 0.2)
    array([ True, False, False, False, False])
    """
    order = best_first(scores)
    p = chances(scores, temperature)[order]
    bends = np.abs(p[:-2] - 2 * p[1:-1] + p[2:])
    if z >= 1 or not bends.any():
        return scores > -np.inf
    reached = np.cumsum(bends) / bends.sum()
    return prefix(scores, order, 1 + int((reached * MET <= z).sum()), min_keep)


def top_h(scores: Scores, temperature: float, share: float, *, min_keep: int = 1, whole: bool = False) -> Keep:
    """Keep the longest prefix, best first, whose entropy is at most `share` of the entropy of all (arXiv 2509.02510).

    The entropy of a prefix is that of its own distribution, renormalised; with `whole` it is the sum of its terms in
    the distribution of all, and all are the best hundred (transformers). A share of 1 cuts nothing; below it, what is
    too unlikely to have a weight goes.

    Of .4 .3 .2 .1 (1.28 nats, of which .55 is .70) the first two, renormalised, hold .68:

    >>> top_h(np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), 1.0, 0.55)
    array([ True,  True, False, False])
    """
    if share >= 1 and not whole:
        return scores > -np.inf
    if whole:
        scores = np.where(top_k(scores, temperature, max(100, min_keep)), scores, np.float32(-np.inf))
    order = best_first(scores)
    p = chances(scores, temperature)[order]
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
    """Exclude top choices: of the chances of at least `threshold`, keep only the least (text-generation-webui 6335).

    A threshold above 1/2, or a single likely candidate, excludes nothing. Of equals at the least the lowest id stays.
    A protected id counts as likely and is never excluded. With `or_nothing`, to leave fewer than `min_keep` is to do
    nothing.

    >>> xtc(np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32)), 1.0, 0.1)
    array([False, False,  True,  True])
    """
    keep = scores > -np.inf
    ids = np.flatnonzero(keep & (log_chances(scores, temperature) >= np.log(threshold * MET)))
    if threshold > 0.5 or len(ids) < 2:  # noqa: PLR2004 - a half and two are the definition
        return keep
    least = ids[np.argmin(scores[ids])]  # argmin: the first of equals
    left = keep.copy()
    left[[i for i in ids if i != least and i not in protect]] = False
    if or_nothing and int(left.sum()) < min_keep:
        return keep
    return at_least(scores, left, min_keep)


def reaching(mass: Floats, goal: float, *, exceed: bool = False) -> int:
    """How many of the masses, from the front, it takes to reach the goal, or to exceed it.

    >>> reaching(np.array([0.5, 0.25, 0.25]), 0.75), reaching(np.array([0.5, 0.25, 0.25]), 0.75, exceed=True)
    (2, 3)
    """
    cumulative = np.cumsum(mass)
    short = cumulative <= goal / MET if exceed else cumulative < goal * MET
    return int(short.sum()) + 1


def likely(scores: Scores, temperature: float, log_limit: float, min_keep: int, *, ties: bool = False) -> Keep:
    """Keep chances whose logarithm is at least `log_limit`; `ties` as in `at_least`."""
    return at_least(scores, log_chances(scores, temperature) >= log_limit + np.log(MET), min_keep, ties=ties)


def prefix(scores: Scores, order: NDArray[np.intp], count: int, min_keep: int) -> Keep:
    """Keep the first `count` of the order, and no fewer than `min_keep`."""
    keep = np.zeros(len(scores), np.bool_)
    keep[order[: max(count, min_keep)]] = True
    return keep


def at_least(scores: Scores, keep: Keep, min_keep: int, *, ties: bool = False) -> Keep:
    """Return `keep`, or the best `min_keep` candidates where that is fewer; `ties`: and all that equal the last."""
    if int(keep.sum()) >= min(min_keep, int((scores > -np.inf).sum())):
        return keep
    return top_k(scores, 1.0, min_keep, ties=ties)
