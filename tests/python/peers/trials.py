"""A trial: one set of stages, some thousand random rows, this package beside a peer.

Equal means: the same tokens are left, and every probability agrees within 1e-6 (2e-5 for dynamic temperature and
adaptive-p). Where scores are tied, stacks may choose different ones of equals; then as many must be left, with the same
probabilities.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from peers.rows import Row, distribution, is_on_an_edge, random_row
from peers.stages import STAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

__all__ = ["Counts", "Peer", "close", "count", "tolerance", "trial"]

Params = dict[str, Any]


def tolerance(params: Params) -> float:
    """Of a probability; coarse where llama.cpp makes a temperature or scores of what it adds up in float32."""
    return 1e-6 if params.get("dynatemp_range") is None and params.get("adaptive_target") is None else 2e-5


class Peer(Protocol):
    """Another implementation, asked in the words of this package."""

    profile: str

    def probabilities(self, params: Params, row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
        """What it leaves of the row; 0 where a token was removed."""

    def can(self, params: Params, row: Row) -> bool:
        """False where a named difference is known to show; those have tests of their own."""


@dataclass
class Counts:
    """What became of the rows of a trial."""

    rows: int = 0
    equal: int = 0
    tied: int = 0
    edge: int = 0
    worst: float = 0.0
    different: list[str] = field(default_factory=list)


def close(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float | None:
    """The largest difference of two distributions, or `None` if not the same tokens are left."""
    return float(np.abs(ours - theirs).max()) if np.array_equal(ours > 0, theirs > 0) else None


def combined(names: Sequence[str], rng: Generator, row: Row) -> Params:
    """Two or more stages at once, at random."""
    params: Params = {}
    for name in rng.choice(names, size=int(rng.integers(2, len(names) + 1)), replace=False):
        params |= STAGES[name](rng, row)
    return params


def trial(peer: Peer, stage: str, names: Sequence[str], rows: int) -> Counts:
    """So many rows of one stage, or of combinations of those of these names."""
    rng = np.random.default_rng(zlib.crc32(f"{peer.profile} {stage}".encode()))
    counts = Counts()
    while counts.rows < rows:
        row = random_row(rng)
        params = STAGES[stage](rng, row) if stage in STAGES else combined(names, rng, row)
        stop_tokens = [0, 1]
        if not peer.can(params, row) or not survives(params, row, stop_tokens):
            continue
        counts.rows += 1
        if is_on_an_edge(peer.profile, params, row, stop_tokens, rng):
            counts.edge += 1
            continue
        record(counts, peer, params, row, stop_tokens)
    return counts


def survives(params: Params, row: Row, stop_tokens: list[int]) -> bool:
    """Whether the hard rules leave a candidate: without one, there is nothing to compare."""
    left = row.scores > -np.inf
    left[params.get("suppress", [])] = False
    if params.get("min_tokens", 0) > len(row.output):
        left[stop_tokens] = False
    if "allowed_ids" in params:
        left &= np.isin(np.arange(len(left)), params["allowed_ids"])
    for *_, last in params.get("bad_words", []):
        left[last] = False
    if "no_repeat_ngram" in params:
        left[np.unique(row.prompt + row.output).astype(int)] = False
    return bool(left.any())


def record(counts: Counts, peer: Peer, params: Params, row: Row, stop_tokens: list[int]) -> None:
    """Ask both and count."""
    ours = distribution(peer.profile, params, row, stop_tokens)
    count(counts, ours, peer.probabilities(params, row, stop_tokens), tied=row.tied, params=params)


def count(
    counts: Counts, ours: NDArray[np.float64], theirs: NDArray[np.float64], *, tied: bool, params: Params
) -> None:
    """Equal, equal but for the choice among ties, or different."""
    allowed = tolerance(params)
    if (worst := close(ours, theirs)) is not None and worst <= allowed:
        counts.equal += 1
        counts.worst = max(counts.worst, worst)
    elif tied and (worst := close(np.sort(ours), np.sort(theirs))) is not None and worst <= allowed:
        counts.tied += 1
    else:
        kept = f"{int((ours > 0).sum())} and {int((theirs > 0).sum())} of {len(ours)} tokens left"
        counts.different.append(f"{params}: {kept}, probabilities apart by {np.abs(ours - theirs).max():.2g}")
