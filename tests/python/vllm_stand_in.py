"""As much of vLLM as its v1 interface for logits processors is: names, signatures, and the order of the calls.

vLLM needs an accelerator or hours of compiling, so this is no run of it. Written by what it publishes: the page on
custom logits processors, `vllm/v1/sample/logits_processor/interface.py` (`LogitsProcessor`, `BatchUpdate`,
`MoveDirectionality`), and `vllm/v1/worker/gpu_input_batch.py` (a persistent batch: freed rows are filled by requests
that came, and those still free by moving the last ones down).
"""

from __future__ import annotations

import sys
import types
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np

__all__ = ["VOCAB", "Engine", "Request", "install", "scores"]

VOCAB = 500


class MoveDirectionality(Enum):
    """Whether one request moves, or two change places."""

    UNIDIRECTIONAL = auto()
    SWAP = auto()


@dataclass(frozen=True)
class BatchUpdate:
    """What happened to the batch since the last step; to be followed in the order removed, added, moved."""

    batch_size: int
    removed: list[int]
    added: list[tuple[int, Any, list[int] | None, list[int]]]
    moved: list[tuple[int, int, MoveDirectionality]]


class LogitsProcessor(ABC):
    """The class to derive from."""

    @classmethod  # noqa: B027 - optional, as in the interface
    def validate_params(cls, sampling_params):
        """Raise `ValueError` for bad parameters."""

    @abstractmethod
    def __init__(self, vllm_config, device, is_pin_memory): ...

    @abstractmethod
    def apply(self, logits): ...

    @abstractmethod
    def is_argmax_invariant(self): ...

    def needs_output_token_ids(self):
        return False

    @abstractmethod
    def update_state(self, batch_update): ...


def install(monkeypatch):
    """Make `vllm.v1.sample.logits_processor` importable."""
    for name in ("vllm", "vllm.v1", "vllm.v1.sample", "vllm.v1.sample.logits_processor"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["vllm.v1.sample.logits_processor"].LogitsProcessor = LogitsProcessor
    sys.modules["vllm"].SamplingParams = types.SimpleNamespace
    sys.modules["vllm"].LLM = LLM


@dataclass
class Request:
    """A prompt, its parameters, and the output, a list that the processor sees grow."""

    prompt: list[int]
    params: Any
    max_tokens: int
    output: list[int] = field(default_factory=list)


class Engine:
    """A persistent batch of a few rows and one processor of the interface. The scores are a function of the tokens.

    After the processor it does what the engine does: it draws from what is left.
    """

    def __init__(self, processor, places=4):
        assert issubclass(processor, LogitsProcessor)
        self.processor = processor(types.SimpleNamespace(), "cpu", False)  # noqa: FBT003 - as the engine calls it
        assert not self.processor.is_argmax_invariant()
        self.batch: list[Request | None] = [None] * places
        self.holes: set[int] = set()  # rows whose requests have left since the last step

    def step(self, waiting, *, swap=None, discard=False):
        """Requests come and move, and each gets a token; which is thrown away where a prompt is not read whole."""
        update = self._update(waiting, swap)
        self.processor.update_state(update)
        going = [request for request in self.batch if request is not None]
        left = self.processor.apply(scores(going))
        import torch

        drawn = torch.multinomial(torch.softmax(left, -1), 1)[:, 0].tolist()
        for row, (request, token) in enumerate(zip(going, drawn, strict=True)):
            if not discard:
                request.output.append(token)
            if len(request.output) == request.max_tokens:
                self.batch[row] = None
                self.holes.add(row)

    def preempt(self, row):
        """Take a request out; it comes again later, with the output that it has."""
        request, self.batch[row] = self.batch[row], None
        self.holes.add(row)
        return request

    def _update(self, waiting, swap):
        added, moved = [], []
        while waiting and None in self.batch:
            request, row = waiting.pop(0), self.batch.index(None)
            self.processor.validate_params(request.params)
            self.batch[row] = request
            self.holes.discard(row)
            added.append((row, request.params, request.prompt, request.output))
        removed = sorted(self.holes, reverse=True)
        self.holes.clear()
        for hole in removed[::-1]:  # the last requests move down into what is still free
            last = max((row for row, request in enumerate(self.batch) if request is not None), default=-1)
            if last > hole:
                moved.append((last, hole, MoveDirectionality.UNIDIRECTIONAL))
                self.batch[hole], self.batch[last] = self.batch[last], None
        if swap is not None:
            one, two = swap
            self.batch[one], self.batch[two] = self.batch[two], self.batch[one]
            moved.append((one, two, MoveDirectionality.SWAP))
        size = sum(request is not None for request in self.batch)
        return BatchUpdate(size, removed, added, moved) if removed or added or moved else None


def scores(requests):
    """A row for each request, which its tokens alone decide."""
    import torch

    rows = [np.random.default_rng([*r.prompt, *r.output]).normal(0, 3, VOCAB) for r in requests]
    return torch.from_numpy(np.array(rows, np.float32))


class LLM:
    """As much of `vllm.LLM` as the page uses: prompts of ids, in; outputs of ids, out."""

    def __init__(self, model, *, logits_processors):
        self.engine = Engine(*logits_processors)

    def generate(self, prompts, sampling_params):
        requests = [
            Request(prompt["prompt_token_ids"], params, params.max_tokens)
            for prompt, params in zip(prompts, sampling_params, strict=True)
        ]
        waiting = list(requests)
        while any(len(request.output) < request.max_tokens for request in requests):
            self.engine.step(waiting)
        outputs = [types.SimpleNamespace(token_ids=request.output) for request in requests]
        return [types.SimpleNamespace(outputs=[output]) for output in outputs]
