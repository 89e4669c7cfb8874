"""Arrays that are more than arrays: what a mask says is not lost, and what is only a class of its own is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sortition
from sortition import LogitsError, Sampler, SamplingParams
from sortition.integrations.masks import MaskedSampler

if TYPE_CHECKING:
    from pathlib import Path

GREEDY = SamplingParams(temperature=0)


def masked(dtype: Any) -> Any:
    """Of three scores the best is masked."""
    return np.ma.masked_array(np.array([3, 2, 1], dtype), mask=[True, False, False])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "call",
    [
        lambda sampler, x: sampler.sample(x),
        lambda sampler, x: sampler.draw(x),
        lambda sampler, x: sampler.process(x),
        lambda sampler, x: sampler.verify(x[None], []),
        lambda sampler, x: sortition.sample_batch(x[None], [sampler]),
        lambda _, x: sortition.sample(x, GREEDY),
        lambda _, x: sortition.argmax(x),
        lambda _, x: sortition.softmax(x[None]),
    ],
)
def test_a_mask_is_not_lost(call: Any, dtype: Any) -> None:
    sampler = Sampler(GREEDY)
    with pytest.raises(LogitsError, match="masked array"):
        call(sampler, masked(dtype))
    assert sampler.position == 0


def test_a_file_in_memory_is_read(tmp_path: Path) -> None:
    scores = np.memmap(tmp_path / "scores", np.float32, "w+", shape=(2, 3))
    scores[:] = [[0, 1, 0], [2, 0, 0]]
    assert sortition.argmax(scores).tolist() == [1, 0]
    assert Sampler(GREEDY).sample(scores[0]) == 1


def test_a_draft_of_nothing_has_no_scores() -> None:
    """As lists that were appended to no token."""
    assert Sampler(GREEDY).verify([[0.0, 1.0]], [], []) == [1]


def test_a_sampler_goes_back_when_the_grammar_does_not_go_on() -> None:
    class Broken:
        def mask(self) -> Any:
            return np.array([-1], np.int32)

        def accept(self, token: int) -> None:
            raise OSError

    sampler = Sampler(GREEDY)
    with pytest.raises(OSError):  # noqa: PT011 - it is what the matcher raised
        MaskedSampler(sampler, Broken()).sample([0.0, 1.0])
    assert sampler.position == 0
