"""This package, as its users call it: a sampler for a row, `sample` for rows that share their parameters."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

import sortition
from table import SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"sortition {version('sortition')}"
OWN_COIN = False


def prepare(task: Task) -> Callable[[], Any]:
    """A call that does the work, and returns the answer."""
    match task.operation.name:
        case "argmax":
            argmax, row = sortition.argmax, task.x[0]
            return (lambda: [argmax(row)]) if task.rows == 1 else lambda: argmax(task.x)
        case "softmax":
            out = np.empty(task.x.shape, np.float32)
            return lambda: sortition.softmax(task.x, out=out)
        case "top_k=50":
            return lambda: sortition.top_k(task.x, 50)
    params = sortition.SamplingParams(**task.params, seed=SEED)
    prompt = task.seen if "repetition_penalty" in task.params else ()
    if task.rows > 1 and not len(prompt):
        return lambda: sortition.sample(task.x, params)
    samplers = [sortition.Sampler(params, prompt, stream=row) for row in range(task.rows)]
    pairs = list(zip(samplers, task.x, strict=True))
    if task.rows == 1:
        sample, row = samplers[0].sample, task.x[0]
        return lambda: [sample(row)]
    return lambda: [sampler.sample(row) for sampler, row in pairs]
