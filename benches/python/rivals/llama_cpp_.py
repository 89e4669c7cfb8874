"""llama.cpp's chain of samplers, by the low-level interface of llama-cpp-python: fill the candidates, apply the chain.

Its own loop fills the array of candidates from the scores in the same way; here NumPy does it, a little faster.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"llama-cpp-python {llama_cpp.__version__}"
OWN_COIN = True

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def prepare(task: Task) -> Callable[[], Any] | None:
    """A call that does the work, and returns the answer; None for the softmax, which writes no probabilities out."""
    name = task.operation.name
    if name == "softmax":
        return None
    stages = {
        "argmax": [llama_cpp.llama_sampler_init_greedy],
        "top_k=50": [lambda: llama_cpp.llama_sampler_init_top_k(50)],
    }.get(name) or _stages(task)
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for stage in stages:
        llama_cpp.llama_sampler_chain_add(chain, stage())
    for token in task.seen.tolist():
        llama_cpp.llama_sampler_accept(chain, token)
    ids = np.arange(task.vocab, dtype=np.int32)
    data = np.zeros(task.vocab, CANDIDATE)
    pointer = ctypes.cast(data.ctypes.data, ctypes.POINTER(llama_cpp.llama_token_data))

    def apply(row: Any) -> Any:
        data["id"] = ids
        data["logit"] = row
        candidates = llama_cpp.llama_token_data_array(pointer, task.vocab, -1, False)  # noqa: FBT003 - C's order
        llama_cpp.llama_sampler_apply(chain, ctypes.byref(candidates))
        return candidates

    def best() -> Any:
        found = []
        for row in task.x:
            apply(row)
            found.append(data[:50].copy())
        return np.stack([part["logit"] for part in found]), np.stack([part["id"] for part in found])

    if name == "top_k=50":
        return best
    return lambda: [int(data["id"][apply(row).selected]) for row in task.x]


def _stages(task: Task) -> list[Callable[[], Any]]:
    """In our order: its own has the temperature last."""
    made = {
        "repetition_penalty": lambda r: llama_cpp.llama_sampler_init_penalties(task.vocab, len(task.seen), r, 0.0, 0.0),
        "temperature": llama_cpp.llama_sampler_init_temp,
        "top_k": llama_cpp.llama_sampler_init_top_k,
        "top_p": lambda p: llama_cpp.llama_sampler_init_top_p(p, 1),
        "min_p": lambda p: llama_cpp.llama_sampler_init_min_p(p, 1),
    }
    stages = [
        lambda make=make, value=task.params[name]: make(value) for name, make in made.items() if name in task.params
    ]
    return [*stages, lambda: llama_cpp.llama_sampler_init_dist(7)]
