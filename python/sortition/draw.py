"""A drawn token, with log-probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sortition.trace import Trace

__all__ = ["Draw"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """A drawn token, and what its row said of it.

    Attributes:
        token: the id.
        logprob: the natural logarithm of its probability after all stages.
        raw_logprob: the same in the scores as they came.
        rank: one more than the number of tokens with a better score, in the scores as they came.
        top: the best ``(id, raw logprob)`` of the scores as they came, best first, ties to the lower id.
        kept: how many candidates were left after all stages.
        trace: what each stage did, if that was asked for.
    """

    token: int
    logprob: float
    raw_logprob: float
    rank: int
    top: list[tuple[int, float]]
    kept: int
    trace: Trace | None = None

    def __hash__(self) -> int:
        return hash((self.token, self.logprob, self.raw_logprob, self.rank, tuple(self.top), self.kept, self.trace))

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON, where a log-probability of -inf is ``None``."""
        return {
            "token": self.token,
            "logprob": _json(self.logprob),
            "raw_logprob": _json(self.raw_logprob),
            "rank": self.rank,
            "top": [{"token": token, "raw_logprob": _json(logprob)} for token, logprob in self.top],
            "kept": self.kept,
            "trace": None if self.trace is None else self.trace.to_dict(),
        }


def _json(logprob: float) -> float | None:
    return logprob if math.isfinite(logprob) else None
