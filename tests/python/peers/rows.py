"""Random rows, and which of them a rounding error could decide.

The peers compute in float32. Where a limit falls between two candidates that differ by less than that resolves, the
kept set is an accident, so such a row proves nothing. Whether it is one is asked before any peer is: every limit is
moved by a little to either side, the scores are shaken by as much, and the kept set must be the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import Sampler, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

__all__ = ["Row", "distribution", "is_on_an_edge", "random_row"]

MARGIN = 2e-5  # some hundred roundings of a float32; more over a large vocabulary, where llama.cpp adds one by one
LIMITS = ("top_n_sigma", "typical_p", "top_p", "min_p", "epsilon", "eta", "top_h", "xtc_threshold")
LARGEST = {"typical_p": 1.0, "top_p": 1.0, "min_p": 1.0, "xtc_threshold": 0.5}


@dataclass(frozen=True)
class Row:
    """Scores, and the tokens before them."""

    scores: NDArray[np.float32]
    prompt: list[int]
    output: list[int]
    tied: bool
    masked: bool


def random_row(rng: Generator, *, masked: bool = True) -> Row:
    """Of some vocabulary: bell-shaped, sharp or flat; some with many equal scores, some with masked tokens."""
    vocabulary = int(rng.choice([7, 40, 300, 2500, 32000], p=[0.2, 0.3, 0.27, 0.2, 0.03]))
    scores = rng.normal(0, rng.choice([0.3, 1.5, 3.0]), vocabulary)
    scores[rng.integers(vocabulary)] += rng.choice([0.0, 3.0])
    tied = bool(rng.random() < 0.2)
    if tied:
        scores = np.round(scores * 4) / 4
    masked = bool(masked and rng.random() < 0.2)
    if masked:
        out = rng.random(vocabulary) < 0.4
        out[rng.integers(vocabulary)] = False
        scores[out] = -np.inf
    few = min(vocabulary, int(rng.choice([4, 60])))
    prompt, output = (rng.integers(0, few, rng.integers(1, 40)).tolist() for _ in range(2))
    return Row(scores.astype(np.float32), prompt, output, tied, masked)


def distribution(profile: str, params: Mapping[str, Any], row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
    """What this package leaves of a row, as probabilities."""
    sampler = Sampler(SamplingParams.profile(profile, **params), row.prompt, stop_tokens=stop_tokens)
    for token in row.output:
        sampler.accept(token)
    return softmax(sampler.process(row.scores))


def softmax(scores: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """In float64."""
    weights = np.exp(scores.astype(np.float64) - float(np.max(scores)))
    return np.asarray(weights / weights.sum(), np.float64)


def is_on_an_edge(profile: str, params: Mapping[str, Any], row: Row, stop_tokens: list[int], rng: Generator) -> bool:
    """Whether the kept set changes when a limit or the scores move by a little."""
    kept = distribution(profile, params, row, stop_tokens) > 0
    return any(
        not np.array_equal(kept, distribution(profile, moved, shaken, stop_tokens) > 0)
        for moved, shaken in neighbours(params, row, kept, rng)
    )


def neighbours(
    params: Mapping[str, Any], row: Row, kept: NDArray[np.bool_], rng: Generator
) -> Iterator[tuple[Mapping[str, Any], Row]]:
    """The same with one limit moved; with the better half of the kept moved against the other; with all scores shaken.

    Equal scores stay equal. The second is for typical, where the best and the worst of the kept compete. Scores are
    shaken at random, and every second one against its neighbours.
    """
    margin = MARGIN * max(1.0, len(row.scores) / 2500)
    for name in LIMITS:
        if params.get(name):
            for factor in (1 - margin, 1 + margin):
                yield {**params, name: min(params[name] * factor, LARGEST.get(name, np.inf))}, row
    values, place = np.unique(row.scores, return_inverse=True)
    upper = values > (row.scores[kept].max() + row.scores[kept].min()) / 2
    turns = np.arange(len(values)) % 2 * 2 - 1
    shifts = [upper * 1.0, upper * -1.0, *(rng.choice([-1, 1], len(values)) for _ in range(4)), turns, -turns]
    for shift in shifts:
        yield params, replace(row, scores=(row.scores + 2 * margin * shift[place]).astype(np.float32))
