"""torch on one thread, the rows as one batch, written as its users write it; tensors share the memory of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"torch {torch.__version__}"
OWN_COIN = True

torch.set_num_threads(1)


def prepare(task: Task) -> Callable[[], Any]:
    """A call that does the work, and returns the answer."""
    x, params = torch.from_numpy(task.x), task.params
    match task.operation.name:
        case "argmax":
            row = x[0]
            return unrecorded((lambda: [row.argmax().item()]) if task.rows == 1 else lambda: x.argmax(-1).numpy())
        case "softmax":
            out = torch.empty_like(x)
            return unrecorded(lambda: torch.softmax(x, -1, out=out).numpy())
        case "top_k=50":
            return unrecorded(lambda: tuple(part.numpy() for part in torch.topk(x, 50)))
        case "temperature=0.8":
            return unrecorded(lambda: draw(x / params["temperature"]))
        case "min_p=0.05":
            return unrecorded(lambda: min_p(x, params["min_p"]))
        case "top_p=0.95":
            return unrecorded(lambda: top_p(*x.sort(descending=True), params["top_p"]))
    seen = torch.from_numpy(task.seen).expand(task.rows, -1) if "repetition_penalty" in params else None
    return unrecorded(lambda: chain(x, seen, **params))


def unrecorded(call: Callable[[], Any]) -> Callable[[], Any]:
    return torch.inference_mode()(call)


def draw(scores: torch.Tensor) -> Any:
    return torch.multinomial(torch.softmax(scores, -1), 1)[:, 0].numpy()


def min_p(scores: torch.Tensor, share: float) -> Any:
    probabilities = torch.softmax(scores, -1)
    least = share * probabilities.amax(-1, keepdim=True)
    return torch.multinomial(torch.where(probabilities >= least, probabilities, 0), 1)[:, 0].numpy()


def top_p(scores: torch.Tensor, ids: torch.Tensor, p: float, share: float = 0.0) -> Any:
    """Of sorted scores."""
    probabilities = torch.softmax(scores, -1)
    before = probabilities.cumsum(-1) - probabilities
    least = share * probabilities[:, :1]
    kept = torch.where((before < p) & (probabilities >= least), probabilities, 0)
    return ids.gather(1, torch.multinomial(kept, 1))[:, 0].numpy()


def chain(x: torch.Tensor, seen: torch.Tensor | None, **params: Any) -> Any:
    if seen is not None:
        part = x.gather(1, seen)
        penalty = params["repetition_penalty"]
        x = x.scatter(1, seen, torch.where(part < 0, part * penalty, part / penalty))
    scores, ids = torch.topk(x, params["top_k"])
    return top_p(scores / params["temperature"], ids, params["top_p"], params.get("min_p", 0.0))
