"""llama.cpp draws by the law of the reference: pairs of tokens over many seeds, the second by what the first left.

What this package draws is held to the same law in `test_laws.py`. Seeds are fixed. Of a right sampler with seeds that
nobody has tried, one of all these tests fails once in a million times (G-tests, Bonferroni).
"""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from goodness import assert_follows
from laws import TABLE, law, law_of_pairs
from peers.registry import load

pytestmark = pytest.mark.heavy

SEEDS = 20_000

LAWS = {
    "plain": {},
    "dynamic temperature": {"temperature": 1.2, "dynatemp_range": 0.9, "dynatemp_exponent": 2.0},
    "cuts, warm": {"temperature": 1.7, "top_k": 5, "top_p": 0.75, "min_p": 0.3},
    "dry": {"dry_multiplier": 0.9, "dry_allowed_length": 1},
    "mirostat 1": {"mirostat": 1, "mirostat_tau": 1.2, "mirostat_eta": 0.9},
    "mirostat 2": {"mirostat": 2, "mirostat_tau": 1.2, "mirostat_eta": 0.9},
    "mirostat 2, warm": {"mirostat": 2, "mirostat_tau": 1.0, "mirostat_eta": 0.5, "temperature": 1.5},
    "adaptive-p": {"adaptive_target": 0.2, "adaptive_decay": 0.3},
    "adaptive-p behind cuts": {"adaptive_target": 0.25, "adaptive_decay": 0.5, "top_k": 4, "temperature": 1.3},
}
FIRST = {"xtc": {"xtc_probability": 0.35, "xtc_threshold": 0.2}}
"""Of which only the first token is looked at: `test_peers_differences.py` says what is the matter with the second."""

EACH = 1e-6 / (len(LAWS) + len(FIRST))


def drawn(params, count):
    """The first tokens of llama.cpp with the seeds from 0 on, a row for each."""
    load("llama.cpp")
    from peers.llama_cpp_peer import Walker

    tokens = np.zeros((SEEDS, count), int)
    for seed in range(SEEDS):
        with closing(Walker(params, len(TABLE), seed)) as walker:
            tokens[seed] = [walker.draw(TABLE)[0] for _ in range(count)]
    return tokens


@pytest.mark.parametrize("name", LAWS)
def test_pairs_of_llama_cpp_follow_the_law_of_the_reference(name):
    params = LAWS[name]
    first, second = drawn(params, 2).T
    assert_follows(first * len(TABLE) + second, law_of_pairs(TABLE, {"profile": "llama.cpp", **params}, []), EACH)


@pytest.mark.parametrize("name", FIRST)
def test_first_tokens_of_llama_cpp_follow_the_law_of_the_reference(name):
    params = {"profile": "llama.cpp", **FIRST[name]}
    assert_follows(drawn(FIRST[name], 1)[:, 0], law(TABLE, params), EACH)
