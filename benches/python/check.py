"""Whether an answer is right, by the float64 reference. A rival that errs is not timed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import reference
from sortition.reference.weights import weights

if TYPE_CHECKING:
    from table import Task

NEAR = 1e-4  # of a probability: float32 sums may put the coin, or the edge of a nucleus, on either side of a token


class Wrong(AssertionError):
    """An answer that the reference does not give."""


def check(task: Task, answer: Any, *, own_coin: bool) -> None:
    """Raises `Wrong`. Of a rival that throws its own coin only the set that it draws from is known."""
    name = task.operation.name
    if name == "argmax":
        expect("argmax", reference.argmax(task.x), answer)
    elif name == "softmax":
        for row, probabilities in zip(task.x[:4], answer, strict=False):
            if not np.allclose(probabilities, reference.softmax(row), rtol=1e-4, atol=1e-12):
                raise Wrong(name)
    elif name == "top_k=50":
        values, ids = answer
        expect("values", reference.top_k(task.x, 50)[0], values)
        expect("ids", values, np.take_along_axis(task.x, np.asarray(ids, np.int64), axis=1))
    else:
        for row, token in enumerate(np.asarray(answer)[:4]):
            check_draw(task, row, int(token), own_coin=own_coin)


def expect(name: str, expected: Any, got: Any) -> None:
    """Equal to the last bit."""
    if not np.array_equal(expected, np.asarray(got)):
        raise Wrong(name)


def check_draw(task: Task, row: int, token: int, *, own_coin: bool) -> None:
    """A token that is kept, and that the coin falls on."""
    mass, before, total = distribution(task, row)
    if mass[token] == 0.0 and token not in neighbours(task, row):
        msg = f"row {row}: token {token} is not kept"
        raise Wrong(msg)
    target = task.coins[row] * total
    if not own_coin and not before[token] - NEAR * total <= target <= before[token] + mass[token] + NEAR * total:
        msg = f"row {row}: the coin does not fall on token {token}"
        raise Wrong(msg)


def neighbours(task: Task, row: int) -> set[int]:
    """Tokens that one more rounding would have kept: those next below the last one of a nucleus."""
    mass, _, total = distribution(task, row)
    scores = np.where(mass > 0, -np.inf, task.x[row])
    return {int(scores.argmax())} if mass[mass > 0].min() < NEAR * total else set()


def distribution(task: Task, row: int) -> tuple[Any, Any, float]:
    """The weight of every token after all stages, the sum of those before it, and the sum of all."""
    return _distribution(task.x[row].tobytes(), tuple(task.params.items()), task.seen.tobytes())


@lru_cache(maxsize=16)
def _distribution(scores: bytes, params: tuple[tuple[str, Any], ...], seen: bytes) -> tuple[Any, Any, float]:
    row = np.frombuffer(scores, np.float32)
    processed = reference.process(row, dict(params), prompt=np.frombuffer(seen, np.int64).tolist())
    mass = weights(processed).astype(np.float64)
    sums = np.cumsum(mass)
    return mass, sums - mass, float(sums[-1])
