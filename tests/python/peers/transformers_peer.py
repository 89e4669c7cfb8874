"""transformers: the processors that `generate` would build from the same configuration, in its own order.

The list is made by the library itself, of a `GenerationConfig`. Greedy means what it means there: no warpers, the
arg-max.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig, GenerationMixin

from peers.rows import Row, softmax

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Transformers", "configuration"]

KEYS = {
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "top_h": "top_h",
    "typical_p": "typical_p",
    "epsilon": "epsilon_cutoff",
    "eta": "eta_cutoff",
    "repetition_penalty": "repetition_penalty",
    "no_repeat_ngram": "no_repeat_ngram_size",
    "bad_words": "bad_words_ids",
    "suppress": "suppress_tokens",
    "min_tokens": "min_new_tokens",
}


class Stack(GenerationMixin):
    """As much of a model as the making of processors looks at."""

    config = SimpleNamespace(is_encoder_decoder=False)
    generation_config = GenerationConfig()


class Transformers:
    """The peer."""

    profile = "transformers"

    def can(self, params: dict[str, Any], row: Row) -> bool:
        """Not a bad word that is a stop token by itself: it passes that over."""
        return not any(word in ([0], [1]) for word in params.get("bad_words", []))

    def probabilities(self, params: dict[str, Any], row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
        """What the library leaves."""
        config = configuration(params)
        allowed = params.get("allowed_ids")
        return self.of_config(config, row, stop_tokens, allowed)

    def of_config(
        self, config: GenerationConfig, row: Row, stop_tokens: list[int], allowed: list[int] | None = None
    ) -> NDArray[np.float64]:
        """What the library leaves with this configuration."""
        config, _ = Stack()._prepare_generation_config(config)  # the defaults of what is not set
        config._eos_token_tensor = torch.tensor(stop_tokens)
        processors = Stack()._get_logits_processor(
            config,
            input_ids_seq_length=len(row.prompt),
            prefix_allowed_tokens_fn=None if allowed is None else lambda batch, ids: allowed,
            device="cpu",
        )
        ids = torch.tensor([row.prompt + row.output], dtype=torch.long)
        scores = processors(ids, torch.from_numpy(row.scores.copy())[None])[0]
        if not config.do_sample:
            best = torch.argmax(scores)
            scores = torch.full_like(scores, -torch.inf).index_fill_(0, best, 0.0)
        return softmax(scores.numpy())


def configuration(params: dict[str, Any]) -> GenerationConfig:
    """The configuration that says there what these parameters say here."""
    temperature = params.get("temperature", 1.0)
    values: dict[str, Any] = {"top_k": 0} | {KEYS[name]: value for name, value in params.items() if name in KEYS}
    if "logit_bias" in params:
        values["sequence_bias"] = [[[token], bias] for token, bias in params["logit_bias"].items()]
    if temperature > 0:
        values["temperature"] = temperature
    return GenerationConfig(do_sample=temperature > 0, **values)
