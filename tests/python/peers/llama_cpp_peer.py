"""llama.cpp: its chain of samplers, through the low-level interface of llama-cpp-python, on arrays. No model is needed.

The chain is made as llama.cpp's server makes it: bias, penalties, dry, top-n-sigma, top-k, typical, top-p, min-p, xtc,
temperature. The last one, which would draw, is left out.

DRY gets no breakers: there they are texts, which take a vocabulary.
"""

from __future__ import annotations

import ctypes
from contextlib import closing
from typing import TYPE_CHECKING, Any

import llama_cpp.llama_cpp as api
import numpy as np

from peers.rows import Row, softmax

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["ORDER", "Chain", "LlamaCpp", "left"]

CANDIDATE = np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True)
SEED = 1
ORDER = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")


class LlamaCpp:
    """The peer."""

    profile = "llama.cpp"

    def can(self, params: dict[str, Any], row: Row) -> bool:
        """Not what `test_peers_llama_cpp` shows to differ."""
        impossible = row.masked or "suppress" in params or "top_n_sigma" in params
        if impossible and ("typical_p" in params or "dynatemp_range" in params):
            return False
        if "dynatemp_range" in params and params["temperature"] == 0:
            return False
        return "min_keep" not in params or not ("top_k" in params or "top_n_sigma" in params)

    def probabilities(self, params: dict[str, Any], row: Row, stop_tokens: list[int]) -> NDArray[np.float64]:
        """What the chain leaves."""
        return left(params, row)


def left(params: Mapping[str, Any], row: Row, order: Sequence[str] = ORDER) -> NDArray[np.float64]:
    """What a chain of samplers in this order leaves."""
    with closing(Chain(samplers(params, len(row.scores), order))) as chain:
        for token in row.prompt + row.output:
            chain.accept(token)
        return chain.probabilities(row.scores)


class Chain:
    """A chain of samplers, and what it makes of scores."""

    def __init__(self, samplers: Iterator[Any]) -> None:
        self.chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        for sampler in samplers:
            api.llama_sampler_chain_add(self.chain, sampler)

    def accept(self, token: int) -> None:
        """A token of the context."""
        api.llama_sampler_accept(self.chain, token)

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Of what is left."""
        candidates = np.zeros(len(scores), CANDIDATE)
        candidates["id"], candidates["logit"] = np.arange(len(scores)), scores
        array = api.llama_token_data_array(
            data=candidates.ctypes.data_as(ctypes.POINTER(api.llama_token_data)),
            size=len(scores),
            selected=-1,
            sorted=False,
        )
        api.llama_sampler_apply(self.chain, ctypes.byref(array))
        # Some samplers move the start.
        at = (ctypes.addressof(array.data.contents) - candidates.ctypes.data) // CANDIDATE.itemsize
        left = candidates[at : at + array.size]
        processed = np.full(len(scores), -np.inf, np.float32)
        processed[left["id"]] = left["logit"]
        return softmax(processed)

    def close(self) -> None:
        """Free it, and the samplers with it."""
        api.llama_sampler_free(self.chain)


def samplers(params: Mapping[str, Any], vocabulary: int, order: Sequence[str] = ORDER) -> Iterator[Any]:
    """The samplers that llama.cpp's server would chain for these parameters, in its order or that of a request."""
    get, keep = params.get, params.get("min_keep", 0)
    biases = {**get("logit_bias", {}), **dict.fromkeys(get("suppress", ()), -np.inf)}
    if biases:
        pairs = (api.llama_logit_bias * len(biases))(*biases.items())
        yield api.llama_sampler_init_logit_bias(vocabulary, len(biases), pairs)
    penalties = get("repetition_penalty", 1.0), get("frequency_penalty", 0.0), get("presence_penalty", 0.0)
    dry = get("dry_multiplier", 0.0), get("dry_base", 1.75), get("dry_allowed_length", 2), get("dry_window", 64)
    temperature = get("temperature", 1.0), get("dynatemp_range", 0.0), get("dynatemp_exponent", 1.0)
    make = {
        "penalties": lambda: api.llama_sampler_init_penalties(vocabulary, get("repetition_window", 64), *penalties),
        "dry": lambda: api.llama_sampler_init_dry(None, *dry, None, 0),
        "top_n_sigma": lambda: api.llama_sampler_init_top_n_sigma(get("top_n_sigma", -1.0)),
        "top_k": lambda: api.llama_sampler_init_top_k(get("top_k", 0)),
        "typ_p": lambda: api.llama_sampler_init_typical(get("typical_p", 1.0), keep),
        "top_p": lambda: api.llama_sampler_init_top_p(get("top_p", 1.0), keep),
        "min_p": lambda: api.llama_sampler_init_min_p(get("min_p", 0.0), keep),
        "xtc": lambda: api.llama_sampler_init_xtc(get("xtc_probability", 0.0), get("xtc_threshold", 0.1), keep, SEED),
        "temperature": lambda: api.llama_sampler_init_temp_ext(*temperature),
    }
    for name in order:
        yield make[name]()
