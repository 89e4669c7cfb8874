"""NumPy as tutorials have it: softmax, sort, cumulative sum, mask, `choice`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from table import Task

VERSION = f"NumPy {np.__version__}"
OWN_COIN = True


def prepare(task: Task) -> Callable[[], Any]:
    """A call that does the work, and returns the answer."""
    x = task.x
    match task.operation.name:
        case "argmax":
            return (lambda: [np.argmax(x[0])]) if task.rows == 1 else lambda: np.argmax(x, axis=1)
        case "softmax":
            return lambda: softmax(x)
        case "top_k=50":

            def top_k() -> Any:
                ids = np.argsort(-x, axis=1)[:, :50]
                return np.take_along_axis(x, ids, axis=1), ids

            return top_k
    rng = np.random.default_rng(0)
    seen = task.seen if "repetition_penalty" in task.params else None
    return lambda: [sample(row.copy(), rng, seen, **task.params) for row in x]


def softmax(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def sample(
    scores: npt.NDArray[np.float32],
    rng: np.random.Generator,
    seen: npt.NDArray[np.int64] | None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
) -> int:
    if seen is not None:
        part = scores[seen]
        scores[seen] = np.where(part < 0, part * repetition_penalty, part / repetition_penalty)
    scores /= temperature
    if top_k is not None:
        scores[scores < np.sort(scores)[-top_k]] = -np.inf
    if top_p is not None:
        order = np.argsort(scores)[::-1]
        sums = np.cumsum(softmax(scores[order]))
        scores[order[1:][sums[:-1] >= top_p]] = -np.inf
    probabilities = softmax(scores)
    if min_p is not None:
        probabilities[probabilities < min_p * probabilities.max()] = 0
    probabilities = probabilities.astype(np.float64)
    return int(rng.choice(len(probabilities), p=probabilities / probabilities.sum()))
