"""OpenAI: the formulas of its API reference, in NumPy. What runs behind the API is not public, so nothing else can run.

The reference says: a bias is added to the scores before sampling; the score of token j falls by c[j] times the
frequency penalty and by the presence penalty if c[j] > 0, with c[j] the number of times that j was sampled so far, the
prompt not counted; a temperature, lower for more focus; and top_p takes the tokens that make up the top p of the
probability mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.rows import Row, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OpenAi"]


class OpenAi:
    """The peer."""

    profile = "openai"

    def can(self, params: dict[str, Any], row: Row) -> bool:
        """All of it."""
        return True

    def probabilities(self, params: dict[str, Any], row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
        """What the formulas leave, in float64."""
        scores = row.scores.astype(np.float64)
        for token, bias in params.get("logit_bias", {}).items():
            scores[token] += bias
        for token in row.output:
            if token < len(scores):
                scores[token] -= params.get("frequency_penalty", 0.0)
        for token in set(row.output):
            if token < len(scores):
                scores[token] -= params.get("presence_penalty", 0.0)
        temperature = params.get("temperature", 1.0)
        if temperature == 0:
            return np.eye(1, len(scores), int(np.argmax(scores)))[0]
        p = softmax(scores / temperature)
        order = np.argsort(-p, kind="stable")
        kept = order
        if "top_p" in params:
            kept = order[: 1 + int(np.searchsorted(np.cumsum(p[order]), params["top_p"]))]
        result = np.zeros_like(p)
        result[kept] = p[kept] / p[kept].sum()
        return result
