"""Scores and masks that no token can come from are refused, with the place and the stage, and nothing changes.

Also by the functions that take a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sortition
from refusals import INF, NAN, ROW, said, unchanged, used
from sortition import LogitsError, NoCandidateError, ParameterError, Sampler, SamplingParams, sample

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRANCES: dict[str, Callable[[Sampler, Any], Any]] = {
    "sample": lambda sampler, logits: sampler.sample(logits),
    "draw": lambda sampler, logits: sampler.draw(logits),
    "process": lambda sampler, logits: sampler.process(logits),
    "sample()": lambda _, logits: sample(logits, seed=1),
}

NO_SCORES: dict[str, Any] = {
    "empty": np.zeros(0, np.float32),
    "a number": 3.0,
    "text": "abc",
    "a list of text": ["1", "2"],
    "None": None,
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j, 0]),
    "objects": np.array([1.0, 2.0], object),
    "dates": np.array(["2026-11-29"], "datetime64[D]"),
    "ragged": [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("entrance", sorted(ENTRANCES))
@pytest.mark.parametrize("kind", sorted(NO_SCORES))
def test_what_is_no_row_of_scores_is_refused(kind: str, entrance: str) -> None:
    """A LogitsError says what came."""
    sampler = used()
    with pytest.raises(LogitsError) as caught:
        ENTRANCES[entrance](sampler, NO_SCORES[kind])
    assert said(caught.value, "got")
    unchanged(sampler)


def test_one_sampler_takes_one_row() -> None:
    """A table is for `sample`."""
    sampler = used()
    with pytest.raises(LogitsError, match=r"\(2, 4\)"):
        sampler.sample(np.stack([ROW, ROW]))
    unchanged(sampler)


@pytest.mark.parametrize("entrance", sorted(ENTRANCES))
@pytest.mark.parametrize("bad", [NAN, INF, -NAN], ids=["nan", "inf", "-nan"])
@pytest.mark.parametrize(("size", "token"), [(1, 0), (4, 3), (16, 0), (17, 16), (1000, 999), (1000, 500)])
def test_nan_and_plus_inf_never_become_a_token(size: int, token: int, bad: float, entrance: str) -> None:
    """Wherever in the row, and the error says where: the first one."""
    row = np.zeros(size, np.float32)
    row[token] = bad
    row[token + 1 :] = NAN
    sampler = used()
    with pytest.raises(LogitsError) as caught:
        ENTRANCES[entrance](sampler, row)
    assert caught.value.token == token
    assert not isinstance(caught.value, NoCandidateError)
    assert said(caught.value, str(token))
    unchanged(sampler)


@pytest.mark.parametrize("params", [{"temperature": 0}, {"suppress": [1]}, {"allowed_ids": [0]}, {"top_k": 1}], ids=str)
def test_nan_is_found_whatever_the_parameters(params: dict[str, Any]) -> None:
    """Also under a rule that removes it, and under the arg-max."""
    with pytest.raises(LogitsError) as caught:
        sample([0.0, NAN], **params)
    assert caught.value.token == 1


def test_nan_beyond_the_vocabulary_is_not_looked_at() -> None:
    """A padded head may hold anything."""
    sampler = Sampler(SamplingParams(temperature=0), vocab_size=2)
    assert sampler.sample([0.0, 1.0, NAN, INF]) == 1
    assert np.isneginf(sampler.process([0.0, 1.0, NAN, INF])[2:]).all()


@pytest.mark.parametrize("padding", [1e39, -1e39, 1e300, NAN, INF, -INF])
def test_padding_may_be_what_float32_has_no_room_for(padding: float) -> None:
    """In float64, by every door of a sampler that has a vocabulary."""
    row = [0.0, 1.0, padding, -padding]
    params = SamplingParams(temperature=0)
    sampler = Sampler(params, vocab_size=2)
    assert sampler.sample(row) == sampler.draw(row).token == 1
    assert Sampler(vocab_size=2).process(row).tolist() == [0.0, 1.0, -INF, -INF]
    assert sampler.verify([row, row], [1]) == [1, 1]
    assert sampler.verify([row, row], [1], [row]) == [1, 1]
    assert sortition.sample_batch([row, row], [sampler, Sampler(params, vocab_size=2)]).tokens.tolist() == [1, 1]


@pytest.mark.parametrize(("score", "message"), [(1e39, "above 3.4028e38"), (-1e39, "below -3.4028e38")])
@pytest.mark.parametrize("entrance", sorted(ENTRANCES))
def test_a_score_that_float32_has_no_room_for_is_refused(entrance: str, score: float, message: str) -> None:
    """Inside the vocabulary; the largest that it has room for is a score, and becomes float32's largest."""
    sampler = used()
    with pytest.raises(LogitsError) as caught:
        ENTRANCES[entrance](sampler, [0.0, 3.4028235e38, score, NAN])
    assert caught.value.token == 2
    assert said(caught.value, f"token 2 has a score {message}: scores must fit in float32")
    unchanged(sampler)


def test_only_rows_that_are_looked_at_are_refused_for_what_float32_has_no_room_for() -> None:
    """The others of a batch are served; the draft's scores are named."""
    params = SamplingParams(temperature=0)
    table, samplers = np.array([[0.0, 1.0], [1e39, 0.0], [1.0, -1e39]]), [Sampler(params) for _ in range(2)]
    draws = sortition.sample_batch(table, samplers, rows=[0, 2], on_error="mark")
    assert draws.tokens.tolist() == [1, -1]
    assert draws.errors[1].token == 1
    with pytest.raises(LogitsError, match=r"row 1: token 0 has a score above") as caught:
        sample(table)
    assert (caught.value.row, caught.value.token) == (1, 0)
    with pytest.raises(LogitsError, match="draft_logits: token 0 has a score above"):
        Sampler(params).verify(table[[0, 0]], [1], table[1:2])


def test_a_row_narrower_than_the_vocabulary_is_refused() -> None:
    """With both sizes."""
    with pytest.raises(LogitsError) as caught:
        Sampler(SamplingParams(), vocab_size=5).sample(ROW)
    assert said(caught.value, "5", "4")


@pytest.mark.parametrize(
    ("params", "state", "stage"),
    [
        ({}, {}, None),
        ({"allowed_ids": [1]}, {}, "allowed_ids"),
        ({"allowed_ids": []}, {}, "allowed_ids"),
        ({"suppress": [0, 2, 3]}, {}, "suppress"),
        ({"min_tokens": 1}, {"stop_tokens": [0, 2, 3]}, "min_tokens"),
        ({"logit_bias": {0: -INF, 2: -INF, 3: -INF}}, {}, "logit_bias"),
    ],
)
def test_an_empty_row_names_the_stage_that_emptied_it(
    params: dict[str, Any], state: dict[str, Any], stage: str | None
) -> None:
    """Token 1 came in as -inf; without any stage, so did the others."""
    row = np.array([0.0, -INF, 0.0, 0.0]) if stage else np.full(4, -INF)
    sampler = Sampler(SamplingParams(**params), **state)
    for call in (sampler.sample, sampler.draw, sampler.process):
        with pytest.raises(NoCandidateError) as caught:
            call(row)
        assert caught.value.stage == stage
        assert stage is None or said(caught.value, stage)
    assert sampler.position == 0


def test_an_error_in_a_table_names_the_row() -> None:
    """Row 2 is broken, row 1 would be without a candidate."""
    with pytest.raises(LogitsError) as caught:
        sample([[0.0, 0.0], [0.0, 0.0], [0.0, NAN]])
    assert (caught.value.row, caught.value.token) == (2, 1)
    with pytest.raises(NoCandidateError) as empty:
        sample([[0.0, 0.0], [-INF, -INF]])
    assert empty.value.row == 1


BAD_MASKS: dict[str, Any] = {
    "int64": np.array([15], np.int64),
    "uint8": np.array([15], np.uint8),
    "bool": np.ones(4, np.bool_),
    "float": np.array([15.0], np.float32),
    "text": "15",
    "a number": np.uint32(15),
    "empty": np.zeros(0, np.uint32),
    "two rows": np.array([[15], [15]], np.uint32),
}


@pytest.mark.parametrize("kind", sorted(BAD_MASKS))
def test_a_bad_mask_is_refused(kind: str) -> None:
    """A list of bools is the likeliest mistake."""
    sampler = used()
    with pytest.raises(ParameterError, match="mask"):
        sampler.sample(ROW, mask=BAD_MASKS[kind])
    unchanged(sampler)


def test_an_empty_mask_is_no_candidate() -> None:
    """The stage is the mask."""
    sampler = used()
    with pytest.raises(NoCandidateError) as caught:
        sampler.sample(ROW, mask=np.zeros(1, np.uint32))
    assert caught.value.stage == "mask"
    unchanged(sampler)


FUNCTION_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("softmax", {"temperature": 0}, "temperature"),
    ("softmax", {"temperature": -1.0}, "temperature"),
    ("softmax", {"temperature": NAN}, "temperature"),
    ("softmax", {"temperature": "1"}, "temperature"),
    ("softmax", {"temperature": True}, "temperature"),
    ("softmax", {"out": np.zeros(3, np.float32)}, "out"),
    ("softmax", {"out": np.zeros(4, np.float64)}, "out"),
    ("log_softmax", {"out": [0.0] * 4}, "out"),
    ("top_k", {"k": 0}, "k"),
    ("top_k", {"k": -1}, "k"),
    ("top_k", {"k": 1.0}, "k"),
    ("top_k", {"k": True}, "k"),
    ("top_k", {"k": None}, "k"),
    ("top_p", {"p": 0}, "p"),
    ("top_p", {"p": 1.5}, "p"),
    ("top_p", {"p": NAN}, "p"),
    ("top_p", {"p": None}, "p"),
    ("top_p", {"p": True}, "p"),
]


@pytest.mark.parametrize(("name", "arguments", "argument"), FUNCTION_CALLS, ids=str)
def test_a_function_refuses_a_bad_argument(name: str, arguments: dict[str, Any], argument: str) -> None:
    """The argument is named."""
    with pytest.raises(ParameterError, match=f"{argument} must"):
        getattr(sortition, name)(ROW, **arguments)


FUNCTIONS = {
    "argmax": {},
    "softmax": {},
    "log_softmax": {},
    "logsumexp": {},
    "entropy": {},
    "top_k": {"k": 1},
    "top_p": {"p": 0.5},
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_refuses_bad_scores(name: str) -> None:
    """NaN, +inf, nothing, and nothing but -inf; with the row of a table."""
    function, arguments = getattr(sortition, name), FUNCTIONS[name]
    for bad in (NAN, INF):
        with pytest.raises(LogitsError) as caught:
            function([[0.0, 0.0], [0.0, bad]], **arguments)
        assert (caught.value.row, caught.value.token) == (1, 1)
    with pytest.raises(NoCandidateError) as empty:
        function([[0.0, 0.0], [-INF, -INF]], **arguments)
    assert empty.value.row == 1
    for nothing in ([], 3.0, "abc", None):
        with pytest.raises(LogitsError):
            function(nothing, **arguments)
