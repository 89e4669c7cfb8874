"""What the loop hands over: a piece of text as it comes, and the finished whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sortition.decode import FinishReason

__all__ = ["Chunk", "Completion", "Timings"]


@dataclass(frozen=True)
class Timings:
    """Where the time went, in seconds.

    Attributes:
        prefill: the model's first call, which reads the prompt.
        model: all calls of the model, the first one included.
        sampler: all draws.
        total: from the start of the run to its end, with text, and with what the consumer of a stream did.
    """

    prefill: float = 0.0
    model: float = 0.0
    sampler: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class Completion:
    """A finished text, and how it came about.

    Attributes:
        text: the text, without what stopped it.
        tokens: every token drawn, a stop token included.
        text_tokens: how many of `tokens` the text covers: the fewest, from the first on, that hold all of it.
        finish_reason: `"stop"`, `"length"` or `"cancelled"`; `None` only in the `partial` of an exception.
        matched: the stop string, the id of the stop token, or `"deadline"`.
        prompt_tokens: how many tokens the prompt has.
        seed: the seed in use, also when the parameters left it open.
        stream: which of the `n` completions this is.
        timings: where the time went.
    """

    text: str
    tokens: tuple[int, ...]
    text_tokens: int
    finish_reason: FinishReason | None
    matched: int | str | None
    prompt_tokens: int
    seed: int
    stream: int = 0
    timings: Timings = field(default_factory=Timings, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"tokens": list(self.tokens)}


@dataclass(frozen=True)
class Chunk:
    """A piece of text as it comes: one for each token (its text may be empty), and a closing one.

    Attributes:
        text: what may be shown now.
        token: the token that was drawn; `None` in a closing chunk that was not caused by a stop token.
        finish_reason: `None` but in the closing chunk.
        matched: see `Completion`.
        completion: in the closing chunk, the whole.
    """

    text: str
    token: int | None = None
    finish_reason: FinishReason | None = None
    matched: int | str | None = None
    completion: Completion | None = None
