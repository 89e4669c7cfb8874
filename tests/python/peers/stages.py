"""Random parameters of each stage, in the words of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from peers.rows import Row

__all__ = ["STAGES"]


def ids(rng: Generator, row: Row, most: int) -> list[int]:
    """Some ids, of likely tokens as often as not."""
    best = row.scores.argsort()[::-1][: 2 * most]
    pool = best if rng.random() < 0.5 else range(len(row.scores))
    return sorted({int(token) for token in rng.choice(pool, size=int(rng.integers(1, most + 1)))})


def bias(rng: Generator, row: Row) -> dict[int, float]:
    """Of some ids."""
    return {token: round(float(rng.uniform(-5, 5)), 3) for token in ids(rng, row, 8)}


def runs(rng: Generator, row: Row) -> list[list[int]]:
    """Sequences of ids; some begin as the context ends."""
    context = row.prompt + row.output
    return [[*context[len(context) - int(rng.integers(0, 3)) :], token] for token in ids(rng, row, 5)]


def penalty(rng: Generator) -> float:
    """As the API of OpenAI allows, and not 0."""
    return round(float(rng.uniform(0.05, 2) * rng.choice([-1, 1, 1])), 3)


def broken(rng: Generator, row: Row) -> dict[str, Any]:
    """DRY with breakers, which only llama.cpp has."""
    from peers.vocabulary import random_breakers

    given = random_breakers(rng, row.prompt + row.output, len(row.scores))
    return {**STAGES["dry"](rng, row), "dry_allowed_length": 1, "dry_breakers": given}


STAGES: dict[str, Callable[[Generator, Row], dict[str, Any]]] = {
    "allowed_ids": lambda rng, row: {"allowed_ids": ids(rng, row, 30)},
    "suppress": lambda rng, row: {"suppress": ids(rng, row, 30)},
    "min_tokens": lambda rng, row: {"min_tokens": int(rng.integers(1, 60))},
    "bad_words": lambda rng, row: {"bad_words": runs(rng, row)},
    "logit_bias": lambda rng, row: {"logit_bias": bias(rng, row)},
    "repetition": lambda rng, row: {"repetition_penalty": round(float(rng.uniform(0.7, 1.8)), 3)},
    "frequency": lambda rng, row: {"frequency_penalty": penalty(rng)},
    "presence": lambda rng, row: {"presence_penalty": penalty(rng)},
    "no_repeat_ngram": lambda rng, row: {"no_repeat_ngram": int(rng.integers(2, 4))},
    "dry": lambda rng, row: {
        "dry_multiplier": round(float(rng.uniform(0.1, 2)), 3),
        "dry_base": round(float(rng.uniform(1.1, 2)), 3),
        "dry_allowed_length": int(rng.integers(1, 4)),
        "dry_window": int(rng.choice([16, 64])),
    },
    "dry_breakers": broken,
    "temperature": lambda rng, row: {"temperature": float(rng.choice([0.0, 0.5, 0.7, 1.0, 1.3, 2.0]))},
    "dynamic_temperature": lambda rng, row: {
        "temperature": round(float(rng.uniform(0.6, 1.5)), 3),
        "dynatemp_range": round(float(rng.uniform(0.05, 0.55)), 3),
        "dynatemp_exponent": round(float(rng.uniform(0.5, 2)), 3),
    },
    "top_n_sigma": lambda rng, row: {"top_n_sigma": round(float(rng.uniform(0.2, 3)), 3)},
    "top_k": lambda rng, row: {"top_k": int(rng.choice([1, 2, 5, 20, 50, 200, 5000]))},
    "typical": lambda rng, row: {"typical_p": round(float(rng.uniform(0.05, 0.99)), 3)},
    "top_p": lambda rng, row: {"top_p": round(float(rng.choice([rng.uniform(0.05, 1), rng.uniform(0.9, 1)])), 3)},
    "min_p": lambda rng, row: {"min_p": round(float(rng.choice([rng.uniform(0.001, 0.9), 0.05])), 4)},
    "epsilon": lambda rng, row: {"epsilon": round(float(rng.choice([rng.uniform(1e-4, 0.3), 3e-4])), 5)},
    "eta": lambda rng, row: {"eta": round(float(rng.choice([rng.uniform(1e-4, 0.3), 2e-3])), 5)},
    "top_h": lambda rng, row: {"top_h": round(float(rng.uniform(0.05, 0.95)), 3)},
    "xtc": lambda rng, row: {
        "xtc_probability": float(rng.choice([0.0, 1.0])),  # each has coins of its own
        "xtc_threshold": round(float(rng.uniform(0.01, 0.49)), 3),
    },
    "min_keep": lambda rng, row: {"min_keep": int(rng.integers(2, 20)), "top_p": 0.3, "min_p": 0.4},
}
