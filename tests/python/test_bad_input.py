"""Wrong parameters, ids and arguments are refused.

With the documented class, a message that names the thing, its range and the value, and no change of state.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from refusals import HUGE, INF, NAN, ROW, said, unchanged, used
from sortition import ParameterError, Sampler, SamplingParams, sample

if TYPE_CHECKING:
    from collections.abc import Callable

OUT_OF_RANGE: list[tuple[str, Any, str, str]] = [
    ("temperature", -1.0, "at least 0", "-1"),
    ("temperature", -1e-300, "at least 0", "-"),
    ("temperature", INF, "finite", "inf"),
    ("temperature", -INF, "finite", "-inf"),
    ("temperature", NAN, "finite", "NaN"),
    ("temperature", 10**400, "finite", "1000"),
    ("top_p", 10**400, "(0, 1]", "1000"),
    ("frequency_penalty", -(10**400), "finite", "-1000"),
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
    ("logit_bias", {1: NAN}, "finite numbers or -inf", "nan for token 1"),
    ("logit_bias", {1: INF}, "finite numbers or -inf", "inf for token 1"),
    ("logit_bias", {1: 10**400}, "finite numbers or -inf", "1000"),
    ("logit_bias", {1: -(10**400)}, "finite numbers or -inf", "-1000"),
    ("logit_bias", {7: 0.0, -1: 0.0}, "[0, 2^32)", "got -1 in {7"),
    ("logit_bias", {2**32: 1}, "[0, 2^32)", f"got {2**32} in {{{2**32}: 1}}"),
    ("logit_bias", {"a": 1}, "[0, 2^32)", "got 'a' in {'a': 1}"),
    ("logit_bias", {7: "b"}, "finite numbers or -inf", "got 'b' for token 7"),
    ("suppress", [1, -1], "[0, 2^32)", "got -1 in [1, -1]"),
    ("suppress", [1.5], "[0, 2^32)", "got 1.5 in [1.5]"),
    ("allowed_ids", [-5], "[0, 2^32)", "-5"),
    ("bad_words", [[3], [1, -1]], "[0, 2^32)", "got -1 in [1, -1]"),
    ("dry_breakers", [[2**32]], "[0, 2^32)", f"got {2**32} in [{2**32}]"),
    *[
        case
        for name in ("repetition", "frequency", "presence")
        for case in [
            (f"{name}_window", 0, "at least 1", "0"),
            (f"{name}_window", -1, "at least 1", "-1"),
            (f"{name}_exclude", [-1], "[0, 2^32)", "-1"),
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
    *[
        (name, value)
        for name in NUMBERS
        for value in (True, "0.5", b"1", [0.5], {}, object(), 1j, np.array([0.5, 0.5]))
    ],
    *[(name, value) for name in COUNTS for value in (True, False, "3", 3.0, [3], NAN, 1j)],
    *[(name, value) for name in ID_LISTS for value in ("12", 3, [1.5], [True], ["1"], [None], {1: 2}, [[1]])],
    *[
        ("logit_bias", value)
        for value in ([1], "1", 3, {"1": 0.0}, {1.5: 0.0}, {True: 0.0}, {1: None}, {1: "2"}, {1: True})
    ],
    *[("repetition_scope", value) for value in (1, True, "ALL", ["all"], np.array(["all", "output"]))],
    *[
        (name, np.array(3))
        for name in ("bad_words", "dry_breakers", "processors", "order", "readings", "suppress", "xtc_protect")
    ],
    *[(name, value) for name in ("bad_words", "dry_breakers") for value in ([np.array(3)], np.array([1]), [[1.5]])],
    *[(name, value) for name in ("order", "readings") for value in ("dry", [1], np.array([1.5]), {"dry": 1})],
    *[("top_p", value) for value in (np.array([0.5]), np.True_)],
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


UNSET = [item.name for item in dataclasses.fields(SamplingParams) if item.init and item.default is None]
NUMBERS = [name for name in UNSET if name not in ("allowed_ids", "logit_bias", "order", "seed")]
MAY_BE_ZERO = ("min_p", "min_k", "xtc_probability", "adaptive_target")
MAY_BE_NEGATIVE = ("frequency_penalty", "presence_penalty", "dry_multiplier")


@pytest.mark.parametrize("value", [0, -1, False, "off"])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_other_stacks_have_for_off_is_a_mistake_and_the_message_says_what_is_right(name: str, value: Any) -> None:
    """Where the number means what it says, it is none: a penalty may be 0 or -1, and a cut may cut nothing."""
    legal = name in MAY_BE_NEGATIVE or (name in MAY_BE_ZERO and value == 0)
    if legal and type(value) is int:
        assert getattr(SamplingParams(**{name: value}), name) == value
        return
    says = "None for no limit" if name.endswith("_window") else "None switches it off"
    with pytest.raises(ParameterError, match=rf"^{name} must be .* \({says}\), got {value!r}$"):
        SamplingParams(**{name: value})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("topp", ": do you mean top_p?"),
        ("tempreature", ": do you mean temperature?"),
        ("repeat_penalty", ": do you mean repetition_penalty?"),
        ("repeat_last_n", ": do you mean repetition_window?"),
        ("min_new_tokens", ": do you mean min_tokens?"),
        ("epsilon_cutoff", ": do you mean epsilon?"),
        ("typ_p", ": do you mean typical_p?"),
        ("num_beams", ", and none of those decides what it does"),
        (
            "max_tokens",
            ", which say how a token is chosen; for the rest look at generate, Sampler and Sampler.draw",
        ),
        (
            "n_probs",
            ", which say how a token is chosen; for the rest look at generate, Sampler and Sampler.draw",
        ),
        ("温度", ""),
    ],
)
def test_a_name_that_no_parameter_has_is_refused_with_the_one_that_may_be_meant(name: str, hint: str) -> None:
    """It is written wrongly, or another stack's."""
    message = f"{name} is no parameter of SamplingParams{hint}"
    for call in (SamplingParams, partial(sample, ROW), partial(sample, ROW, SamplingParams())):
        with pytest.raises(TypeError) as error:
            call(**{name: 1})
        assert str(error.value) == message


def test_the_constructor_shows_its_own_arguments() -> None:
    """As `help` prints them."""
    assert list(inspect.signature(SamplingParams).parameters) == [
        field.name for field in dataclasses.fields(SamplingParams) if field.init
    ]
    with pytest.raises(TypeError, match="positional"):
        SamplingParams(0.7)  # type: ignore[misc]


def test_a_value_that_cannot_be_shown_is_refused_by_its_type() -> None:
    """Python writes no integer of so many digits."""
    with pytest.raises(ParameterError, match=r"^top_p must be in \(0, 1\] .*, got a value of type int"):
        SamplingParams(top_p=10**5000)


@pytest.mark.parametrize("changes", [{"_native": 3}, {"": 1}, {"profile": "vllm"}], ids=str)
def test_what_no_parameter_is_is_named(changes: dict[str, Any]) -> None:
    """Also what the class has for itself."""
    for params in (None, SamplingParams()):
        with pytest.raises(TypeError, match="is no parameter of SamplingParams"):
            sample(ROW, params, **changes)


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
def test_a_huge_count_is_taken_as_it_is_or_refused(name: str) -> None:
    """More than there is means all there is; what 63 bits cannot count is not made less in silence."""
    params = SamplingParams(**{name: 2**63 - 1}, seed=1)
    assert getattr(params, name) == 2**63 - 1
    assert Sampler(params, stop_tokens=[0]).sample(ROW) in range(4)
    for huge in (2**63, HUGE):
        with pytest.raises(ParameterError, match=rf"{name} must be below 2\^63.*, got {huge}"):
            SamplingParams(**{name: huge})


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


SAMPLER_ARGUMENTS: list[tuple[str, Any]] = [
    *[("stream", value) for value in (-1, 2**32, HUGE, 1.0, True, "0", None)],
    *[("vocab_size", value) for value in (0, -1, HUGE, 4.0, True, "4")],
    *[("prompt", value) for value in ([-1], [2**32], [1, HUGE], [1.5], [True], "ab", 3, None, [[1]], ["1"])],
    *[("stop_tokens", value) for value in ([-1], [2**32], [1.5], "ab", 3, [[1]], ["1"])],
]


@pytest.mark.parametrize(("name", "value"), SAMPLER_ARGUMENTS, ids=str)
def test_a_sampler_is_not_made_of_bad_arguments(name: str, value: Any) -> None:
    """The argument is named."""
    with pytest.raises(ParameterError, match=name):
        Sampler(SamplingParams(), **{name: value})


CALLS: dict[str, tuple[Callable[[Sampler], Any], str]] = {
    "accept -1": (lambda s: s.accept(-1), "token"),
    "accept what is no id": (lambda s: s.accept(2**40), rf"token must be an integer in \[0, {2**32}\), got {2**40}"),
    "accept a float": (lambda s: s.accept(1.0), "token"),  # type: ignore[arg-type]
    "accept a bool": (lambda s: s.accept(True), "token"),  # noqa: FBT003 - it is what is tested
    "accept None": (lambda s: s.accept(None), "token"),  # type: ignore[arg-type]
    "rollback too far": (lambda s: s.rollback(2), "n must be at most the length of the output, got 2 after 1 tokens"),
    "rollback -1": (lambda s: s.rollback(-1), "n must"),
    "rollback a float": (lambda s: s.rollback(1.0), "n must"),  # type: ignore[arg-type]
    "rollback very far": (lambda s: s.rollback(HUGE), f"got {HUGE} after 1 tokens"),
    "fork into 0": (lambda s: s.fork(0), "n must"),
    "fork into a float": (lambda s: s.fork(2.0), "n must"),  # type: ignore[arg-type]
    "fork into too many": (lambda s: s.fork(HUGE), "n must"),
    "fork into more than there is room for": (lambda s: s.fork(10**9), r"n must be .* \[1, 65536\], got 1000000000"),
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
