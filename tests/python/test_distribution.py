"""Tokens come as often as their probabilities say.

Every test has fixed seeds, so it passes always or never; the false-alarm rate is that of a right sampler with seeds
that nobody has tried: 1e-6 for each. The laws of all stages are in test_laws.py, rare tokens in tests/rust/tails.rs,
and what is certain in the same examples in test_worked_examples.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goodness import assert_follows
from sortition import Sampler, SamplingParams, sample

WEATHER = {"真": 0.42, "很": 0.18, "不": 0.10, "挺": 0.08, "特别": 0.05}
"""What follows 今天天气, "the weather today": really, very, not, rather, especially; .17 is left for all others."""
VOCAB = 50_000


def draws(probabilities: Any, count: int = 100_000, **params: Any) -> np.ndarray:
    """One token for each of `count` streams."""
    with np.errstate(divide="ignore"):
        row = np.log(np.asarray(probabilities, np.float64)).astype(np.float32)
    return np.asarray(sample(np.broadcast_to(row, (count, len(row))), **({"seed": 2026} | params)))


def weather() -> tuple[np.ndarray, np.ndarray]:
    """The scores of a vocabulary, and where in it the five words are."""
    places = np.array([31_415, 7, 49_999, 20_000, 16])
    probabilities = np.full(VOCAB, (1 - sum(WEATHER.values())) / (VOCAB - len(WEATHER)))
    probabilities[places] = list(WEATHER.values())
    return np.log(probabilities).astype(np.float32), places


def words(tokens: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Tokens as the number of the word; 5 for any other."""
    which = np.full(VOCAB, len(places))
    which[places] = np.arange(len(places))
    return which[tokens]


def test_the_word_after_the_weather_today_follows_the_table() -> None:
    """真 .42, 很 .18, 不 .10, 挺 .08, 特别 .05, and .17 over 49,995 others."""
    row, places = weather()
    tokens = sample(np.broadcast_to(row, (20_000, VOCAB)), seed=1)
    assert_follows(words(tokens, places), np.array([*WEATHER.values(), 0.17]))


def test_the_three_best_words_share_what_top_k_3_leaves() -> None:
    """.42 .18 .10 of .70: .6, .257, .143."""
    row, places = weather()
    tokens = sample(np.broadcast_to(row, (20_000, VOCAB)), seed=2, top_k=3)
    assert_follows(words(tokens, places), np.array([0.6, 0.257142857, 0.142857143, 0, 0, 0]))


TABLE = np.array([0.55, 0.25, 0.12, 0.05, 0.03])


@pytest.mark.parametrize("temperature", [0.5, 1, 2, 10.0])
def test_temperature_raises_chances_to_its_inverse(temperature: float) -> None:
    """P^(1/T), renormalised: colder narrows, warmer widens."""
    assert_follows(draws(TABLE, temperature=temperature), TABLE ** (1 / temperature))


@pytest.mark.parametrize(
    ("params", "left"),
    [
        ({"top_k": 2}, [0.55, 0.25, 0, 0, 0]),
        ({"top_p": 0.9}, [0.55, 0.25, 0.12, 0, 0]),
        ({"min_p": 0.2}, [0.55, 0.25, 0.12, 0, 0]),
        ({"top_k": 4, "top_p": 0.8}, [0.55, 0.25, 0, 0, 0]),
        ({"suppress": [0]}, [0, 0.25, 0.12, 0.05, 0.03]),
        ({"allowed_ids": [1, 4]}, [0, 0.25, 0, 0, 0.03]),
        ({"logit_bias": {4: math.log(10)}}, [0.55, 0.25, 0.12, 0.05, 0.30]),
    ],
    ids=str,
)
def test_what_a_cut_leaves_shares_in_proportion(params: dict[str, Any], left: list[float]) -> None:
    """Tokens that were cut never come; the ratios of the others are as before."""
    assert_follows(draws(TABLE, **params), np.array(left))


@pytest.mark.parametrize(
    ("params", "probabilities"),
    [
        # The output was 0 0 1. ln P is negative, so repetition multiplies it: P^2.
        ({"repetition_penalty": 2.0}, [0.5**2, 0.3**2, 0.2]),
        ({"frequency_penalty": math.log(2)}, [0.5 / 4, 0.3 / 2, 0.2]),
        ({"presence_penalty": math.log(2)}, [0.5 / 2, 0.3 / 2, 0.2]),
        ({"presence_penalty": -math.log(2)}, [0.5 * 2, 0.3 * 2, 0.2]),
    ],
    ids=str,
)
def test_penalties_change_chances_as_defined(params: dict[str, float], probabilities: list[float]) -> None:
    """After the output 0 0 1, over many streams."""
    parent = Sampler(SamplingParams(seed=5, **params))
    for token in (0, 0, 1):
        parent.accept(token)
    row = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    assert_follows(np.array([fork.sample(row) for fork in parent.fork(20_000)]), np.array(probabilities))


def test_the_tokens_of_one_sequence_are_independent() -> None:
    """Pairs of neighbours follow the product of their probabilities: only the position moves the coin."""
    probabilities = np.array([0.5, 0.3, 0.2])
    sampler, row = Sampler(SamplingParams(seed=11)), np.log(probabilities).astype(np.float32)
    tokens = np.array([sampler.sample(row) for _ in range(40_000)]).reshape(-1, 2)
    assert_follows(tokens @ np.array([3, 1]), np.outer(probabilities, probabilities).ravel())


def test_xtc_excludes_as_often_as_its_own_coin_says() -> None:
    """One time in two .5 and .3 go: half of .5 .3 .15 .05 and half of 0 0 .75 .25."""
    tokens = draws([0.5, 0.3, 0.15, 0.05], xtc_probability=0.5, xtc_threshold=0.1)
    assert_follows(tokens, np.array([0.25, 0.15, 0.45, 0.15]))


def test_the_coin_of_xtc_is_not_that_of_the_draw() -> None:
    """One time in ten, whatever the token: else exclusion would go with low tokens."""
    tokens = draws([0.4, 0.35, 0.25], xtc_probability=0.1, xtc_threshold=0.3)
    assert_follows(tokens, np.array([0.9 * 0.4, 0.9 * 0.35 + 0.1 * 0.35 / 0.6, 0.9 * 0.25 + 0.1 * 0.25 / 0.6]))
