"""Scores that equal the last one that is kept: as many stay as are needed, those of the lowest ids.

Most rows that models give are of half precision, and full of ties. A cut of such a row is noted, not carried out, and
what follows must see it all the same: the draw, another cut, a temperature, a bias.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cases import ReferenceSampler
from sortition import Sampler, SamplingParams
from sortition.reference.profiles import SOFT, Profile

SIZES = (50_257, 20_011)
ROWS: dict[str, Any] = {
    "float16": lambda rng, size: rng.normal(0, 1, size).astype(np.float16),
    "bfloat16": lambda rng, size: rng.normal(0, 1, size).astype(ml_dtypes.bfloat16),
    "equal": lambda _, size: np.full(size, 2.5, np.float16),
    "equal but for holes": lambda rng, size: np.where(rng.random(size) < 0.4, -np.inf, -1.5),
    "equal but for one": lambda rng, size: np.where(np.arange(size) == rng.integers(size), 1.0, 0.0),
    "three values": lambda rng, size: rng.integers(0, 3, size),
    "zeros of both signs": lambda rng, size: np.where(rng.random(size) < 0.5, -0.0, 0.0),
    "the least there is": lambda _, size: np.full(size, np.finfo(np.float32).min),
    "steps": lambda _, size: -(np.arange(size) // 5_000),
    "steps up": lambda _, size: np.arange(size) // 5_000,
    "two values": lambda rng, size: rng.choice([-1.0, 1.0], size),
    "two values, few above": lambda _, size: np.where(np.arange(size) % 1_000 == 999, 1.0, -1.0),
    "one far above": lambda _, size: np.where(np.arange(size) == size // 2, 9.0, 1.5),
    "ascending": lambda rng, size: np.sort(rng.normal(0, 1, size)),
    "descending": lambda rng, size: -np.sort(rng.normal(0, 1, size)),
    "organ pipe": lambda _, size: np.minimum(np.arange(size), np.arange(size)[::-1]) / 5_000,
}
CUTS: dict[str, dict[str, Any]] = {
    "top-p": {"top_p": 0.95},
    "top-p, little": {"top_p": 0.3, "temperature": 1.5},
    "top-p, min-keep": {"top_p": 0.5, "min_keep": 15_000},
    "top-k": {"top_k": 15_000},
    "top-k, few": {"top_k": 50},
    "top-k, some": {"top_k": 1_000, "temperature": 0.7},
    "top-k, half": {"top_k": SIZES[0] // 2},
    "top-k, all but one": {"top_k": SIZES[1] - 1},
    "top-k, most": {"top_k": 19_000},
    "top-k, top-p": {"top_k": 15_000, "top_p": 0.9},
    "top-k, typical": {"top_k": 15_000, "typical_p": 0.8},
    "top-k, temperature range": {"top_k": 15_000, "dynatemp_range": 0.5},
    "top-k, bias": {"top_k": 15_000, "logit_bias": {3: 1.0}, "order": (*SOFT[1:], "logit_bias")},
    "top-p, min-p": {"top_p": 0.9, "min_p": 0.2},
    "top-h": {"top_h": 0.95},
    "top-h, little": {"top_h": 0.4},
    "bias, top-k, few": {"top_k": 50, "logit_bias": {3: 1.0, 4: -2.0, 9_000: 0.5}},
    "typical": {"typical_p": 0.9},
    "typical, little": {"typical_p": 0.2},
    "typical, min-keep": {"typical_p": 0.2, "min_keep": 12_345},
    "tail-free": {"tfs": 0.95},
    "min-k": {"min_k": 0.0},
}


def row_of(kind: str, size: int) -> np.ndarray:
    return ROWS[kind](np.random.default_rng(size), size).astype(np.float32)


def twins(params: dict[str, Any], size: int) -> tuple[Sampler, ReferenceSampler]:
    seeded = params | {"seed": size}
    order = tuple(params.get("order", SOFT))
    return Sampler(SamplingParams(**seeded)), ReferenceSampler(seeded | {"profile": Profile(order=order)})


def same(row: np.ndarray, params: dict[str, Any], draws: int = 3, mask: np.ndarray | None = None) -> None:
    """The candidates, and the tokens drawn of them, are the reference's."""
    ours, theirs = twins(params, row.size)
    got, want = ours.process(row, mask=mask), theirs.process(row, mask=mask)
    assert np.flatnonzero(got > -np.inf).tolist() == np.flatnonzero(want > -np.inf).tolist(), params
    for number in range(draws):
        drawn, expected = ours.draw(row, mask=mask, logprobs=3 * (number % 2)), theirs.draw(row, mask=mask)
        assert (drawn.token, drawn.kept) == (expected.token, expected.kept), params
        assert drawn.logprob == pytest.approx(expected.logprob, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_among_equal_scores_is_the_references(cut: str, kind: str) -> None:
    """With whole rows of them, and with some in every block."""
    for size in SIZES:
        same(row_of(kind, size), CUTS[cut])


@pytest.mark.parametrize("surplus", [0, 1, 2, 511, 512, 513, 5_999, 7_000, 11_998, 11_999])
@pytest.mark.parametrize("lead", [0, 1, 700])
def test_any_number_of_equal_scores_may_go(surplus: int, lead: int) -> None:
    """From none to all but one of twelve thousand, which stand in every block beside better and worse ones."""
    rng = np.random.default_rng(lead)
    row = rng.uniform(-2, -1, 40_000).astype(np.float32)
    places = rng.permutation(40_000)
    row[places[:12_000]] = 0.0
    row[places[12_000 : 12_000 + lead]] = rng.uniform(1, 2, lead)
    k = lead + 12_000 - surplus
    same(row, {"top_k": k}, draws=2)
    better, equal = np.flatnonzero(row > 0.0), np.flatnonzero(row == 0.0)
    kept = np.flatnonzero(Sampler(SamplingParams(top_k=k)).process(row) > -np.inf)
    assert kept.tolist() == sorted([*better, *equal[: 12_000 - surplus]])


@pytest.mark.parametrize("end", [1, 2, 511, 512, 513, 1_024, 9_998, 9_999])
def test_equal_scores_may_end_anywhere_in_a_block(end: int) -> None:
    """Of equal ones the mass goes by the number, and no coin finds one that is gone."""
    row = np.zeros(10_000, np.float32)
    params = {"top_p": (end - 0.5) / 10_000}
    same(row, params)
    sampler = Sampler(SamplingParams(seed=1, **params))
    drawn = {sampler.sample(row) for _ in range(400)}
    assert max(drawn) < end
    assert end > 2 or drawn == set(range(end))


@pytest.mark.parametrize("cut", CUTS)
def test_a_mask_leaves_equal_scores_to_lower_ids(cut: str) -> None:
    """Of those that it allows."""
    for kind in ("float16", "equal", "three values"):
        row = row_of(kind, 40_000)
        mask = np.random.default_rng(1).integers(0, 2**32, -(-row.size // 32), np.uint32).view(np.int32)
        same(row, CUTS[cut], mask=mask)


@pytest.mark.parametrize("cut", CUTS)
def test_equal_scores_of_half_precision_are_read_as_they_are(cut: str) -> None:
    """The same candidates and the same tokens as of single precision."""
    for half in (ml_dtypes.bfloat16, np.float16):
        row = np.random.default_rng(2).normal(0, 1, 40_000).astype(half)
        one, other = (Sampler(SamplingParams(seed=5, **CUTS[cut])) for _ in range(2))
        assert one.process(row).tobytes() == other.process(row.astype(np.float32)).tobytes()
        assert [one.sample(row) for _ in range(5)] == [other.sample(row.astype(np.float32)) for _ in range(5)]
