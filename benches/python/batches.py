"""Many sequences in one call: what the call costs, and what a second thread brings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import rows as scores
import sortition
from measure import race

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, SMALL, VOCAB = 64, 32, 151_936
PROMPT = range(1_000)
MIXED: tuple[dict[str, Any], ...] = (
    {"temperature": 0},
    {"temperature": 0.8},
    {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
    {"top_p": 0.95},
    {"temperature": 1.2, "min_p": 0.05},
    {"temperature": 0.8, "repetition_penalty": 1.1, "top_k": 50, "top_p": 0.95, "min_p": 0.05},
    {"mirostat": 2},
    {"temperature": 0.7, "frequency_penalty": 0.3, "presence_penalty": 0.2},
)


def batches() -> list[tuple[str, str, str]]:
    """What, how much, and the goal."""
    small = np.random.default_rng(0).standard_normal((ROWS, SMALL), np.float32)
    mixed = batch(scores.rows("real", ROWS, VOCAB), MIXED)
    entries = {"small": batch(small, MIXED[:1])}
    entries |= {str(threads): partial(on, threads, mixed) for threads in (1, 2)}
    seconds = race(entries)
    name = f"`sample_batch`, {ROWS} rows"
    return [
        (f"{name} of {SMALL} scores, greedy", f"{1e6 * seconds['small']:.1f} µs", f"{2 + 0.15 * ROWS:.1f} µs"),
        (f"{name} of {VOCAB:,} real scores, mixed parameters", f"{1e3 * seconds['1']:.2f} ms", ""),
        ("the same on two threads", f"{seconds['1'] / seconds['2']:.2f} times as fast", "1.8"),
    ]


def batch(x: Any, kinds: tuple[dict[str, Any], ...]) -> Callable[[], Any]:
    """A call that draws a token for each row."""
    params = [sortition.SamplingParams(**kinds[row % len(kinds)], seed=row) for row in range(len(x))]
    samplers = [sortition.Sampler(one, PROMPT) for one in params]
    return partial(sortition.sample_batch, x, samplers)


def on(threads: int, call: Callable[[], Any]) -> None:
    """The call on so many threads; on one again after it."""
    sortition.set_num_threads(threads)
    call()
    sortition.set_num_threads(1)
