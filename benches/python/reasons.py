"""Why another is faster, where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table import Case

REASONS = {
    "argmax": "arrays in and out of a call cost 1 µs, whatever the vocabulary; NaN is looked for",
    "softmax": "an exponential within 2 ulp",
    "top_k=50": "arrays in and out of a call cost 2 µs, whatever the vocabulary",
    "temperature=0.8": "an exponential within 2 ulp",
    "min_p=0.05": "on flat scores exact sums of all that is kept; else NaN is looked for",
    "chain": "the rival writes into the caller's scores, and trusts them",
}


def reason(case: Case) -> str:
    """A sentence, or nothing."""
    return REASONS.get(case.operation.name, "")
