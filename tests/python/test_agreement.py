"""Ten thousand random (scores, parameters, seed) triples: the token from Rust is the token of the reference.

The weights are defined to the bit, so equality is demanded and nothing is allowed for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import ReferenceSampler
from sortition import NoCandidateError, Sampler, SamplingParams
from sortition.reference import EmptyRowError, profiles
from strategies import packed

COUNTS = {1: 500, 2: 1500, 15: 1900, 16: 1900, 17: 1900, 1_000: 1500, 32_000: 600, 151_936: 200}
"""How many triples at each size of vocabulary."""

KINDS = ("normal", "wide", "tied", "coarse", "peaked", "flat", "edges")


def scores(rng: np.random.Generator, size: int) -> np.ndarray:
    """A row of one of the kinds, one time in four with holes."""
    noise = rng.normal(0, 1, size).astype(np.float32)
    kind = KINDS[rng.integers(len(KINDS))]
    row = {
        "normal": noise * 3,
        "wide": noise * np.float32(10.0 ** rng.integers(1, 36)),
        "tied": np.round(noise * 2) / 2,
        "coarse": (noise.view(np.uint32) & 0xFFFF0000).view(np.float32) * 4,
        "peaked": noise + 20 * (np.arange(size) == rng.integers(size)),
        "flat": np.float32(rng.normal(0, 100)) + noise * np.float32(1e-6),
        "edges": rng.choice(np.array([-3.4e38, -1.0, 0.0, 1e-45, 1.0, 3.4e38], np.float32), size),
    }[kind].astype(np.float32)
    if rng.random() < 0.25:
        holes = rng.random(size) < rng.random()
        holes[rng.integers(size)] = False
        row[holes] = -np.inf
    return row


def parameters(rng: np.random.Generator, size: int) -> dict[str, Any]:
    """Parameters of the stages that the package has; each is off half of the time."""
    ids = rng.integers(0, size, 3).tolist()
    choices: dict[str, Any] = {
        "temperature": float(rng.choice([0.0, 1e-40, 0.2, 0.7, 1.0, 1.5, 4.0, 1e20])),
        "top_k": int(rng.integers(1, min(size, 200) + 2)),
        "top_p": float(rng.choice([1e-9, 0.3, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0])),
        "min_p": float(rng.choice([0.0, 1e-6, 0.02, 0.1, 0.5, 1.0])),
        "min_keep": int(rng.integers(1, 4)),
        "repetition_penalty": float(rng.uniform(0.7, 2.0)),
        "frequency_penalty": float(rng.uniform(-1, 1)),
        "presence_penalty": float(rng.uniform(-1, 1)),
        "logit_bias": dict(zip(ids, rng.uniform(-5, 5, 3).tolist(), strict=True)),
    }
    chosen = {name: value for name, value in choices.items() if rng.random() < 0.5}
    return chosen | {"seed": int(rng.integers(0, 2**63))}


def state(rng: np.random.Generator, size: int) -> dict[str, Any]:
    return {"prompt": rng.integers(0, size, rng.integers(0, 6)).tolist(), "stream": int(rng.integers(0, 2**32))}


@pytest.mark.parametrize("size", COUNTS)
def test_rust_and_reference_agree_on_the_very_token(size: int) -> None:
    """At every size of vocabulary, ties, holes and extremes included."""
    rng = np.random.default_rng(size)
    for number in range(COUNTS[size]):
        row, params, begin = scores(rng, size), parameters(rng, size), state(rng, size)
        ours, theirs = Sampler(SamplingParams(**params), **begin), ReferenceSampler(params, **begin)
        for token in rng.integers(0, size, rng.integers(0, 6)).tolist():
            ours.accept(token)
            theirs.accept(token)
        assert ours.sample(row) == theirs.sample(row), f"triple {number} of vocabulary {size}: {params}"


def penalties(rng: np.random.Generator, size: int) -> dict[str, Any]:
    """Penalties with what may come before, between and after them; most of them only lower."""
    least = -0.5 if rng.random() < 0.2 else 0.0
    choices: dict[str, Any] = {
        "repetition_penalty": 1.0 + float(rng.uniform(least, 2)),
        "frequency_penalty": float(rng.uniform(least, 1)),
        "presence_penalty": float(rng.choice([least, 0.0, 0.5, 3.0, 1e30])),
        "frequency_scope": "all",
        "presence_scope": "all",
        "presence_window": int(rng.integers(1, 2_000)),
        "top_k": int(rng.integers(1, 120)),
        "min_p": float(rng.choice([1e-6, 0.02, 0.1, 0.5, 1.0])),
        "top_p": float(rng.choice([0.5, 0.95])),
        "temperature": float(rng.choice([0.0, 0.0, 0.2, 0.7, 1.5])),
        "min_keep": int(rng.integers(1, 4)),
        "logit_bias": {int(rng.integers(size)): 30.0},
        "suppress": rng.integers(0, size, 3).tolist(),
        "order": rng.permutation(profiles.SOFT).tolist(),
    }
    rare = {"order": 0.2, "min_keep": 0.2, "repetition_penalty": 0.8}
    chosen = {name: value for name, value in choices.items() if rng.random() < rare.get(name, 0.5)}
    return chosen | {"seed": int(rng.integers(0, 2**63))}


@pytest.mark.parametrize("size", [300, 2_000, 32_000, 151_936])
def test_penalties_of_long_histories(size: int) -> None:
    """What was said is, by half, what the model would say next, and up to all of the vocabulary."""
    rng = np.random.default_rng(size)
    for number in range(200_000 // (size + 1_000) + 40):
        row, params = scores(rng, size), penalties(rng, size)
        said = int(rng.choice([150, 250, 1_000, 5_000]))
        best = np.argsort(-row, kind="stable")[: max(size // 100, 100)]
        prompt = rng.permutation(np.concatenate([rng.choice(best, said // 2), rng.integers(0, size, said // 2)]))
        begin = {"prompt": prompt.tolist()}
        ours, theirs = Sampler(SamplingParams(**params), **begin), ReferenceSampler(params, **begin)
        what = f"row {number} of vocabulary {size}: {params}"
        np.testing.assert_array_equal(ours.process(row), theirs.process(row), what)
        assert ours.sample(row) == theirs.sample(row), what


@pytest.mark.parametrize("size", [300, 2_000, 32_000])
def test_masks_and_what_changes_the_scores_they_leave(size: int) -> None:
    """Nearly all allowed, or a few; words that end before the row does; changes on both sides of it."""
    rng = np.random.default_rng(size)
    for number in range(200_000 // (size + 1_000) + 60):
        row, params = scores(rng, size), penalties(rng, size)
        allowed = rng.random(size) < rng.choice([0.99, 0.5, 0.01])
        allowed[rng.integers(size) if rng.random() < 0.2 else size :] = False
        allowed[rng.choice(np.flatnonzero(np.isfinite(row)))] = True
        mask = packed(allowed)[: np.flatnonzero(allowed)[-1] // 32 + 1]
        if rng.random() < 0.5:
            params["logit_bias"] = dict(zip(rng.integers(0, size, 50).tolist(), rng.normal(0, 5, 50), strict=True))
        begin = {"prompt": rng.integers(0, size, int(rng.choice([1, 150, 1_000]))).tolist()}
        ours, theirs = Sampler(SamplingParams(**params), **begin), ReferenceSampler(params, **begin)
        assert outcome(ours, row, mask) == outcome(theirs, row, mask), f"row {number} of vocabulary {size}: {params}"


def outcome(sampler: Any, row: np.ndarray, mask: np.ndarray) -> Any:
    """The scores and a token, or the stage that left none."""
    try:
        return sampler.process(row, mask=mask).tolist(), sampler.sample(row, mask=mask)
    except (NoCandidateError, EmptyRowError) as error:
        return error.stage


@pytest.mark.parametrize("cut", [{"top_k": 5}, {"min_p": 0.3}, {"temperature": 0.0}])
@pytest.mark.parametrize(
    "second", [{"frequency_penalty": 5.0}, {"frequency_penalty": -5.0}, {"repetition_penalty": 0.5}]
)
def test_a_penalty_behind_a_cut_waits_for_it(cut: dict[str, Any], second: dict[str, Any]) -> None:
    """It neither joins the one before nor is lost."""
    row = np.random.default_rng(0).permutation(3000).astype(np.float32) / 100
    first = ["presence", "temperature", "top_k", "min_p"]
    order = [*first, *(stage for stage in profiles.SOFT if stage not in first)]
    params = (
        {"presence_penalty": 0.01, "presence_scope": "all", "frequency_scope": "all", "order": order} | cut | second
    )
    prompt = np.argsort(-row)[:600:2].tolist()
    want = ReferenceSampler(params, prompt=prompt).process(row)
    np.testing.assert_array_equal(Sampler(SamplingParams(**params), prompt).process(row), want)


@pytest.mark.parametrize("first", ["temperature", "presence"])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("cut", [{"top_k": 5}, {"min_p": 0.3}])
def test_penalties_before_and_behind_a_temperature(cut: dict[str, Any], temperature: float, first: str) -> None:
    """Behind it they take from scores that it has divided; a cut behind both goes by what is left."""
    rng = np.random.default_rng(0)
    row = (rng.normal(0, 1, 100_000) + 12 * (rng.random(100_000) < 2e-4)).astype(np.float32)
    order = [first, *(stage for stage in ("temperature", "presence") if stage != first)]
    order += [stage for stage in profiles.SOFT if stage not in order]
    params = {"presence_penalty": 0.7, "presence_scope": "all", "temperature": temperature, "order": order} | cut
    prompt = np.argsort(-row)[:600:2].tolist()
    want = ReferenceSampler(params, prompt=prompt).process(row)
    np.testing.assert_array_equal(Sampler(SamplingParams(**params), prompt).process(row), want)


@pytest.mark.parametrize(("cut", "bias"), [({"top_k": 5}, 30.0), ({"top_p": 0.9}, 12.0)], ids=["noted", "copied"])
def test_penalties_see_what_has_changed_before(cut: dict[str, Any], bias: float) -> None:
    """A score that a bias has raised above its neighbours, of a row whose mask was only noted, or had copied it."""
    row = np.random.default_rng(0).normal(0, 1, 100_000).astype(np.float32)
    params = {"presence_penalty": 0.7, "presence_scope": "all", "logit_bias": {31_415: bias}} | cut
    prompt, mask = np.argsort(-row)[:600:2].tolist(), np.full(3_125, 0xFFFF_FFFF, np.uint32)
    want = ReferenceSampler(params, prompt=prompt).process(row, mask=mask)
    assert want[31_415] > row.max() + 5
    np.testing.assert_array_equal(Sampler(SamplingParams(**params), prompt).process(row, mask=mask), want)


def test_what_is_impossible_weighs_nothing_however_hot() -> None:
    """At this temperature the least of all floats weighs a thousandth of a score of 0; here most of a row is -inf."""
    row = np.full(64 * 512, -np.inf, np.float32)
    row[::512] = 0
    row[: 16 * 512 : 64] = 2e38
    for seed in range(100):
        params = {"temperature": 5e37, "seed": seed}
        assert Sampler(SamplingParams(**params)).sample(row) == ReferenceSampler(params).sample(row), seed


def test_the_triples_are_ten_thousand() -> None:
    """The number that the README gives."""
    assert sum(COUNTS.values()) == 10_000
