"""vLLM: its sampler, written down again in NumPy from what its public source says.

vLLM itself runs on few machines, so this is no run of it. Read were, in the repository `vllm-project/vllm`:
`vllm/v1/sample/sampler.py` (the order, in the docstring of `Sampler`), `vllm/v1/sample/logits_processor/builtin.py`
(min-p, bias, min tokens), `vllm/model_executor/layers/utils.py` (penalties), `vllm/v1/sample/ops/bad_words.py`,
`vllm/v1/sample/ops/topk_topp_sampler.py` (top-k and top-p, its PyTorch path), `vllm/sampling_params.py` (what a request
is turned into), as of its main branch in 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.rows import Row, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float32]

__all__ = ["Vllm"]


class Vllm:
    """The peer."""

    profile = "vllm"

    def can(self, params: dict[str, Any], row: Row) -> bool:
        """All of it."""
        return True

    def probabilities(self, params: dict[str, Any], row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
        """What vLLM leaves, of scores in float32."""
        scores = row.scores.copy()
        if "allowed_ids" in params:
            scores[~np.isin(np.arange(len(scores)), params["allowed_ids"])] = -np.inf
        for *start, last in params.get("bad_words", []):
            if len(start) <= len(row.output) and row.output[len(row.output) - len(start) :] == start:
                scores[last] = -np.inf
        if len(row.output) < params.get("min_tokens", 0):
            scores[stop_tokens] = -np.inf
        for token, bias in params.get("logit_bias", {}).items():
            scores[token] += np.float32(min(100.0, max(-100.0, bias)))
        scores = penalised(scores, params, row)
        temperature = params.get("temperature", 1.0)
        if temperature < 1e-5:
            return np.eye(1, len(scores), int(np.argmax(scores)))[0]
        scores /= np.float32(max(temperature, 0.01))
        return softmax(cut(scores, params))


def penalised(scores: Scores, params: dict[str, Any], row: Row) -> Scores:
    """Repetition over prompt and output; frequency and presence over the output."""
    repetition = np.float32(params.get("repetition_penalty", 1.0))
    seen = np.isin(np.arange(len(scores)), row.prompt + row.output)
    scores = np.where(seen, np.where(scores > 0, scores / repetition, scores * repetition), scores)
    count = np.bincount(np.array(row.output, np.int64), minlength=len(scores))[: len(scores)].astype(np.float32)
    scores = scores - np.float32(params.get("frequency_penalty", 0.0)) * count
    return scores - np.float32(params.get("presence_penalty", 0.0)) * (count > 0)


def cut(scores: Scores, params: dict[str, Any]) -> Scores:
    """Min-p; then top-k, with all that equal the k-th; then top-p, from the least likely upwards."""
    if "min_p" in params:
        p = softmax(scores)
        scores = np.where(p < p.max() * params["min_p"], np.float32(-np.inf), scores)
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    if "top_k" in params:
        least = ascending[-min(params["top_k"], len(scores))]
        ascending = np.where(ascending < least, np.float32(-np.inf), ascending)
    if "top_p" in params:
        gone = np.cumsum(softmax(ascending)) <= 1 - params["top_p"]
        gone[-1] = False
        ascending = np.where(gone, np.float32(-np.inf), ascending)
    result = np.empty_like(scores)
    result[order] = ascending
    return result
