"""Every stage that tokens are drawn behind, alone and with others: pairs of tokens follow the law of the reference.

The reference says how likely each first token is, and each second one after it: with the history that it has then, with
what mirostat and adaptive-p remember of it, and with XTC acting or not. So a pair tests the probabilities, the memory,
and that the coins of two positions have nothing to do with each other.

Seeds are fixed. Of a right sampler with seeds that nobody has tried, one of all these tests fails once in a million
times (G-tests, Bonferroni).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goodness import assert_follows
from laws import TABLE, law, law_of_pairs
from sortition import Sampler, SamplingParams, sample

STREAMS = 30_000

LAWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "temperature": {"temperature": 0.6},
    "dynamic temperature": {"temperature": 1.2, "dynatemp_range": 0.9, "dynatemp_exponent": 2.0},
    "smoothing": {"smoothing_factor": 0.4},
    "smoothing, curved, cool, and top-p": {
        "smoothing_factor": 0.3,
        "smoothing_curve": 1.8,
        "temperature": 0.7,
        "top_p": 0.9,
    },
    "top-k": {"top_k": 3},
    "top-p": {"top_p": 0.8},
    "top-k and top-p": {"top_k": 5, "top_p": 0.75},
    "top-k, top-p, min-p, warm": {"temperature": 1.7, "top_k": 5, "top_p": 0.95, "min_p": 0.3},
    "min-p": {"min_p": 0.5},
    "min-keep": {"top_p": 0.1, "min_keep": 3},
    "min-keep of a cut by probability": {"epsilon": 0.9, "min_keep": 4},
    "typical": {"typical_p": 0.6},
    "top-n-sigma": {"top_n_sigma": 1.2},
    "min-k": {"min_k": 4.0},
    "p-less": {"p_less": 3.0},
    "epsilon": {"epsilon": 0.1},
    "eta": {"eta": 0.3},
    "top-a": {"top_a": 1.5},
    "tail-free": {"tfs": 0.7},
    "top-h": {"top_h": 0.7},
    "xtc": {"xtc_probability": 0.35, "xtc_threshold": 0.1},
    "xtc with a protected token": {"xtc_probability": 0.7, "xtc_threshold": 0.1, "xtc_protect": [1]},
    "xtc after top-p, warm": {"temperature": 1.4, "top_p": 0.9, "xtc_probability": 0.5, "xtc_threshold": 0.15},
    "llama.cpp": {"profile": "llama.cpp", "temperature": 1.5, "top_p": 0.8, "xtc_probability": 0.5},
    "vllm": {"profile": "vllm", "top_k": 3, "min_p": 0.2},
    "transformers": {"profile": "transformers", "top_k": 3, "typical_p": 0.9},
    "mirostat 1": {"mirostat": 1, "mirostat_tau": 1.2, "mirostat_eta": 0.9},
    "mirostat 2": {"mirostat": 2, "mirostat_tau": 1.2, "mirostat_eta": 0.9},
    "mirostat 2, warm": {"mirostat": 2, "mirostat_tau": 1.0, "mirostat_eta": 0.5, "temperature": 1.5},
    "adaptive-p": {"adaptive_target": 0.2, "adaptive_decay": 0.3},
    "adaptive-p without a memory": {"adaptive_target": 0.15, "adaptive_decay": 0.0},
    "adaptive-p behind cuts": {"adaptive_target": 0.25, "adaptive_decay": 0.5, "top_k": 4, "temperature": 1.3},
    "repetition": {"repetition_penalty": 1.8},
    "frequency and presence": {"frequency_penalty": 0.7, "presence_penalty": -0.4},
    "no 2-gram twice": {"no_repeat_ngram": 2},
    "dry": {"dry_multiplier": 0.9, "dry_allowed_length": 1},
    "bias": {"logit_bias": {0: 1.5, 3: -0.5}},
    "bad words": {"bad_words": [[1, 1], [4]]},
}

PROMPT = [1, 2, 1, 3, 2]

LARGE: list[dict[str, Any]] = [
    {},
    {"top_k": 500, "top_p": 0.9},
    {"mirostat": 2, "mirostat_tau": 3.0, "mirostat_eta": 0.1},
    {"typical_p": 0.5, "temperature": 1.3},
]

EACH = 1e-6 / (len(LAWS) + len(LARGE) + 5)
"""The false-alarm rate of one test; 5 are those of ways and of the two coins."""


def made(params: dict[str, Any], **more: Any) -> SamplingParams:
    """Parameters of a profile, if one is named."""
    given = {**params, **more}
    return SamplingParams.profile(given.pop("profile", "sortition"), **given)


@pytest.mark.parametrize("name", LAWS)
def test_pairs_of_tokens_follow_the_law_of_the_reference(name: str) -> None:
    """Over many streams of one seed."""
    params = LAWS[name]
    forks = Sampler(made(params, seed=20_260), PROMPT).fork(STREAMS)
    pairs = np.array([fork.sample(TABLE) * len(TABLE) + fork.sample(TABLE) for fork in forks])
    assert_follows(pairs, law_of_pairs(TABLE, params, PROMPT), EACH)


def test_a_law_is_none_that_any_other_would_pass() -> None:
    """The test can fail: pairs of one law are held to that of a slightly warmer one."""
    forks = Sampler(SamplingParams(seed=1), PROMPT).fork(STREAMS)
    pairs = np.array([fork.sample(TABLE) * len(TABLE) + fork.sample(TABLE) for fork in forks])
    with pytest.raises(AssertionError):
        assert_follows(pairs, law_of_pairs(TABLE, {"temperature": 1.1}, PROMPT), EACH)


def by_streams(params: SamplingParams) -> list[int]:
    return np.asarray(sample(np.broadcast_to(TABLE, (STREAMS, len(TABLE))), params)).tolist()


def by_positions(params: SamplingParams) -> list[int]:
    sampler = Sampler(params)
    return [sampler.sample(TABLE) for _ in range(STREAMS)]


def by_seeds(params: SamplingParams) -> list[int]:
    values = params.to_dict()
    return [sample(TABLE, SamplingParams(**{**values, "seed": seed})) for seed in range(STREAMS)]


@pytest.mark.parametrize("ways", [by_streams, by_positions, by_seeds])
def test_streams_positions_and_seeds_are_all_as_good(ways: Any) -> None:
    """Whichever of them counts up, while the others stand still."""
    params = {"temperature": 0.9, "xtc_probability": 0.5, "xtc_threshold": 0.2}
    assert_follows(np.array(ways(SamplingParams(**params, seed=3))), law(TABLE, params), EACH)


@pytest.mark.parametrize("probability", [0.15, 0.6])
def test_the_coin_of_xtc_and_the_coin_of_the_draw_are_independent(probability: float) -> None:
    """A table of two ways: whether XTC acted, which the number of the kept tells; and the token."""
    params = {"xtc_probability": probability, "xtc_threshold": 0.1}
    on, off = (law(TABLE, params | {"xtc_probability": p}) for p in (1.0, 0.0))
    assert (on > 0).sum() < (off > 0).sum()
    draws = [fork.draw(TABLE) for fork in Sampler(SamplingParams(**params, seed=8)).fork(STREAMS)]
    acted = np.array([draw.kept < len(TABLE) for draw in draws])
    cells = np.array([draw.token for draw in draws]) + len(TABLE) * acted
    assert_follows(cells, np.concatenate([(1 - probability) * off, probability * on]), EACH)


@pytest.mark.parametrize("params", LARGE, ids=str)
def test_a_large_vocabulary_follows_its_law(params: dict[str, Any]) -> None:
    """Over many blocks of scores: 20,000 tokens by Zipf's law, in no order."""
    row = -np.log(np.random.default_rng(5).permutation(20_000) + 1.0).astype(np.float32)
    tokens = sample(np.broadcast_to(row, (STREAMS, len(row))), seed=6, **params)
    assert_follows(np.asarray(tokens), law(row, params), EACH)
