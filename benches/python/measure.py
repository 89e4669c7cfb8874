"""Times calls beside each other, on a machine that may be doing other things.

All entries of a case run in one process, in turn, for several rounds. In its turn an entry is called once for the
caches and then timed many times; the least counts, as everything else that runs can only add. The median of the rounds
is the result. Ratios between entries of one case are what to read; microseconds are those of the day.
"""

from __future__ import annotations

import statistics
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SAMPLE = 50e-6  # seconds that one reading of the clock should span
TURN = 2e-3  # seconds of a turn
SLOW = 50e-3  # a call that takes longer is timed once a turn
ENDLESS = 0.5  # and one that takes this long, once


def race(entries: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Seconds of a call, by entry."""
    single = {name: _timed(call, 1) for name, call in entries.items()}
    minima: dict[str, list[float]] = {name: [seconds] if seconds > ENDLESS else [] for name, seconds in single.items()}
    for number in range(rounds):
        for name, call in entries.items():
            if single[name] <= ENDLESS and (number < 3 or single[name] <= SLOW):
                minima[name].append(turn(call))
    return {name: statistics.median(found) for name, found in minima.items()}


def turn(call: Callable[[], Any]) -> float:
    """Seconds of a call, the least of a turn."""
    once = _timed(call, 1)
    if once > SLOW:
        return once
    count = max(1, int(SAMPLE / once))
    least = min(_timed(call, count) for _ in range(3))
    end = perf_counter() + TURN
    while perf_counter() < end:
        least = min(least, _timed(call, count))
    return least


def _timed(call: Callable[[], Any], count: int) -> float:
    start = perf_counter()
    for _ in repeat(None, count):
        call()
    return (perf_counter() - start) / count
