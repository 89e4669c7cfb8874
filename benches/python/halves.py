"""What half precision costs beside single, where memory is what is waited for: 64 rows of the same numbers in turn."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from check import check
from measure import race
from rivals import sortition_ as ours
from table import OPERATIONS, SHOWN, Case, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HALVES = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "float16": np.dtype(np.float16)}
ROWS = 64
GOAL = 0.6
#: These exponentiate the vocabulary, and wait for that more than for memory.
WITHOUT_GOAL = {"softmax", "temperature=0.8", "top_p=0.95"}


def halves(rounds: int) -> Iterator[tuple[str, dict[str, tuple[float, float]], float | None]]:
    """An operation on real scores; by type, seconds of a row as float32 and as that type; the goal of their ratio."""
    for name, operation in OPERATIONS.items():
        task = Task.of(Case(operation, SHOWN, "real", ROWS))
        seconds = {half: pair(task, dtype, rounds) for half, dtype in HALVES.items()}
        yield operation.title, seconds, None if name in WITHOUT_GOAL else GOAL


def pair(task: Task, dtype: np.dtype[Any], rounds: int) -> tuple[float, float]:
    """Seconds of a row, of numbers that the type has, as float32 and as that type. Both answers are checked."""
    half = task.x.astype(dtype)
    task = dataclasses.replace(task, x=half.astype(np.float32))
    calls = {"single": prepared(task, task.x), "half": prepared(task, half)}
    seconds = race(calls, rounds)
    return seconds["single"] / task.rows, seconds["half"] / task.rows


def prepared(task: Task, x: Any) -> Callable[[], Any]:
    """Our call on these rows, which gives what the task asks for."""
    call = ours.prepare(dataclasses.replace(task, x=x))
    check(task, call(), own_coin=False)
    return call
