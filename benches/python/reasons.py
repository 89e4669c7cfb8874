"""Why another is faster, where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table import Case

REASONS = {
    "argmax": "a call has a cost that does not shrink with the row; NaN is looked for in the same pass",
    "softmax": "an exponential within 2 ulp, sums in float64: twice the work of a fast one",
    "temperature=0.8": "an exponential within 2 ulp, sums in float64: twice the work of a fast one",
    "chain": "the row is copied before the penalty; the rival writes into the caller's scores",
}


def reason(case: Case) -> str:
    """A sentence, or nothing."""
    return REASONS.get(case.operation.name, "")
