"""NumPy by someone who measures: partitions instead of sorts, buffers reused, float32, no more passes than needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from table import Task

    Row = npt.NDArray[np.float32]
    Ids = npt.NDArray[np.intp]

VERSION = f"NumPy {np.__version__}"
OWN_COIN = False


def prepare(task: Task) -> Callable[[], Any]:
    """A call that does the work, and returns the answer."""
    x, buffer = task.x, np.empty(task.vocab, np.float32)
    match task.operation.name:
        case "argmax":
            row = x[0]
            return (lambda: [row.argmax()]) if task.rows == 1 else lambda: x.argmax(axis=1)
        case "softmax":
            out = np.empty_like(x)
            return lambda: softmax(x, out)
        case "top_k=50":
            return lambda: tuple(np.stack(part) for part in zip(*(top_k(row, 50) for row in x), strict=True))
    pick = _picker(task, buffer)
    return lambda: [pick(row, coin) for row, coin in zip(x, task.coins, strict=True)]


def _picker(task: Task, buffer: Row) -> Callable[[Row, float], int]:
    params = task.params
    temperature, p = params.get("temperature", 1.0), params.get("top_p", 1.0)
    floor = math.log(params["min_p"]) if "min_p" in params else -math.inf
    penalty, seen = params.get("repetition_penalty"), task.seen

    def whole(row: Row, coin: float) -> int:
        return draw_scaled(row, temperature, coin, buffer)

    def above(row: Row, coin: float) -> int:
        ids = np.flatnonzero(row >= row.max() + floor)
        return int(ids[draw(row[ids], coin)])

    def nucleus(row: Row, coin: float) -> int:
        return draw_nucleus(row, p, coin, buffer)

    def few(row: Row, coin: float) -> int:
        if penalty is not None:
            np.copyto(buffer, row)
            part = row[seen]
            buffer[seen] = np.where(part < 0, part * penalty, part / penalty)
            row = buffer
        scores, ids = top_k(row, params["top_k"])
        scores = (scores - scores[0]) / temperature
        weights = np.exp(scores)
        sums = weights.cumsum()
        kept = np.searchsorted(sums, p * sums[-1]) + 1
        kept = min(kept, np.count_nonzero(scores >= floor))
        order = ids[:kept].argsort()
        return int(ids[order[draw_weights(weights[order], coin)]])

    return few if "top_k" in params else nucleus if "top_p" in params else above if "min_p" in params else whole


def softmax(x: Row, out: Row) -> Row:
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.multiply(out, 1 / out.sum(axis=1, keepdims=True), out=out)
    return out


def top_k(row: Row, k: int) -> tuple[Row, Ids]:
    """A bound by the best of every column of a table, then few candidates."""
    width = 128
    table = row[: row.size - row.size % width].reshape(-1, width)
    maxima = table.max(axis=0) if row.size > 2**16 else table.max(axis=1)
    bound = np.partition(maxima, maxima.size - k)[maxima.size - k]
    ids = np.flatnonzero(row >= bound)
    order = np.argsort(-row[ids], kind="stable")[:k]
    ids = ids[order]
    return row[ids], ids


def draw(scores: Row, coin: float) -> int:
    return draw_weights(np.exp(scores - scores.max()), coin)


def draw_weights(weights: Row, coin: float) -> int:
    sums = weights.cumsum(dtype=np.float64)
    return int(np.searchsorted(sums, coin * sums[-1], side="right"))


def draw_scaled(row: Row, temperature: float, coin: float, buffer: Row) -> int:
    """Sums of blocks by a reduction, which is faster than a cumulative sum of the row."""
    np.subtract(row, row.max(), out=buffer)
    np.multiply(buffer, np.float32(1 / temperature), out=buffer)
    np.exp(buffer, out=buffer)
    return draw_blocks(buffer, coin)


def draw_blocks(weights: Row, coin: float) -> int:
    starts = np.arange(0, weights.size, 512)
    sums = np.add.reduceat(weights, starts).cumsum(dtype=np.float64)
    target = coin * sums[-1]
    block = int(np.searchsorted(sums, target, side="right"))
    start = block * 512
    part = weights[start : start + 512].cumsum(dtype=np.float64)
    target -= sums[block - 1] if block else 0.0
    return start + min(int(np.searchsorted(part, target, side="right")), part.size - 1)


def draw_nucleus(row: Row, p: float, coin: float, buffer: Row) -> int:
    """The head if it holds the mass, else all in order."""
    best = row.max()
    np.subtract(row, best, out=buffer)
    np.exp(buffer, out=buffer)
    needed = p * float(buffer.sum())
    ids = np.flatnonzero(row >= best - 8)
    weights = buffer[ids]
    if float(weights.sum()) < needed:
        ids, weights = np.arange(row.size), buffer
    ordered = np.sort(weights)[::-1]
    floor = ordered[min(np.searchsorted(ordered.cumsum(dtype=np.float64), needed), ordered.size - 1)]
    kept = weights >= floor
    ids = ids[kept]
    return int(ids[draw_weights(weights[kept], coin)])
