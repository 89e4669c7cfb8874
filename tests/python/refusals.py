"""What the tests of bad input share: a sampler that has been used, and what it means that it is as it was."""

from __future__ import annotations

import numpy as np

from sortition import Sampler, SamplingParams

NAN, INF = float("nan"), float("inf")
HUGE = 2**70
ROW = np.array([0.0, 1.0, 2.0, 3.0], np.float32)


def said(error: BaseException, *words: str) -> bool:
    """Whether the message has all the words."""
    return [word for word in words if word not in str(error)] == []


def used() -> Sampler:
    """A sampler with a prompt and an output."""
    sampler = Sampler(SamplingParams(seed=9, frequency_penalty=0.5), prompt=[1])
    sampler.accept(2)
    return sampler


def unchanged(sampler: Sampler) -> None:
    """Hold a sampler to `used()`: history, position, and the next tokens."""
    assert sampler.output.tolist() == [2]
    assert sampler.position == 1
    assert list(sampler.prompt) == [1]
    fresh = used()
    assert [sampler.sample(ROW) for _ in range(4)] == [fresh.sample(ROW) for _ in range(4)]
