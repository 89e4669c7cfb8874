"""Rows of scores of three kinds, the same on every machine.

flat
    Independent normal scores, deviation 1: the nucleus of .9 is 61 % of the vocabulary.
peaked
    The same with twenty scores lifted to 16.0, 15.4, … 4.6, at random places: a few tokens hold nearly all of the mass.
real
    What SmolLM2-135M says after four beginnings (`benches/data/`, made by `benches/python/record.py`), its 49,152
    scores kept in half precision. That rounding makes equal scores where the model had none, so a fixed noise of less
    than half a unit in the last place is added back. For a smaller vocabulary, the best thousand and a random part of
    the others are taken; for a larger one, the others (not the best thousand) are drawn from again and put behind, so
    that the head of the distribution stays the model's.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Rows = npt.NDArray[np.float32]

RECORDED = Path(__file__).parents[1] / "data" / "smollm2.npz"
HEAD = 1_000
LIFTED = 16.0 - 0.6 * np.arange(20)


@lru_cache(maxsize=2)
def rows(kind: str, count: int, vocab: int) -> Rows:
    """`count` rows of `vocab` scores, in an array as NumPy allocates it."""
    maker = {"flat": _flat, "peaked": _peaked, "real": _real}[kind]
    return np.stack([maker(np.random.default_rng((row, vocab)), row, vocab) for row in range(count)])


def _flat(rng: np.random.Generator, row: int, vocab: int) -> Rows:  # noqa: ARG001 - one signature
    return rng.standard_normal(vocab, np.float32)


def _peaked(rng: np.random.Generator, row: int, vocab: int) -> Rows:
    scores = _flat(rng, row, vocab)
    scores[rng.choice(vocab, len(LIFTED), replace=False)] = LIFTED
    return scores


def _real(rng: np.random.Generator, row: int, vocab: int) -> Rows:
    recorded = _recorded()
    scores = recorded[row % len(recorded)]
    order = np.argsort(-scores, kind="stable")
    body = order[HEAD:]
    if vocab < len(scores):
        kept = np.sort(np.concatenate([order[:HEAD], rng.choice(body, vocab - HEAD, replace=False)]))
        return scores[kept]
    return np.concatenate([scores, scores[rng.choice(body, vocab - len(scores))]])


@lru_cache(maxsize=1)
def _recorded() -> Rows:
    with np.load(RECORDED) as file:
        halves = file["scores"]
    scores = halves.astype(np.float32)
    noise = np.random.default_rng(0).uniform(-0.49, 0.49, scores.shape)
    return scores + (noise * np.spacing(np.abs(halves)).astype(np.float32)).astype(np.float32)
