"""The vocabulary of the property tests: scores, parameters, histories and masks.

Sizes stand around the sixteen lanes of a kernel. Scores come with what breaks samplers: ties, holes of -inf, denormals,
the edges of float32; and with what models hand out.

Every run tries the same examples, so that a failure repeats; SORTITION_EXAMPLES=10000 tries more of them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=int(os.environ.get("SORTITION_EXAMPLES", "100"))
)
settings.load_profile("repeatable")

SIZES = (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 257, 1000, 1021)
EDGES = (0.0, -0.0, 1e-45, -1e-45, 1e-38, -1e-38, 3.4e38, -3.4e38, 3.4028235e38, -3.4028235e38, 1.0, 1.0000001)

sizes = st.sampled_from(SIZES)
seeds = st.integers(0, 2**64 - 1)


@st.composite
def finite_logits(draw: st.DrawFn, size: st.SearchStrategy[int] = sizes) -> np.ndarray:
    """One row of float32 scores with at least one finite, and neither NaN nor +inf."""
    count = draw(size)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from([_edges, _tied, _close, _peaked, _flat, _like_a_model, _wide, _coarse]))
    row = kind(rng, count).astype(np.float32)
    if draw(st.booleans()):
        holes = rng.random(count) < draw(st.sampled_from([0.1, 0.5, 0.9]))
        holes[rng.integers(count)] = False
        row[holes] = -np.inf
    return row


def _edges(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.choice(EDGES, count)


def _tied(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(-2, 3, count) / 2


def _close(rng: np.random.Generator, count: int) -> np.ndarray:
    """Few different scores, of which some differ by less than their probabilities can show."""
    return rng.integers(-1, 2, count) + rng.choice([0.0, 0.0, 1e-20, 2.0**-24, 2.0**-22, 2.0**-18], count)


def _peaked(rng: np.random.Generator, count: int) -> np.ndarray:
    row = rng.normal(0, 1, count)
    row[rng.integers(count)] += 25
    return row


def _flat(rng: np.random.Generator, count: int) -> np.ndarray:
    return 7 + rng.normal(0, 1e-6, count)


def _like_a_model(rng: np.random.Generator, count: int) -> np.ndarray:
    """A bulk of unlikely tokens, and a few that stand out."""
    row = rng.normal(-4, 2, count)
    likely = rng.choice(count, min(count, 8), replace=False)
    row[likely] += rng.exponential(6, len(likely))
    return row


def _wide(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(0, 10.0 ** rng.integers(0, 30), count)


def _coarse(rng: np.random.Generator, count: int) -> np.ndarray:
    """Scores as bfloat16 leaves them: eight bits, so many ties."""
    return (rng.normal(0, 4, count).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


temperatures = st.sampled_from([0, 1, 1.0, 1e-40, 1e-6, 0.1, 0.7, 1.3, 2, 50.0, 1e30]) | st.floats(0.05, 5)
smoothing = st.fixed_dictionaries(
    {
        "smoothing_factor": st.sampled_from([1e-30, 0.05, 0.3, 1.0, 4.0, 1e30, 1e300]) | st.floats(0.01, 3),
        "smoothing_curve": st.sampled_from([-1e300, -2, 0.5, 1, 1.7, 3.0, 5.0, 1e300]) | st.floats(-1, 6),
    }
)
additive = st.sampled_from([-1.5, 0.0, 0.1, 0.5, 2.0, 1e30, 3.4e38]) | st.floats(-2, 2)


@st.composite
def sampling_params(draw: st.DrawFn, vocab: int) -> dict[str, Any]:
    """Parameters that the package has, each present or not, valid for a vocabulary of this size."""
    ids = st.integers(0, vocab - 1)
    some = st.lists(ids, max_size=4)
    choices: dict[str, st.SearchStrategy[Any]] = {
        "temperature": temperatures,
        "top_k": st.integers(1, 2 * vocab),
        "top_p": st.sampled_from([1e-9, 0.1, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0, 1]) | st.floats(0.01, 1),
        "min_p": st.sampled_from([0.0, 1e-30, 0.01, 0.1, 0.5, 1.0]) | st.floats(0, 1),
        "min_keep": st.integers(1, 5),
        "logit_bias": st.dictionaries(ids, st.sampled_from([-100.0, -1.0, 0.0, 0.3, 5.0, 3.4e38]), max_size=4),
    }
    if draw(st.booleans()):
        choices |= {"repetition_penalty": st.sampled_from([0.5, 1.0, 1.1, 2.0, 1e30]) | st.floats(0.5, 3)}
        choices |= {f"{name}_penalty": additive for name in ("frequency", "presence")}
        for name in ("repetition", "frequency", "presence"):
            choices[f"{name}_scope"] = st.sampled_from(["output", "all"])
            choices[f"{name}_window"] = st.integers(1, 8)
            choices[f"{name}_exclude"] = some
    names = draw(st.sets(st.sampled_from(sorted(choices)), max_size=len(choices)))
    return {name: draw(choices[name]) for name in sorted(names)}


@st.composite
def stage_params(draw: st.DrawFn, vocab: int) -> dict[str, Any]:
    """Any subset of all stages, with values from the whole range and from where it matters."""
    params = draw(sampling_params(vocab))
    share = st.sampled_from([1e-9, 0.1, 0.3, 0.5, 0.75, 0.9, 0.999, 1.0]) | st.floats(0.01, 1)
    least = st.sampled_from([1e-300, 1e-9, 1e-3, 0.05, 0.2, 0.5, 0.99]) | st.floats(1e-6, 0.999)
    cuts: dict[str, st.SearchStrategy[Any]] = {
        "top_n_sigma": st.floats(0.01, 4),
        "min_k": st.sampled_from([0, 1.0, 17.5, 200.0]),
        "typical_p": share,
        "p_less": st.sampled_from([1.5, 2, 3.0, 10.0]),
        "epsilon": least,
        "eta": least,
        "top_a": st.sampled_from([1e-9, 0.01, 0.2, 0.9, 2.0]),
        "tfs": share,
        "top_h": st.sampled_from([1e-6, 0.1, 0.4, 0.7, 0.99, 1.0, 3.0]),
        "xtc_probability": st.sampled_from([0, 0.3, 1.0]),
        "top_k": st.integers(1, 2 * vocab),
        "top_p": share,
        "min_p": st.sampled_from([0.0, 1e-30, 0.01, 0.1, 0.5, 1.0]),
    }
    details: dict[str, st.SearchStrategy[Any]] = {
        "xtc_threshold": st.sampled_from([1e-9, 0.01, 0.1, 0.3, 0.5, 0.6]),
        "xtc_protect": st.lists(st.integers(0, vocab - 1), max_size=3),
    }
    policies: dict[str, st.SearchStrategy[Any]] = {
        "mirostat": st.sampled_from([1, 2]),
        "adaptive_target": st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    }
    for name in cuts:
        params.pop(name, None)
    kind = draw(st.sampled_from(["cuts"] * 4 + [*policies]))
    if kind != "mirostat":  # which takes the place of the cuts
        names = draw(st.sets(st.sampled_from(sorted(cuts)), max_size=4))
        params |= {name: draw(cuts[name]) for name in sorted(names)}
        params |= {name: draw(strategy) for name, strategy in details.items()}
    if kind in policies:
        params[kind] = draw(policies[kind])
    if draw(st.booleans()):
        params["dynatemp_range"] = draw(st.sampled_from([0.3, 1.0, 5.0]))
        params["dynatemp_exponent"] = draw(st.sampled_from([0, 0.5, 1, 2.0]))
    if draw(st.booleans()):
        params |= draw(smoothing)
    return params


@st.composite
def history_params(draw: st.DrawFn, vocab: int) -> dict[str, Any]:
    """Stages that go by what was said, for a history of few different ids: each present or not."""
    few = st.integers(0, min(vocab, 4) - 1)
    runs = st.lists(st.lists(few, min_size=1, max_size=4), max_size=3)
    choices: dict[str, st.SearchStrategy[Any]] = {
        "no_repeat_ngram": st.integers(1, 5),
        "bad_words": runs,
        "dry_multiplier": st.sampled_from([-0.5, 0.0, 0.8, 1e30, 3.4e38]),
        "dry_base": st.sampled_from([1, 1.75, 2.0, 60.0, 1e9, 1e300]),
        "dry_allowed_length": st.integers(1, 4),
        "dry_window": st.integers(1, 30),
        "dry_breakers": runs,
    }
    names = draw(st.sets(st.sampled_from(sorted(choices)), min_size=1))
    return {name: draw(choices[name]) for name in sorted(names)}


def scripts(vocab: int) -> st.SearchStrategy[list[int]]:
    """What happens to a history of few different ids: one more, or as many back as a negative one says."""
    few = st.integers(0, min(vocab, 4) - 1)
    return st.lists(few | few | few | st.integers(-6, -1), max_size=60)


def histories(vocab: int) -> st.SearchStrategy[list[int]]:
    """Token ids that a vocabulary of this size holds."""
    return st.lists(st.integers(0, vocab - 1), max_size=12)


@st.composite
def masks(draw: st.DrawFn, row: np.ndarray) -> np.ndarray:
    """Packed words that leave at least one finite score of the row."""
    allowed = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).random(len(row)) < draw(st.floats(0, 1))
    allowed[draw(st.sampled_from(np.flatnonzero(np.isfinite(row)).tolist()))] = True
    return packed(allowed)


def packed(allowed: np.ndarray) -> np.ndarray:
    """Bit t & 31 of word t >> 5 is token t.

    >>> packed(np.array([True, False, True]))
    array([5], dtype=uint32)
    """
    padded = np.zeros(-(-len(allowed) // 32) * 32, np.bool_)
    padded[: len(allowed)] = allowed
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)
