"""Why another is faster, where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table import Case

REASONS = {
    "argmax": "NaN is looked for, and each block's largest score is kept",
    "softmax": "an exponential within 2 ulp",
    "top_k=50": "arrays in and out of a call cost 1 µs, whatever the vocabulary",
    "temperature=0.8": "an exponential within 2 ulp",
    "min_p=0.05": "NaN is looked for, and each block's largest score is kept",
    "chain": "the rival writes into the caller's scores, and trusts them",
}


def reason(case: Case) -> str:
    """A sentence, or nothing."""
    return REASONS.get(case.operation.name, "")
