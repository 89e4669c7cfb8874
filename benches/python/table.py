"""The table: what is measured, on which scores. An id is an address: operation / rival / vocabulary / kind / state.

>>> Case(OPERATIONS["top_k=50"], 151_936, "flat", 1).address("numba")
'top_k=50/numba/151936/flat/hot'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import rows as scores
from sortition.reference.philox import coin

if TYPE_CHECKING:
    import numpy.typing as npt

SHOWN = 151_936  # the vocabulary of tables that show one
VOCABULARIES = (32_000, 49_152, 128_256, 151_936, 262_144)
ROWS = (1, 8, 64)
KINDS = ("peaked", "flat", "real")
SEEN = 1_000  # distinct ids that the repetition penalty touches
SEED = 7


@dataclass(frozen=True)
class Operation:
    """A name, which is its address; the goals, in memory passes, hot and cold; the sampling parameters if it draws."""

    name: str
    title: str
    goals: tuple[float, float]
    params: dict[str, Any] = field(default_factory=dict, hash=False)


_ALL = (
    Operation("argmax", "argmax", (1.1, 1.0)),
    Operation("softmax", "softmax, written out", (10, 3.5)),
    Operation("top_k=50", "top-k 50, sorted", (2.0, 1.3)),
    Operation("temperature=0.8", "temperature, draw", (7, 1.8), {"temperature": 0.8}),
    Operation("min_p=0.05", "min-p .05, draw", (1.8, 1.2), {"min_p": 0.05}),
    Operation(
        "top_k=50,top_p=0.95,temperature=0.8",
        "temperature, top-k 50, top-p .95, draw",
        (2.2, 1.3),
        {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
    ),
    Operation("top_p=0.95", "top-p .95, draw", (8, 2.0), {"top_p": 0.95}),
    Operation(
        "chain",
        "repetition over 1,000 ids, temperature, top-k 50, top-p .95, min-p .05, draw",
        (3, 1.4),
        {"repetition_penalty": 1.1, "temperature": 0.8, "top_k": 50, "top_p": 0.95, "min_p": 0.05},
    ),
)
OPERATIONS = {operation.name: operation for operation in _ALL}


@dataclass(frozen=True)
class Case:
    """One operation on rows of one kind. One row again and again is hot; of 64 none is in the second cache."""

    operation: Operation
    vocab: int
    kind: str
    rows: int

    @property
    def state(self) -> str:
        """`hot`, `8rows` or `cold`."""
        return {1: "hot", 64: "cold"}.get(self.rows, f"{self.rows}rows")

    def address(self, rival: str) -> str:
        """The id of a measurement."""
        return f"{self.operation.name}/{rival}/{self.vocab}/{self.kind}/{self.state}"


@dataclass(frozen=True)
class Task:
    """What a rival is given: rows of scores, and all that the operation depends on."""

    operation: Operation
    x: npt.NDArray[np.float32]
    coins: npt.NDArray[np.float64]
    seen: npt.NDArray[np.int64]

    @classmethod
    def of(cls, case: Case) -> Task:
        """Row `r` draws with the first coin of stream `r`; the ids that the penalty touches are spread over the row."""
        seen = np.random.default_rng(case.vocab).choice(case.vocab, SEEN, replace=False)
        return cls(
            case.operation,
            scores.rows(case.kind, case.rows, case.vocab),
            np.array([coin(SEED, stream=row) for row in range(case.rows)]),
            seen,
        )

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.x.shape[0]

    @property
    def vocab(self) -> int:
        """How many scores in a row."""
        return self.x.shape[1]

    @property
    def params(self) -> dict[str, Any]:
        """The sampling parameters."""
        return self.operation.params
