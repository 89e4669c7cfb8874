"""What a case may expect, one function each. An expectation without a function is an error.

Numbers agree within 1e-5 times max(1, |number|), as the files say.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cases import Case, Side, logarithm

SEEDS = 20
"""How many seeds "whatever the seed" is tried with, where the case does not say."""
MANY_SEEDS = 300

Check = Callable[[Case, "Side", Any], None]
CHECKS: dict[str, Check] = {}


def expectation(check: Check) -> Check:
    """Register a check under its name."""
    CHECKS[check.__name__] = check
    return check


def run(case: Case, side: Side) -> None:
    """Hold a side to all that the case expects."""
    if unknown := set(case.expect) - set(CHECKS):
        msg = f"{case.file}: {case.id}: no check for {sorted(unknown)}"
        raise KeyError(msg)
    for name, value in case.expect.items():
        CHECKS[name](case, side, value)


def close(got: Any, want: Any) -> None:
    want = np.asarray(want, np.float64)
    got = np.asarray(got, np.float64)
    assert got.shape == want.shape
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    assert (np.abs(got[finite] - want[finite]) <= 1e-5 * np.maximum(1, np.abs(want[finite]))).all(), (got, want)


def processed(case: Case, side: Side) -> np.ndarray:
    return np.asarray(case.sampler(side).process(case.row(), mask=case.mask()))


def drawn(case: Case, side: Side, seeds: int) -> list[Any]:
    """What fresh samplers draw with seeds 0, 1, 2 and so on."""
    row, mask = case.row(), case.mask()
    return [
        case.sampler(side, **seeded(case, s)).draw(row, mask=mask, logprobs=case.get("logprobs")) for s in range(seeds)
    ]


def seeded(case: Case, seed: int) -> dict[str, int]:
    return {"seed": case.params.get("seed", seed)}


def tokens_of(case: Case, side: Side, seeds: int) -> set[int]:
    return {draw.token for draw in drawn(case, side, case.get("draws", seeds))}


@expectation
def kept(case: Case, side: Side, want: list[int]) -> None:
    assert np.flatnonzero(np.isfinite(processed(case, side))).tolist() == want


@expectation
def kept_count(case: Case, side: Side, want: int) -> None:
    assert int(np.isfinite(processed(case, side)).sum()) == want


@expectation
def scores(case: Case, side: Side, want: list[float]) -> None:
    close(processed(case, side), want)


@expectation
def probs(case: Case, side: Side, want: list[float]) -> None:
    result = processed(case, side).astype(np.float64)
    probability = np.exp(result - result.max())
    close(probability / probability.sum(), want)


@expectation
def finite(case: Case, side: Side, want: bool) -> None:
    assert bool(np.isfinite(processed(case, side)).all()) is want


@expectation
def input_unchanged(case: Case, side: Side, want: bool) -> None:
    row = case.row()
    before = row.tobytes()
    sampler = case.sampler(side)
    sampler.process(row)
    sampler.draw(row)
    assert (row.tobytes() == before) is want


@expectation
def token(case: Case, side: Side, want: int) -> None:
    assert tokens_of(case, side, SEEDS) == {want}


@expectation
def never(case: Case, side: Side, want: list[int]) -> None:
    assert not tokens_of(case, side, MANY_SEEDS) & set(want)


@expectation
def frequency(case: Case, side: Side, want: dict[str, Any]) -> None:
    if case.get("draft_probs") is not None:
        hits = [verified(case, side, seed)[0] == want["id"] for seed in range(case.get("draws"))]
    else:
        hits = [draw.token == want["id"] for draw in drawn(case, side, case.get("draws"))]
    assert abs(np.mean(hits) - want["value"]) <= want["tol"]


def verified(case: Case, side: Side, seed: int) -> list[int]:
    """Verify one drafted token, drawn from the draft's probabilities by another generator, with and without these."""
    probabilities = case.get("draft_probs")
    draft = [int(np.random.default_rng(seed).choice(len(probabilities), p=probabilities))]
    known = (logarithm(probabilities)[None],) if seed % 2 else ()
    return side.verify(case.sampler(side, seed=seed), [case.row()] * 2, draft, *known)


@expectation
def count(case: Case, side: Side, want: dict[str, Any]) -> None:
    tokens = side.sample_rows(case.row(), case.get("draws"), case.params, seed=0)
    assert want["low"] <= int((tokens == want["id"]).sum()) <= want["high"]


@expectation
def logprob(case: Case, side: Side, want: float) -> None:
    close([draw.logprob for draw in drawn(case, side, SEEDS)], [want] * SEEDS)


@expectation
def raw_logprob(case: Case, side: Side, want: float) -> None:
    close([draw.raw_logprob for draw in drawn(case, side, SEEDS)], [want] * SEEDS)


@expectation
def logprobs(case: Case, side: Side, want: list[float]) -> None:
    draws = drawn(case, side, SEEDS)
    close([draw.logprob for draw in draws], [want[draw.token] for draw in draws])
    with np.errstate(divide="ignore"):
        probs(case, side, np.exp(want).tolist())


@expectation
def raw_logprobs(case: Case, side: Side, want: list[float]) -> None:
    for draw in drawn(case, side, SEEDS):
        close(draw.raw_logprob, want[draw.token])
        close([value for _, value in draw.top], [want[i] for i, _ in draw.top])


@expectation
def rank(case: Case, side: Side, want: int) -> None:
    assert {draw.rank for draw in drawn(case, side, SEEDS)} == {want}


@expectation
def top_ids(case: Case, side: Side, want: list[int]) -> None:
    for draw in drawn(case, side, SEEDS):
        assert [i for i, _ in draw.top] == want


@expectation
def chosen_listed_once(case: Case, side: Side, want: bool) -> None:
    """The list has its size and no id twice, and the token stands beside it where it is not inside."""
    assert want is True
    for draw in drawn(case, side, SEEDS):
        ids = [i for i, _ in draw.top]
        assert len(ids) == len(set(ids)) == case.get("logprobs")
        assert ids.count(draw.token) == (draw.token in case.expect["top_ids"])


@expectation
def json_safe(case: Case, side: Side, want: bool) -> None:
    assert want is True
    for draw in drawn(case, side, SEEDS):
        assert json.loads(json.dumps(draw.to_dict(), allow_nan=False))["token"] == draw.token


def answer(case: Case, side: Side) -> Any:
    return side.call(case.get("call"), case.row(), case.get("args", {}))


@expectation
def value(case: Case, side: Side, want: float) -> None:
    close(answer(case, side), want)


@expectation
def values(case: Case, side: Side, want: list[float]) -> None:
    result = answer(case, side)
    close(result[0] if isinstance(result, tuple) else result, want)


@expectation
def ids(case: Case, side: Side, want: list[int]) -> None:
    result = answer(case, side)
    assert np.asarray(result[1] if isinstance(result, tuple) else result).tolist() == want


def failure(case: Case, side: Side, samplers: list[Any] | None = None) -> Exception:
    """The error of the case; the samplers in use are added to `samplers`."""
    into = [] if samplers is None else samplers
    with pytest.raises(Exception) as caught:  # noqa: PT011, PT012 - the class is what the case is about
        if case.get("rows") is not None:
            into.extend(case.row_samplers(side))
            side.batch(case.rows(), into, case.row_masks(), case.get("on_error", "raise"))
        else:
            into.append(case.sampler(side))
            into[0].draw(case.row(), mask=case.mask())
    return caught.value


@expectation
def error(case: Case, side: Side, want: str) -> None:
    assert side.error_name(failure(case, side)) == want


@expectation
def error_row(case: Case, side: Side, want: int) -> None:
    assert failure(case, side).row == want  # type: ignore[attr-defined]


@expectation
def error_token(case: Case, side: Side, want: int) -> None:
    assert failure(case, side).token == want  # type: ignore[attr-defined]


@expectation
def error_stage(case: Case, side: Side, want: str) -> None:
    assert failure(case, side).stage == want  # type: ignore[attr-defined]


@expectation
def error_mentions(case: Case, side: Side, want: list[str]) -> None:
    message = str(failure(case, side))
    assert [word for word in want if word not in message] == []


@expectation
def state_unchanged(case: Case, side: Side, want: bool) -> None:
    """Position and output of every sampler are those of one that never failed."""
    assert want is True
    samplers: list[Any] = []
    failure(case, side, samplers)
    outputs = case.get("row_outputs", [case.get("output", [])] * len(samplers))
    assert [list(sampler.output) for sampler in samplers] == outputs
    assert [sampler.position for sampler in samplers] == [len(output) for output in outputs]


def steps(case: Case, side: Side, rows: Sequence[np.ndarray], samplers: Sequence[Any]) -> list[tuple[int, ...]]:
    """What each row draws, step after step from the same scores."""
    masks = [None] * len(rows)
    columns = [side.batch(rows, samplers, masks, "raise")[0] for _ in range(case.get("steps", 1))]
    return list(zip(*columns, strict=True))


def sequence(case: Case, row: np.ndarray, sampler: Any) -> tuple[int, ...]:
    return tuple(int(sampler.sample(row)) for _ in range(case.get("steps", 1)))


@expectation
def tokens(case: Case, side: Side, want: list[int]) -> None:
    if (draft := case.get("draft")) is not None:
        assert side.verify(case.sampler(side), case.rows(), draft) == want
        return
    got, _ = side.batch(case.rows(), case.row_samplers(side), case.row_masks(), case.get("on_error", "raise"))
    assert got == want


@expectation
def errors(case: Case, side: Side, want: list[dict[str, Any]]) -> None:
    _, found = side.batch(case.rows(), case.row_samplers(side), case.row_masks(), case.get("on_error"))
    assert {row: side.error_name(e) for row, e in found.items()} == {e["row"]: e["error"] for e in want}


@expectation
def alone(case: Case, side: Side, want: list[int]) -> None:
    rows = case.rows()
    together = steps(case, side, rows, case.row_samplers(side))
    for r in want:
        assert sequence(case, rows[r], case.row_samplers(side)[r]) == together[r]


@expectation
def permuted(case: Case, side: Side, want: bool) -> None:
    rows = case.rows()
    straight = steps(case, side, rows, case.row_samplers(side))
    for order in itertools.permutations(range(len(rows))):
        samplers = case.row_samplers(side)
        turned = steps(case, side, [rows[r] for r in order], [samplers[r] for r in order])
        assert (turned == [straight[r] for r in order]) is want


@expectation
def rows_differ(case: Case, side: Side, want: bool) -> None:
    sequences = steps(case, side, case.rows(), case.row_samplers(side))
    assert (len(set(sequences)) == len(sequences)) is want


@expectation
def twice(case: Case, side: Side, want: str) -> None:
    first, second = (sequence(case, case.row(), case.sampler(side)) for _ in range(2))
    assert (first == second) is {"same": True, "differs": False}[want]


@expectation
def seed(case: Case, side: Side, want: int) -> None:
    assert case.sampler(side).seed == want


@expectation
def forks(case: Case, side: Side, want: str) -> None:
    assert want == "differ and repeat"
    first, again = (
        [sequence(case, case.row(), fork) for fork in case.sampler(side).fork(case.get("fork"))] for _ in range(2)
    )
    assert len(set(first)) == len(first) == case.get("fork")
    assert first == again


def said(case: Case, side: Side) -> Any:
    return side.generate(case.get("pieces"), case.get("eos_from"), case.params)


@expectation
def text(case: Case, side: Side, want: str) -> None:
    assert said(case, side).text == want


@expectation
def finish_reason(case: Case, side: Side, want: str) -> None:
    assert said(case, side).finish_reason == want


def best_beam(case: Case, side: Side) -> tuple[float, list[int]]:
    options = {name: case.get(name) for name in ("width", "alpha", "max_tokens", "stop_tokens")}
    return side.beam_search(logarithm(case.get("table")), case.prompt(), **options)


@expectation
def best(case: Case, side: Side, want: list[int]) -> None:
    found = best_beam(case, side)[1]
    assert [t for t in found if t not in case.get("stop_tokens")] == want


@expectation
def score(case: Case, side: Side, want: float) -> None:
    close(best_beam(case, side)[0], want)
