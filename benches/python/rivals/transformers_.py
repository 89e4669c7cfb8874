"""transformers' logits processors in the order of its `generate`, on one thread, and the draw that `generate` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from transformers.generation import logits_process as processors

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"transformers {transformers.__version__}"
OWN_COIN = True

torch.set_num_threads(1)


def prepare(task: Task) -> Callable[[], Any] | None:
    """A call that does the work, and returns the answer; None for what is no sampling."""
    if not task.params:
        return None
    x = torch.from_numpy(task.x)
    context = torch.from_numpy(task.seen).expand(task.rows, -1)
    made = [
        ("repetition_penalty", processors.RepetitionPenaltyLogitsProcessor),
        ("temperature", processors.TemperatureLogitsWarper),
        ("top_k", processors.TopKLogitsWarper),
        ("top_p", processors.TopPLogitsWarper),
        ("min_p", processors.MinPLogitsWarper),
    ]
    chain = processors.LogitsProcessorList([make(task.params[name]) for name, make in made if name in task.params])

    @torch.inference_mode()
    def call() -> Any:
        probabilities = torch.softmax(chain(context, x.clone()), -1)
        return torch.multinomial(probabilities, 1)[:, 0].numpy()

    return call
