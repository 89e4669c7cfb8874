"""The peers by profile, loaded on use, and the stages that each has."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from typing import TYPE_CHECKING

import pytest

from peers.trials import Counts, trial
from peers.walks import POLICIES, walks

if TYPE_CHECKING:
    from peers.trials import Peer

__all__ = ["ALONE", "COMBINATIONS", "NAMES", "ROWS", "counted", "load", "stages"]

COMBINATIONS = "combinations"
ROWS = {COMBINATIONS: 3000, "dry_breakers": 200}
SINGLE = 500  # rows of a stage alone

NAMES = {
    "transformers": [
        "allowed_ids",
        "suppress",
        "min_tokens",
        "bad_words",
        "logit_bias",
        "repetition",
        "no_repeat_ngram",
        "temperature",
        "top_k",
        "typical",
        "top_p",
        "min_p",
        "epsilon",
        "eta",
        "top_h",
    ],
    "llama.cpp": [
        "suppress",
        "logit_bias",
        "repetition",
        "frequency",
        "presence",
        "dry",
        "temperature",
        "dynamic_temperature",
        "top_n_sigma",
        "top_k",
        "typical",
        "top_p",
        "min_p",
        "xtc",
        "min_keep",
    ],
    "vllm": [
        "allowed_ids",
        "min_tokens",
        "bad_words",
        "logit_bias",
        "repetition",
        "frequency",
        "presence",
        "temperature",
        "top_k",
        "top_p",
        "min_p",
    ],
    "openai": ["logit_bias", "frequency", "presence", "temperature", "top_p"],
}

ALONE = {"llama.cpp": ["dry_breakers", *POLICIES]}
"""Not put together with others: breakers, which take long to make, and policies, which take the place of cuts."""

PEERS = {
    "transformers": ("peers.transformers_peer", "Transformers", ("torch", "transformers")),
    "llama.cpp": ("peers.llama_cpp_peer", "LlamaCpp", ("llama_cpp",)),
    "vllm": ("peers.vllm_peer", "Vllm", ()),
    "openai": ("peers.openai_peer", "OpenAi", ()),
}


@cache
def load(profile: str) -> Peer:
    """The peer of a profile; the test is skipped where it is not installed."""
    module, name, needed = PEERS[profile]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in needed:
            pytest.importorskip(package, reason=f"{package} is missing; llama_cpp takes a C++ compiler")
        peer: Peer = getattr(importlib.import_module(module), name)()
    return peer


def stages(profile: str) -> list[str]:
    """What a profile is tried with."""
    return [*NAMES[profile], *ALONE.get(profile, ()), COMBINATIONS]


@cache
def counted(profile: str, stage: str) -> Counts:
    """The trial of a stage, run once."""
    peer, rows = load(profile), ROWS.get(stage, SINGLE)
    return walks(stage, rows) if stage in POLICIES else trial(peer, stage, NAMES[profile], rows)
