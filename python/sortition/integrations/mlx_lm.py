"""mlx-lm: a sampler of this package as its `logits_processors=` or `sampler=`.

Made for mlx-lm 0.32. Its loop works one token ahead: after `generate`, the sampler has drawn one token more than were
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable

    from sortition.sampler import Sampler

__all__ = ["make_logits_processor", "make_sampler"]


def make_logits_processor(sampler: Sampler) -> Callable[[Any, Any], Any]:
    """A processor `(tokens, logits) -> logits` that leaves one candidate, which the library's arg-max then takes.

    It sees the model's own scores, so every stage means what it means everywhere: give it to `generate_step`,
    `stream_generate` or `generate` as the last of `logits_processors`, and no `sampler`. The sampler must know the
    prompt: the library shows a processor its last token only.

    Raises:
        MissingExtra: `mlx` is not installed.
    """
    mx = _mlx()

    def process(tokens: Any, logits: Any) -> Any:  # noqa: ARG001 - what the library gives
        left = np.full(logits.shape, -np.inf, np.float32)
        left[0, sampler.sample(_row(mx, logits))] = 0.0
        return mx.array(left)

    return process


def make_sampler(sampler: Sampler) -> Callable[[Any], Any]:
    """A sampler `(log-probabilities) -> tokens`, of the shapes `(1, vocab)` and `(1,)`.

    It sees log-probabilities: scores less a constant, which is the same for temperature and every cut, but not for
    `repetition_penalty`, which asks whether a score is above zero. `make_logits_processor` has no such trouble.

    Raises:
        MissingExtra: `mlx` is not installed.
    """
    mx = _mlx()

    def sample(logprobs: Any) -> Any:
        return mx.array([sampler.sample(_row(mx, logprobs))])

    return sample


def _row(mx: Any, scores: Any) -> Any:
    """One row in float32, on the host; what is float32 and computed is read in place."""
    return np.asarray(scores.astype(mx.float32))


def _mlx() -> Any:
    with extra("mlx", "this needs the package mlx"):
        import mlx.core
    return mlx.core
