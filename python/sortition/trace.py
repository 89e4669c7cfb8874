"""The record of one draw: what each stage did to the candidates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

__all__ = ["PlannedStage", "Trace", "TraceStep"]

_KEPT, _IMPOSSIBLE = 0, 1  # a fate above is two more than the index of the step


class PlannedStage(NamedTuple):
    """A stage that runs, and what it has to look at."""

    name: str
    needs: str

    def __str__(self) -> str:
        return f"{self.name}: {self.needs}"


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What one stage did.

    Attributes:
        stage: its name.
        before: the number of candidates before the stage.
        after: the number after it.
        mass: the total probability, before the stage, of the candidates that it removed.
        limit: the number that decided. For the temperature stage it is the temperature. For a cut by rank, total
            probability or score it is the lowest score that stays; for a cut by probability, the lowest probability
            that may stay; for typical, the largest distance from the entropy, in nats. For mirostat it is the largest
            surprise allowed, in bits; for adaptive-p, the probability aimed at. ``None`` if the stage has no such
            number, or removed nothing.
    """

    stage: str
    before: int
    after: int
    mass: float
    limit: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The record of one draw.

    >>> from sortition import Sampler, SamplingParams
    >>> trace = Sampler(SamplingParams(top_k=2)).draw([1.0, 3.0, 2.0, float("-inf")], trace=True).trace
    >>> trace.steps
    (TraceStep(stage='top_k', before=3, after=2, mass=0.09003..., limit=2.0),)
    >>> [trace.removed_by(token) for token in range(4)]
    ['top_k', None, None, 'logits']

    Attributes:
        steps: what each stage did, in order.
        fates: of each token, shape ``(vocab,)``, ``uint8``: 0 kept, 1 came in as impossible, else two more than the
            index of the step that removed it.
    """

    steps: tuple[TraceStep, ...]
    fates: npt.NDArray[np.uint8]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self.steps == other.steps and bool(np.array_equal(self.fates, other.fates))

    def __hash__(self) -> int:
        return hash(self.steps)

    @classmethod
    def made_of(cls, steps: Iterable[Sequence[Any]], fates: npt.NDArray[np.uint8]) -> Trace:
        """From what the core hands out."""
        return cls(tuple(TraceStep(*step) for step in steps), fates)

    def removed_by(self, token: int) -> str | None:
        """The stage that removed a token; ``"logits"`` if its score came in as -inf, ``None`` if it was kept.

        Raises:
            IndexError: the vocabulary has no such token.
        """
        fate = int(self.fates[token])
        if fate == _KEPT:
            return None
        return "logits" if fate == _IMPOSSIBLE else self.steps[fate - 2].stage

    def to_dict(self) -> dict[str, Any]:
        """The steps as plain values for JSON."""
        return {"steps": [asdict(step) for step in self.steps]}
