"""A trial of the policies that draw by themselves: walks on which this package goes where llama.cpp goes.

llama.cpp draws a token with coins of its own. Of many forks of this package's sampler one that draws the same goes on,
so that both remember the same. Before every token the same candidates must be left, with the same probabilities, and
for mirostat with the same mu. Every token of a walk counts as a row.
"""

from __future__ import annotations

import zlib
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from peers.rows import MARGIN, Row, random_row, softmax
from peers.trials import Counts, count
from sortition import Sampler, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

__all__ = ["POLICIES", "walks"]

STEPS = 12
FORKS = 400  # a token that none of them draws ends the walk
FIT = 100  # mirostat 1 looks at that many of the best
COUNTABLE = 2.0**31  # what an int holds, which is what llama.cpp makes of its count


def steering(rng: Generator, version: int) -> dict[str, Any]:
    """Parameters of mirostat."""
    return {
        "mirostat": version,
        "mirostat_tau": round(float(rng.uniform(0.3, 5)), 3),
        "mirostat_eta": round(float(rng.uniform(0.05, 0.9)), 3),
        "temperature": float(rng.choice([0.7, 1.0, 1.5])),
    }


def preference(rng: Generator) -> dict[str, Any]:
    """Parameters of adaptive-p, behind a cut as often as not."""
    cut = {"min_p": round(float(rng.uniform(0.01, 0.2)), 3)} if rng.random() < 0.5 else {}
    return {
        "adaptive_target": round(float(rng.uniform(0.05, 0.95)), 3),
        "adaptive_decay": round(float(rng.uniform(0, 0.98)), 3),
        "temperature": float(rng.choice([0.7, 1.0, 1.5])),
        **cut,
    }


POLICIES: dict[str, Callable[[Generator], dict[str, Any]]] = {
    "mirostat_1": lambda rng: steering(rng, 1),
    "mirostat_2": lambda rng: steering(rng, 2),
    "adaptive_p": preference,
}


def walks(stage: str, rows: int) -> Counts:
    """So many tokens, each before the next of its walk."""
    rng = np.random.default_rng(zlib.crc32(stage.encode()))
    counts = Counts()
    while counts.rows < rows:
        walk(counts, POLICIES[stage](rng), random_row(rng, masked=False), rng, rows)
    return counts


def walk(counts: Counts, params: dict[str, Any], row: Row, rng: Generator, rows: int) -> None:
    """Up to the first row that rounding decides, or that leads elsewhere."""
    from peers.llama_cpp_peer import Walker

    seed = int(rng.integers(2**31))
    sampler = Sampler(SamplingParams.profile("llama.cpp", **params, seed=seed))
    with closing(Walker(params, len(row.scores), seed)) as peer:
        for _ in range(min(STEPS, rows - counts.rows)):
            mu = bound(sampler, row.scores)
            if not known(params, row.scores, mu):
                return
            counts.rows += 1
            if edge(params, row.scores, mu):
                counts.edge += 1
                return
            ours, theirs_mu = softmax(sampler.process(row.scores)), peer.mu()
            token, theirs = peer.draw(row.scores)
            count(counts, ours, theirs, tied=row.tied, params={**params, "mu": mu})
            if mu is not None and abs(mu - theirs_mu) > 1e-5 * max(1.0, abs(mu)):
                counts.different.append(f"{params}: mu {mu} and {theirs_mu}")
            followers = (fork for fork in sampler.fork(FORKS) if ours[token] > 0 and fork.sample(row.scores) == token)
            follower = next(followers, None)
            if follower is None:
                return
            sampler, row = follower, replace(row, scores=rng.permutation(row.scores))


def bound(sampler: Sampler, scores: NDArray[np.float32]) -> float | None:
    """Mu, as a record of the next draw says it."""
    (fork,) = sampler.fork(1)
    trace = fork.draw(scores, trace=True).trace
    assert trace is not None
    last = trace.steps[-1]
    return last.limit if last.stage == "mirostat" else None


def known(params: dict[str, Any], scores: NDArray[np.float32], mu: float | None) -> bool:
    """False where mirostat 1 is known to differ: a count that no int holds, which `test_peers_differences` shows."""
    return params.get("mirostat") != 1 or ranked(surprises(params, scores), mu or 0.0, len(scores)) < COUNTABLE / 2


def edge(params: dict[str, Any], scores: NDArray[np.float32], mu: float | None) -> bool:
    """Whether another number is kept when the limit moves by a little."""
    margin = MARGIN * max(1.0, len(scores) / 2500)
    if mu is None:
        p = softmax(scores)  # llama.cpp cuts before the temperature
        limit = params.get("min_p", 0.0) * p.max()
        return len({int((p >= limit * by).sum()) for by in (1 - margin, 1 + margin)}) > 1
    bits = surprises(params, scores)
    if params["mirostat"] == 2:
        moved = margin * max(1.0, abs(mu))
        return len({int((bits <= mu + by).sum()) for by in (-moved, moved)}) > 1
    kept = {int(min(ranked(bits, mu, len(scores), by), len(scores))) for by in (1 - margin, 1, 1 + margin)}
    return len(kept) > 1


def surprises(params: dict[str, Any], scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """In bits, the least first."""
    return np.sort(-np.log2(softmax(scores / np.float32(params["temperature"]))))


def ranked(bits: NDArray[np.float64], mu: float, vocabulary: int, by: float = 1.0) -> float:
    """How many mirostat 1 keeps, not rounded; with its slope moved by a factor (arXiv 2007.14966)."""
    falls = [(np.log((rank + 1) / rank), (b - a) * np.log(2)) for rank, (a, b) in enumerate(pairwise(bits[:FIT]), 1)]
    slope = by * sum(t * fall for t, fall in falls) / sum(t * t for t, _ in falls)
    if slope <= 0:
        return np.inf
    excess = slope - 1
    with np.errstate(over="ignore"):
        return float((excess * 2**mu / (1 - np.float64(vocabulary) ** -excess)) ** (1 / slope))
