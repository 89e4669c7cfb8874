"""Custom processors: what they see, what they may do, and what happens when they fail."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortition import (
    LogitsError,
    NoCandidateError,
    ParameterError,
    Sampler,
    SamplerInUseError,
    SamplingParams,
    reference,
    sample,
)
from sortition.reference import profiles
from strategies import finite_logits, histories, stage_params
from test_dlpack import Foreign

if TYPE_CHECKING:
    from collections.abc import Callable

ROW = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
INF = float("inf")


class Recorder:
    """Does nothing, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, history: np.ndarray, scores: np.ndarray) -> None:
        self.seen.append((history, scores))


def halved(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Halves every score and lowers what was said last: depends on the scores and on the history."""
    changed = scores * np.float32(0.5)
    if len(history) and history[-1] < len(scores):
        changed[history[-1]] -= 1
    return changed


def in_front(*names: str) -> tuple[str, ...]:
    """The default order with these stages in front."""
    return (*names, *(name for name in profiles.SOFT if name not in names))


def test_a_processor_sees_the_history_and_the_scores_of_its_place() -> None:
    """After the bias, before the penalties; int64 and float32."""
    recorder = Recorder()
    params = SamplingParams(processors=[recorder], suppress=[0], logit_bias={1: 5.0}, presence_penalty=1.0)
    sampler = Sampler(params, prompt=[3, 2])
    sampler.accept(1)
    assert sampler.process(ROW).tolist() == [-INF, 5.0, 2.0, 3.0]
    [(history, scores)] = recorder.seen
    assert (history.dtype, scores.dtype) == (np.int64, np.float32)
    assert (history.tolist(), scores.tolist()) == ([3, 2, 1], [-INF, 6.0, 2.0, 3.0])


def test_behind_a_cut_a_processor_sees_a_full_row() -> None:
    """Of a long row that has become a short list too: -inf where it was cut, the temperature written in."""
    recorder = Recorder()
    row = np.arange(5000, dtype=np.float32)
    order = in_front("temperature", "top_k", "custom")
    sampler = Sampler(SamplingParams(processors=[recorder], temperature=0.5, top_k=2, order=order))
    processed = sampler.process(row)
    [(_, scores)] = recorder.seen
    assert scores.shape == (5000,)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == [4998, 4999]
    assert scores[4998:].tolist() == processed[4998:].tolist() == [-2.0, 0.0]


def test_a_processor_sees_the_row_as_wide_as_it_came() -> None:
    """What lies beyond the vocabulary is -inf, and what it becomes is not looked at."""
    recorder = Recorder()

    def fill(_: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(scores)) < 3, scores, np.float32("nan"))

    sampler = Sampler(SamplingParams(processors=[recorder, fill]), vocab_size=3)
    assert sampler.process(ROW).tolist() == [0.0, 1.0, 2.0, -INF]
    assert recorder.seen[0][1].tolist() == [0.0, 1.0, 2.0, -INF]


@pytest.mark.parametrize(
    "convert",
    [
        *[np.asarray, np.float64, np.float16, list, lambda x: np.repeat(x, 2)[::2]],
        *[lambda x: x.astype(ml_dtypes.bfloat16), lambda x: np.repeat(x, 2).astype(ml_dtypes.bfloat16)[::2]],
        *[lambda x: Foreign(x.astype(ml_dtypes.bfloat16)), Foreign],
    ],
)
def test_what_a_processor_returns_becomes_the_scores(convert: Callable[[Any], Any]) -> None:
    """An array of any real type, strided or not, or a list; of NumPy, or of any library with DLPack."""
    params = SamplingParams(processors=[lambda _, scores: convert(scores * 2)])
    assert Sampler(params).process(ROW).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_a_processor_may_change_the_scores_in_place() -> None:
    """It returns nothing then; the caller's row is as it was."""

    def only_one(_: np.ndarray, scores: np.ndarray) -> None:
        scores[2:] = -np.inf

    row = ROW.copy()
    assert Sampler(SamplingParams(processors=[only_one])).process(row).tolist() == [0.0, 1.0, -INF, -INF]
    assert row.tolist() == ROW.tolist()


def test_processors_run_one_after_the_other() -> None:
    """(x + 1) * 2, not x * 2 + 1."""
    params = SamplingParams(processors=(lambda _, scores: scores + 1, lambda _, scores: scores * 2))
    assert Sampler(params).process(ROW).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_what_is_impossible_stays_so() -> None:
    """Removed by a rule, by a cut or by the processor before."""

    def remove(_: np.ndarray, scores: np.ndarray) -> None:
        scores[1] = -np.inf

    def revive(_: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return np.where(np.isneginf(scores), np.float32(100), scores)

    params = SamplingParams(processors=[remove, revive], suppress=[3], top_k=2, order=in_front("top_k", "custom"))
    assert Sampler(params).process(ROW).tolist() == [-INF, -INF, 2.0, -INF]


class OutOfSortsError(Exception):
    """Of a processor."""


def fail(_: np.ndarray, __: np.ndarray) -> None:
    raise OutOfSortsError


@pytest.mark.parametrize("call", ["sample", "draw", "process"])
def test_what_a_processor_raises_reaches_the_caller(call: str) -> None:
    """The same exception; the sampler is as it was, and draws what it would have drawn."""
    failing = [True]

    def sometimes(history: np.ndarray, scores: np.ndarray) -> None:
        if failing[0]:
            fail(history, scores)

    params = SamplingParams(processors=[sometimes], seed=5, presence_penalty=1.0)
    sampler, other = Sampler(params, prompt=[1]), Sampler(replace(params, processors=()), prompt=[1])
    with pytest.raises(OutOfSortsError):
        getattr(sampler, call)(ROW)
    failing[0] = False
    assert sampler.position == 0
    assert [sampler.sample(ROW) for _ in range(4)] == [other.sample(ROW) for _ in range(4)]


@pytest.mark.parametrize(
    ("answer", "token", "message"),
    [
        (np.zeros(3, np.float32), None, "shape (4,), got (3,)"),
        (np.zeros((1, 4), np.float32), None, "shape (4,), got (1, 4)"),
        (1.0, None, "shape (4,), got ()"),
        ("abcd", None, "what a processor returns must be real numbers, of a type of NumPy or bfloat16, got dtype <U4"),
        (np.zeros(4, np.complex64), None, "must be real numbers, of a type of NumPy or bfloat16, got dtype complex64"),
        (np.zeros(4, ml_dtypes.float8_e5m2), None, "of a type of NumPy or bfloat16, got dtype float8_e5m2"),
        ([[1.0], [1.0, 2.0]], None, "what a processor returns must be rows of one length and type, got [[1.0]"),
        (np.ma.masked_array([0.0] * 4, [True] * 4), None, "what a processor returns must be scores without a mask"),
        ([0.0, 0.0, float("nan"), 0.0], 2, "gave token 2 the score NaN: scores must be finite or -inf"),
        ([0.0, INF, 0.0, 0.0], 1, "gave token 1 the score inf"),
        ([0.0, 1e300, 0.0, 0.0], 1, "gave token 1 the score 1e+300"),
        ([0.0, 0.0, 0.0, -4e38], 3, "gave token 3 the score -4e+38"),
        ([float("nan"), 0.0, 0.0, 0.0], 0, "gave token 0 the score NaN"),
    ],
)
def test_an_answer_that_is_no_row_of_scores_is_refused(answer: Any, token: int | None, message: str) -> None:
    """Also where a rule had removed the token, as 0 here. The error names stage and token; nothing was drawn."""
    sampler = Sampler(SamplingParams(processors=[lambda *_: answer], suppress=[0]))
    with pytest.raises(LogitsError) as error:
        sampler.sample(ROW)
    assert message in str(error.value)
    assert (error.value.stage, error.value.token) == ("custom", token)
    assert sampler.position == 0


def test_a_processor_that_leaves_nothing_is_named_and_was_called_once() -> None:
    """The search for the stage to blame calls no one again."""
    calls = []

    def nothing(_: np.ndarray, scores: np.ndarray) -> np.ndarray:
        calls.append(1)
        return np.full_like(scores, -np.inf)

    with pytest.raises(NoCandidateError, match="custom removed the last candidate") as error:
        Sampler(SamplingParams(processors=[nothing], top_k=2)).sample(ROW)
    assert error.value.stage == "custom"
    assert calls == [1]


def test_a_sampler_cannot_be_used_by_its_own_processor() -> None:
    """It is in the middle of a draw: an error, not a deadlock."""
    samplers: list[Sampler] = []
    params = SamplingParams(processors=[lambda *_: samplers[0].sample(ROW)])
    samplers.append(Sampler(params))
    with pytest.raises(SamplerInUseError, match="this sampler is in use by another call"):
        samplers[0].sample(ROW)


def test_processors_serve_rows_without_state_too() -> None:
    """Each row is a call, with an empty history."""
    recorder = Recorder()
    assert sample([ROW, -ROW], temperature=0, processors=[recorder]).tolist() == [3, 0]
    assert [history.tolist() for history, _ in recorder.seen] == [[], []]


def test_parameters_with_processors_are_values_but_not_plain_ones() -> None:
    """They compare, hash and copy; a dictionary or a pickle of them would lose what they do."""
    params = SamplingParams(processors=[halved], top_k=3)
    assert params == SamplingParams(processors=(halved,), top_k=3) != SamplingParams(top_k=3)
    assert hash(params) == hash(replace(params))
    assert copy.deepcopy(params) == copy.copy(params) == params
    for lose in (SamplingParams.to_dict, pickle.dumps):
        with pytest.raises(ParameterError, match="processors must be empty"):
            lose(params)
    plain = replace(params, processors=())
    assert pickle.loads(pickle.dumps(plain)) == SamplingParams(**plain.to_dict()) == plain  # noqa: S301 - our own
    assert "processors" not in plain.to_dict()


@pytest.mark.parametrize("wrong", [3, halved, [halved, 3], "abc"])
def test_what_cannot_be_called_is_refused(wrong: Any) -> None:
    """At construction."""
    with pytest.raises(ParameterError, match="processors must be a sequence of callables, got"):
        SamplingParams(processors=wrong)


@given(data=st.data())
def test_among_all_stages_a_processor_does_what_the_reference_does(data: st.DataObject) -> None:
    """In any order, to the very token."""
    row = data.draw(finite_logits())
    params = data.draw(stage_params(len(row))) | {"order": data.draw(st.permutations(profiles.SOFT)), "seed": 3}
    prompt = data.draw(histories(len(row)))
    ours = Sampler(SamplingParams(**params, processors=[halved]), prompt=prompt)
    with np.errstate(over="ignore"):
        want = reference.draw(row, params, prompt=prompt, seed=3, custom=halved)
        assert ours.sample(row) == want.token
