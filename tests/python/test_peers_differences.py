"""Where a profile and its stack differ, each difference by name: shown, so that it is known when it goes away."""

from __future__ import annotations

import platform
from contextlib import closing

import numpy as np
import pytest

from peers.registry import load
from peers.rows import Row, distribution
from sortition import SamplingParams

pytestmark = pytest.mark.heavy

SCORES = np.array([3.0, 2.5, 2.0, 1.0, 0.5, -1.0, -3.0], np.float32)


def row(scores, prompt=(5,), output=()):
    """A row after this context."""
    return Row(np.array(scores, np.float32), list(prompt), list(output), tied=False, masked=False)


def both(profile, params, scores=SCORES, **context):
    """Ours and theirs."""
    peer, asked = load(profile), row(scores, **context)
    return distribution(profile, params, asked, [0, 1]), peer.probabilities(params, asked, [0, 1])


def kept(p):
    """The ids that are left."""
    return np.flatnonzero(p).tolist()


@pytest.mark.parametrize("profile", ["transformers", "vllm", "llama.cpp"])
def test_of_equal_scores_the_lower_ids_stay_here_and_some_there(profile):
    """As many, and as likely."""
    ours, theirs = both(profile, {"top_p": 0.34}, np.zeros(40))
    assert kept(ours) == list(range(14))
    assert len(kept(theirs)) == 14
    assert np.sort(ours) == pytest.approx(np.sort(theirs), abs=1e-7)


def test_a_limit_that_is_met_is_met_here_and_rounding_decides_there():
    """14 of 40 equal scores are a mass of 0.35: here within 2^-20, there as float32 happens to have it."""
    ours, theirs = both("transformers", {"top_p": 0.35}, np.zeros(40))
    assert (len(kept(ours)), len(kept(theirs))) == (14, 15)


def test_transformers_passes_over_a_bad_word_that_is_a_stop_token():
    """Reading its configuration drops the word; the profile alone takes it at its word."""
    ours, theirs = both("transformers", {"bad_words": [[0], [2]]})
    assert kept(ours) == [1, 3, 4, 5, 6]
    assert kept(theirs) == [0, 1, 3, 4, 5, 6]
    config = {"do_sample": True, "bad_words_ids": [[0], [2]], "eos_token_id": [0, 1]}
    assert SamplingParams.from_transformers(config).bad_words == ((2,),)


def test_vllm_raises_a_low_temperature_and_bounds_a_bias():
    """Reading its request does so too; the profile alone takes them as they are."""
    params = {"temperature": 0.001, "logit_bias": {6: 101.0}}
    ours, theirs = both("vllm", params, [100.0, 99.99, 0, 0, 0, 0, 2.0])
    assert ours[6] == pytest.approx(1.0)
    assert theirs[6] == pytest.approx(1.0)
    ours, theirs = both("vllm", {"temperature": 0.001}, [0.01, 0.0])
    assert ours[1] == pytest.approx(1 / (1 + np.exp(10)), rel=1e-5)
    assert theirs[1] == pytest.approx(1 / (1 + np.e), rel=1e-5)
    read = SamplingParams.from_vllm(params)
    assert (read.temperature, read.logit_bias) == (0.01, {6: 100.0})


def test_llama_cpp_knows_no_entropy_beside_an_impossible_token():
    """Its 0 · ln 0 is no number: typical then keeps something else, here nothing is the matter."""
    scores = np.append(SCORES, -np.inf)
    ours, theirs = both("llama.cpp", {"typical_p": 0.2}, scores)
    alone, _ = both("llama.cpp", {"typical_p": 0.2})
    assert kept(ours) == kept(alone)
    assert kept(theirs) != kept(ours)


def test_llama_cpp_counts_impossible_tokens_in_the_largest_entropy():
    """So its dynamic temperature falls with each; here it is that of the candidates."""
    params = {"temperature": 1.0, "dynatemp_range": 0.5}
    ours, theirs = both("llama.cpp", params, [*SCORES, *[-np.inf] * 100])
    alone, _ = both("llama.cpp", params)
    assert ours[:7] == pytest.approx(alone, abs=1e-9)
    assert theirs[0] > ours[0] + 0.01


def test_llama_cpp_keeps_no_least_number_in_top_k_and_top_n_sigma():
    """Here `min_keep` holds for every cut."""
    ours, theirs = both("llama.cpp", {"min_keep": 3, "top_k": 1})
    assert (kept(ours), kept(theirs)) == ([0, 1, 2], [0])
    ours, theirs = both("llama.cpp", {"min_keep": 3, "top_n_sigma": 0.1})
    assert (kept(ours), kept(theirs)) == ([0, 1, 2], [0])


def test_llama_cpp_has_a_dynamic_temperature_around_zero():
    """Here a temperature of 0 is greedy, whatever the range."""
    ours, theirs = both("llama.cpp", {"temperature": 0.0, "dynatemp_range": 0.5})
    assert (kept(ours), kept(theirs)) == ([0], [0, 1, 2, 3, 4, 5, 6])


def test_llama_cpp_adds_up_the_entropy_in_float32():
    """Over a large vocabulary its dynamic temperature is further from that of float64 than this package's is."""
    scores = np.random.default_rng(3).normal(0, 3, 32_000).astype(np.float32)
    params = {"temperature": 1.0, "dynatemp_range": 0.5}
    ours, theirs = both("llama.cpp", params, scores)
    z = scores.astype(np.float64) - scores.max()
    p = np.exp(z) / np.exp(z).sum()
    temperature = 0.5 - (p * np.log(p)).sum() / np.log(len(p))
    exact = np.exp(z / temperature) / np.exp(z / temperature).sum()
    assert np.abs(ours - exact).max() < 1e-7
    assert np.abs(ours - exact).max() < np.abs(theirs - exact).max() < 2e-5


@pytest.mark.parametrize("scores", [np.zeros(40), np.linspace(0, 0.1, 40)], ids=["equal", "almost equal"])
def test_llama_cpp_counts_further_than_an_int_goes_where_mirostat_1_would_keep_all(scores):
    """As much as its processor makes of that: on x86 the best alone is left, here all."""
    ours, theirs = first_of_mirostat_1(scores)
    assert len(kept(ours)) == 40
    assert len(kept(theirs)) == (1 if platform.machine() in {"x86_64", "AMD64"} else 40)


def test_llama_cpp_finds_no_law_beside_an_impossible_token():
    """Mirostat 1 divides by its probability of 0 there; here the law is that of the candidates."""
    ours, theirs = first_of_mirostat_1([*SCORES, -np.inf, -np.inf])
    assert (len(kept(ours)), len(kept(theirs))) == (7, 1)


def first_of_mirostat_1(scores):
    """What is left for the first token, with mu at 6 bits."""
    load("llama.cpp")
    from peers.llama_cpp_peer import Walker

    params, scores = {"mirostat": 1, "mirostat_tau": 3.0, "mirostat_eta": 0.1}, np.array(scores, np.float32)
    with closing(Walker(params, len(scores), 1)) as walker:
        return distribution("llama.cpp", params, row(scores), []), walker.draw(scores)[1]


def test_llama_cpp_tosses_for_xtc_what_it_drew_the_token_before_by():
    """Its samplers have a generator each, of one seed: whether XTC acts hangs on the last coin of the draw."""
    load("llama.cpp")
    from peers.llama_cpp_peer import Walker

    equal, params = np.zeros(2, np.float32), {"xtc_probability": 0.5, "xtc_threshold": 0.1}
    pairs = []
    for seed in range(400):
        with closing(Walker(params, 2, seed)) as walker:
            (token, before), (_, after) = walker.draw(equal), walker.draw(equal)
            if len(kept(before)) == 2:
                pairs.append((token == 0, len(kept(after)) == 1))
    assert len(pairs) > 100
    assert {acted for _, acted in pairs} == {True, False}
    assert all(low == acted for low, acted in pairs)


def test_llama_cpp_looks_at_the_breaker_that_begins_last():
    """Here at the one that ends last. Of `!` `#` `"` `(` `!` the end is a breaker, and in it is another, the `(`."""
    load("llama.cpp")
    from peers.vocabulary import breakers, tokens

    context = [token for text in (b"!", b"#", b'"', b"(", b"!") for token in tokens(text)]
    params = {"dry_multiplier": 1.0, "dry_allowed_length": 1, "dry_breakers": breakers(b"(", b'"(!', size=60)}
    assert tuple(context[2:]) in params["dry_breakers"]
    ours, theirs = both("llama.cpp", params, np.zeros(60), prompt=context[:1], output=context[1:])
    assert np.ptp(ours) == 0
    assert kept(theirs < theirs.max()) == [context[1]]


def test_llama_cpp_bounds_the_decay_of_adaptive_p():
    """Reading its request does so too; the profile alone takes it as it is."""
    load("llama.cpp")
    from peers.llama_cpp_peer import Walker

    def after_the_best(decay):
        params = {"adaptive_target": 0.9, "adaptive_decay": decay}
        for seed in range(100):
            with closing(Walker(params, len(SCORES), seed)) as walker:
                if walker.draw(SCORES)[0] == 0:
                    return walker.draw(SCORES)[1]
        return None

    assert after_the_best(0.999) == pytest.approx(after_the_best(0.99), abs=1e-7)
    request = {"adaptive_target": 0.9, "adaptive_decay": 0.999, "samplers": ["adaptive_p"]}
    assert SamplingParams.from_llama_cpp(request).adaptive_decay == 0.99
