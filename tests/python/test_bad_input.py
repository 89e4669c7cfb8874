"""What is wrong is refused: with the documented class, a message that names the thing, its range and the value, and no
change of state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sortition
from sortition import LogitsError, NoCandidateError, ParameterError, Sampler, SamplingParams, sample

NAN, INF = float("nan"), float("inf")
HUGE = 2**70
ROW = np.array([0.0, 1.0, 2.0, 3.0], np.float32)


def said(error: BaseException, *words: str) -> bool:
    """Whether the message has all the words."""
    return [word for word in words if word not in str(error)] == []


# --- parameters

OUT_OF_RANGE: list[tuple[str, Any, str, str]] = [
    ("temperature", -1.0, "at least 0", "-1"),
    ("temperature", -1e-300, "at least 0", "-"),
    ("temperature", INF, "finite", "inf"),
    ("temperature", -INF, "finite", "-inf"),
    ("temperature", NAN, "finite", "NaN"),
    ("temperature", 10**400, "a number", "1000"),
    ("top_k", 0, "at least 1", "0"),
    ("top_k", -1, "at least 1", "-1"),
    ("top_k", -HUGE, "at least 1", str(-HUGE)),
    ("top_p", 0, "(0, 1]", "0"),
    ("top_p", -0.1, "(0, 1]", "-0.1"),
    ("top_p", 1.0000001, "(0, 1]", "1.0000001"),
    ("top_p", NAN, "(0, 1]", "NaN"),
    ("top_p", INF, "(0, 1]", "inf"),
    ("min_p", -0.1, "[0, 1]", "-0.1"),
    ("min_p", 1.5, "[0, 1]", "1.5"),
    ("min_p", NAN, "[0, 1]", "NaN"),
    ("repetition_penalty", 0.0, "above 0", "0"),
    ("repetition_penalty", -1.0, "above 0", "-1"),
    ("repetition_penalty", INF, "finite", "inf"),
    ("repetition_penalty", NAN, "finite", "NaN"),
    ("frequency_penalty", INF, "finite", "inf"),
    ("frequency_penalty", NAN, "finite", "NaN"),
    ("presence_penalty", -INF, "finite", "-inf"),
    ("presence_penalty", NAN, "finite", "NaN"),
    ("min_keep", 0, "at least 1", "0"),
    ("min_keep", -3, "at least 1", "-3"),
    ("min_tokens", -1, "at least 0", "-1"),
    ("seed", -1, "[0, 2^64)", "-1"),
    ("seed", 2**64, "[0, 2^64)", str(2**64)),
    ("logit_bias", {1: NAN}, "finite or -inf", "nan"),
    ("logit_bias", {1: INF}, "finite or -inf", "inf"),
    ("logit_bias", {-1: 0.0}, "at least 0", "-1"),
    ("suppress", [1, -1], "at least 0", "-1"),
    ("allowed_ids", [-5], "at least 0", "-5"),
    *[
        case
        for name in ("repetition", "frequency", "presence")
        for case in [
            (f"{name}_window", 0, "at least 1", "0"),
            (f"{name}_window", -1, "at least 1", "-1"),
            (f"{name}_exclude", [-1], "at least 0", "-1"),
            (f"{name}_scope", "prompt", "output", "prompt"),
        ]
    ],
]

NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")
COUNTS = ("top_k", "min_keep", "min_tokens", "seed", "repetition_window", "frequency_window", "presence_window")
ID_LISTS = ("suppress", "allowed_ids", "repetition_exclude", "frequency_exclude", "presence_exclude")
NEEDED = ("temperature", "min_keep", "min_tokens", "suppress", "repetition_scope", "repetition_exclude")
"""Parameters that None does not switch off, since they have nothing to switch."""

WRONG_TYPES: list[tuple[str, Any]] = [
    *[(name, value) for name in NUMBERS for value in (True, "0.5", b"1", [0.5], {}, object(), 1j, np.array([0.5, 0.5]))],
    *[(name, value) for name in COUNTS for value in (True, False, "3", 3.0, [3], NAN, 1j)],
    *[(name, value) for name in ID_LISTS for value in ("12", 3, [1.5], [True], ["1"], [None], {1: 2}, [[1]])],
    *[("logit_bias", value) for value in ([1], "1", 3, {"1": 0.0}, {1.5: 0.0}, {True: 0.0}, {1: None}, {1: "2"}, {1: True})],
    *[("repetition_scope", value) for value in (1, True, "ALL", ["all"])],
    *[(name, None) for name in NEEDED],
]


@pytest.mark.parametrize(("name", "value", "legal", "seen"), OUT_OF_RANGE)
def test_a_value_outside_its_range_is_refused_at_construction(name: str, value: Any, legal: str, seen: str) -> None:
    """With the name that was typed, the range, and the value."""
    with pytest.raises(ParameterError) as caught:
        SamplingParams(**{name: value})
    assert said(caught.value, name, legal)
    assert seen.lower() in str(caught.value).lower()


@pytest.mark.parametrize(("name", "value"), WRONG_TYPES, ids=str)
def test_a_value_of_the_wrong_type_is_refused_at_construction(name: str, value: Any) -> None:
    """A bool is no number, a string is no list of ids, a float is no count."""
    with pytest.raises(ParameterError, match=name):
        SamplingParams(**{name: value})


@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p", "logit_bias", "allowed_ids", "seed", "repetition_window"])
def test_none_switches_off(name: str) -> None:
    """And is the default."""
    assert SamplingParams(**{name: None}) == SamplingParams()


def test_zero_is_not_off_and_the_message_says_what_is() -> None:
    """Other stacks take 0 for off; here it is a mistake."""
    with pytest.raises(ParameterError, match="None"):
        SamplingParams(top_k=0)


def test_a_misspelt_parameter_is_refused() -> None:
    """With its name."""
    with pytest.raises(TypeError, match="tempreature"):
        SamplingParams(tempreature=1.0)  # type: ignore[call-arg]
    with pytest.raises((ParameterError, TypeError), match="tempreature"):
        sample(ROW, tempreature=1.0)


@pytest.mark.parametrize("params", [3, {"temperature": 0.5}, "greedy"], ids=str)
def test_parameters_are_sampling_params(params: Any) -> None:
    """A dictionary is not taken for them."""
    with pytest.raises(ParameterError, match="params"):
        Sampler(params)
    with pytest.raises(ParameterError, match="params"):
        sample(ROW, params)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_numbers_of_numpy_are_numbers(value: Any) -> None:
    """Parameters often come out of an array."""
    assert SamplingParams(top_p=value).top_p == float(value)


@pytest.mark.parametrize("name", ["top_k", "min_keep", "min_tokens", "repetition_window"])
def test_a_huge_count_is_taken(name: str) -> None:
    """More than there is means all there is."""
    sampler = Sampler(SamplingParams(**{name: HUGE}, seed=1), stop_tokens=[0])
    assert sampler.sample(ROW) in range(4)


# --- ids

ID_PARAMETERS = {"logit_bias": {1: 0.0, 9: 5.0}, "suppress": [1, 9], "allowed_ids": [1, 9]}


@pytest.mark.parametrize("name", sorted(ID_PARAMETERS))
def test_an_id_beyond_a_known_vocabulary_is_refused_at_construction(name: str) -> None:
    """The id, the parameter and the size are named."""
    with pytest.raises(ParameterError) as caught:
        Sampler(SamplingParams(**{name: ID_PARAMETERS[name]}), vocab_size=9)
    assert said(caught.value, name, "9")


@pytest.mark.parametrize("name", sorted(ID_PARAMETERS))
def test_an_id_beyond_the_row_is_refused_at_the_draw_and_nothing_changes(name: str) -> None:
    """A row that is wide enough is drawn from afterwards, with the coin that was not used."""
    sampler, twin = (Sampler(SamplingParams(**{name: ID_PARAMETERS[name]}, seed=4)) for _ in range(2))
    for call in (sampler.sample, sampler.draw, sampler.process):
        with pytest.raises(ParameterError) as caught:
            call(ROW)
        assert said(caught.value, name, "9", "4")
    assert sampler.position == 0
    wide = np.zeros(10, np.float32)
    assert sampler.sample(wide) == twin.sample(wide)


@pytest.mark.parametrize("name", ["suppress", "allowed_ids"])
def test_an_id_that_no_vocabulary_has_is_named_as_it_was_given(name: str) -> None:
    """Not as what was left of it in 32 bits."""
    with pytest.raises(ParameterError, match=f"{name}.*{2**33}"):
        sample(ROW, **{name: [2**33]})


# --- the sampler

SAMPLER_ARGUMENTS: list[tuple[str, Any]] = [
    *[("stream", value) for value in (-1, 2**32, HUGE, 1.0, True, "0", None)],
    *[("vocab_size", value) for value in (0, -1, HUGE, 4.0, True, "4")],
    *[("prompt", value) for value in ([-1], [1.5], [True], "ab", 3, None, [[1]], ["1"])],
    *[("stop_tokens", value) for value in ([-1], [1.5], "ab", 3, [[1]], ["1"])],
]


@pytest.mark.parametrize(("name", "value"), SAMPLER_ARGUMENTS, ids=str)
def test_a_sampler_is_not_made_of_bad_arguments(name: str, value: Any) -> None:
    """The argument is named."""
    with pytest.raises(ParameterError, match=name):
        Sampler(SamplingParams(), **{name: value})


def used() -> Sampler:
    """A sampler with a prompt and an output."""
    sampler = Sampler(SamplingParams(seed=9, frequency_penalty=0.5), prompt=[1])
    sampler.accept(2)
    return sampler


def unchanged(sampler: Sampler) -> None:
    """Hold a sampler to `used()`: history, position, and the next tokens."""
    assert sampler.output.tolist() == [2]
    assert sampler.position == 1
    assert list(sampler.prompt) == [1]
    fresh = used()
    assert [sampler.sample(ROW) for _ in range(4)] == [fresh.sample(ROW) for _ in range(4)]


CALLS: dict[str, tuple[Callable[[Sampler], Any], str]] = {
    "accept -1": (lambda s: s.accept(-1), "token"),
    "accept a float": (lambda s: s.accept(1.0), "token"),  # type: ignore[arg-type]
    "accept a bool": (lambda s: s.accept(True), "token"),  # noqa: FBT003 - it is what is tested
    "accept None": (lambda s: s.accept(None), "token"),  # type: ignore[arg-type]
    "rollback too far": (lambda s: s.rollback(2), "n must"),
    "rollback -1": (lambda s: s.rollback(-1), "n must"),
    "rollback a float": (lambda s: s.rollback(1.0), "n must"),  # type: ignore[arg-type]
    "rollback very far": (lambda s: s.rollback(HUGE), "n must"),
    "fork into 0": (lambda s: s.fork(0), "n must"),
    "fork into a float": (lambda s: s.fork(2.0), "n must"),  # type: ignore[arg-type]
    "fork into too many": (lambda s: s.fork(HUGE), "n must"),
    "more logprobs than tokens": (lambda s: s.draw(ROW, logprobs=5), "logprobs"),
    "logprobs -1": (lambda s: s.draw(ROW, logprobs=-1), "logprobs"),
    "logprobs True": (lambda s: s.draw(ROW, logprobs=True), "logprobs"),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_bad_call_names_its_argument_and_changes_nothing(name: str) -> None:
    """A sampler that refused goes on as if it had not been asked."""
    sampler = used()
    call, argument = CALLS[name]
    with pytest.raises(ParameterError, match=argument):
        call(sampler)
    unchanged(sampler)


# --- scores

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


# --- masks

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


# --- the functions

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
