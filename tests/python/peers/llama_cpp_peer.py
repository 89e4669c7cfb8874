"""llama.cpp: its chain of samplers, through the low-level interface of llama-cpp-python, on arrays. No model is needed.

The chain is made as llama.cpp's server makes it: bias, penalties, dry, top-n-sigma, top-k, typical, top-p, min-p, xtc,
temperature. The last one, which would draw, is left out; mirostat and adaptive-p, which draw by themselves, come in its
place.
"""

from __future__ import annotations

import ctypes
from contextlib import closing
from typing import TYPE_CHECKING, Any

import llama_cpp.llama_cpp as api
import numpy as np

from peers import vocabulary as words
from peers.rows import Row, softmax

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["ORDER", "Chain", "LlamaCpp", "Walker", "left"]

CANDIDATE = np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True)
SEED = 1
MIROSTAT_FIT = 100  # of the best tokens, as the server has it
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
        if "dry_breakers" in params and words.nested(params["dry_breakers"]):
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

    def apply(self, scores: NDArray[np.float32]) -> tuple[NDArray[Any], int]:
        """What is left, as ids and scores; and which of them was drawn, -1 if none was."""
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
        return candidates[at : at + array.size], array.selected

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Of what is left."""
        return by_id(self.apply(scores)[0], len(scores))

    def draw(self, scores: NDArray[np.float32]) -> tuple[int, NDArray[np.float64]]:
        """The token that the last sampler draws, which joins the context; and the probabilities of all."""
        left, selected = self.apply(scores)
        token = int(left["id"][selected])
        self.accept(token)
        return token, by_id(left, len(scores))

    def close(self) -> None:
        """Free it, and the samplers with it."""
        api.llama_sampler_free(self.chain)


class Walker(Chain):
    """A chain that ends in a policy, and what the policy remembers."""

    def __init__(self, params: Mapping[str, Any], vocabulary: int, seed: int) -> None:
        super().__init__(samplers(params, vocabulary, seed=seed))
        self.policy = policy(params, vocabulary, seed)
        api.llama_sampler_chain_add(self.chain, self.policy)
        self.version = params.get("mirostat")
        if self.version is not None and self.mu() != np.float32(2) * np.float32(params["mirostat_tau"]):
            msg = "mu stands elsewhere in this version of llama.cpp"
            raise AssertionError(msg)

    def mu(self) -> float | None:
        """The bound of mirostat, which no function tells: it is read where it stands, behind the settings."""
        if self.version is None:
            return None
        # seed, seed now, tau, eta, mu; the first version has the vocabulary before them, and m before mu: 4 bytes each.
        offset = {1: 24, 2: 16}[self.version]
        return ctypes.c_float.from_address(self.policy.contents.ctx + offset).value


def policy(params: Mapping[str, Any], vocabulary: int, seed: int) -> Any:
    """The sampler that draws: of a policy, or the plain one."""
    if params.get("mirostat") == 1:
        return api.llama_sampler_init_mirostat(
            vocabulary, seed, params["mirostat_tau"], params["mirostat_eta"], MIROSTAT_FIT
        )
    if params.get("mirostat") == 2:
        return api.llama_sampler_init_mirostat_v2(seed, params["mirostat_tau"], params["mirostat_eta"])
    if "adaptive_target" in params:
        return api.llama_sampler_init_adaptive_p(params["adaptive_target"], params["adaptive_decay"], seed)
    return api.llama_sampler_init_dist(seed)


def by_id(left: NDArray[Any], vocabulary: int) -> NDArray[np.float64]:
    """The probabilities of what is left, in the places of their ids."""
    processed = np.full(vocabulary, -np.inf, np.float32)
    processed[left["id"]] = left["logit"]
    return softmax(processed)


def samplers(
    params: Mapping[str, Any], vocabulary: int, order: Sequence[str] = ORDER, seed: int = SEED
) -> Iterator[Any]:
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
        "dry": lambda: api.llama_sampler_init_dry(*words.arguments(get("dry_breakers"), *dry)),
        "top_n_sigma": lambda: api.llama_sampler_init_top_n_sigma(get("top_n_sigma", -1.0)),
        "top_k": lambda: api.llama_sampler_init_top_k(get("top_k", 0)),
        "typ_p": lambda: api.llama_sampler_init_typical(get("typical_p", 1.0), keep),
        "top_p": lambda: api.llama_sampler_init_top_p(get("top_p", 1.0), keep),
        "min_p": lambda: api.llama_sampler_init_min_p(get("min_p", 0.0), keep),
        "xtc": lambda: api.llama_sampler_init_xtc(get("xtc_probability", 0.0), get("xtc_threshold", 0.1), keep, seed),
        "temperature": lambda: api.llama_sampler_init_temp_ext(*temperature),
    }
    for name in order:
        yield make[name]()
