"""A request that is odd: an error that names the key as it was typed, what is legal, and what was there."""

from __future__ import annotations

import dataclasses
import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sortition import ParameterError, SamplingParams
from sortition._stacks import LLAMA_CPP, OPENAI, TRANSFORMERS, VLLM
from test_requests import READERS

NAN, INF = float("nan"), float("inf")
STACKS = {"transformers": TRANSFORMERS, "openai": OPENAI, "vllm": VLLM, "llama.cpp": LLAMA_CPP}


def deep(levels: int = 100_000) -> list[Any]:
    """A list in a list in a list."""
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


ODD = [
    "a", "", b"1", "1", True, np.True_, [], {}, [1], ["a"], [["top_k"]], [[1], "a"], [[-1]], [True], [1.5], {1.7: 2},
    {"a": 1}, {"1": "a"}, {"1": None}, {"1": True}, {"-1": 1}, {"1": NAN}, {"1": INF}, [[1, 2, 3]], [[1.5, 1]], 1j,
    -1, -5, 0.5, 1.5, NAN, INF, -INF, 10**400, -(10**400), 10**5000, 2**64, object(), deep(), np.array([1.5, 2]),
    np.array([[1]]), np.array("a"), np.array(2), np.float32(0.5), np.int64(3), Fraction(1, 2), lambda: 1, range(3),
]  # fmt: skip


@pytest.mark.parametrize("key", [(stack, key) for stack in STACKS for key in STACKS[stack].translated], ids=" ".join)
def test_any_value_is_taken_or_refused_by_the_key_that_was_typed(key: tuple[str, str]) -> None:
    """Never another error, never another key, never a value that is not what was said."""
    stack, name = key
    for value in ODD:
        request = {name: value, "do_sample": True} if stack == "transformers" else {name: value}
        try:
            params = READERS[stack](request)
        except ParameterError as error:
            message = str(error)
        else:
            assert params == SamplingParams(**params.to_dict())
            continue
        assert re.match(f"{STACKS[stack].name} request: {name}.* must be .*, got ", message)


@pytest.mark.parametrize("stack", READERS)
def test_a_bool_is_no_number_and_no_switch(stack: str) -> None:
    """1.0 switches these off, True is a mistake."""
    key = "repeat_penalty" if stack == "llama.cpp" else "top_p" if stack == "openai" else "repetition_penalty"
    READERS[stack]({key: 1})
    with pytest.raises(ParameterError, match=f"{key} must be a number, got True"):
        READERS[stack]({key: True})


SAID = [
    ("llama.cpp", {"repeat_last_n": "a"}, "repeat_last_n must be an integer of at least -1, got 'a'"),
    ("llama.cpp", {"dry_penalty_last_n": -2}, "dry_penalty_last_n must be an integer of at least -1, got -2"),
    ("llama.cpp", {"samplers": [["top_k"]]}, "samplers must be a list of penalties, .*, got \\[\\['top_k'\\]\\]"),
    ("llama.cpp", {"samplers": "kk"}, "samplers must be .* each at most once"),
    ("llama.cpp", {"samplers": 3}, "samplers must be .*, got 3"),
    ("llama.cpp", {"logit_bias": [["今", 1]]}, "logit_bias must be .*: text takes a tokenizer"),
    ("llama.cpp", {"logit_bias": [[1, True]]}, "logit_bias of token 1 must be a number, got True"),
    ("llama.cpp", {"repeat_penalty": 0}, "repeat_penalty must be finite and above 0, got 0"),
    ("llama.cpp", {"temperature": "hot"}, "temperature must be a number, got 'hot'"),
    ("llama.cpp", {"adaptive_target": 0.3}, "adaptive_target must be negative unless samplers lists adaptive_p"),
    ("llama.cpp", {"dry_multiplier": 0.8}, "dry_multiplier must be 0, or come with dry_breakers"),
    ("transformers", {"do_sample": "false"}, "do_sample must be true, false or null, got 'false'"),
    ("transformers", {"do_sample": 1}, "do_sample must be true, false or null, got 1"),
    ("transformers", {"temperature": "hot"}, "temperature must be a number, got 'hot'"),
    ("transformers", {"epsilon_cutoff": 2.0}, "epsilon_cutoff must be in \\(0, 1\\), got 2"),
    ("transformers", {"no_repeat_ngram_size": -1}, "no_repeat_ngram_size must be at least 1, got -1"),
    ("transformers", {"sequence_bias": [[[1, 2], 1.0]]}, "sequence_bias must be pairs of a sequence of one token id"),
    ("transformers", {"bad_words_ids": [[]]}, "bad_words_ids must be sequences of at least one token"),
    ("openai", {"logit_bias": {1.7: 2}}, "logit_bias: an id must be an integer in .*, got 1.7"),
    ("openai", {"logit_bias": {"1.7": 2}}, "logit_bias must be a mapping of token ids to numbers, got '1.7'"),
    ("openai", {"logit_bias": {"1": "2"}}, "logit_bias of token 1 must be a number, got '2'"),
    ("openai", {"top_p": 0}, "top_p must be in \\(0, 1\\], got 0"),
    ("openai", {3: 1}, "3 is unknown, got 1"),
    ("vllm", {"allowed_token_ids": 3}, "allowed_token_ids must be a collection of token ids, got 3"),
    ("vllm", {"min_tokens": -1}, "min_tokens must be an integer of at least 0"),
    ("vllm", {"seed": -2}, "seed must be an integer in \\[0, 2\\^64\\), got -2"),
]


@pytest.mark.parametrize(("stack", "request_", "message"), SAID)
def test_an_error_is_in_the_words_of_the_request(stack: str, request_: Any, message: str) -> None:
    """The key as it was typed, what is legal, and the value."""
    with pytest.raises(ParameterError, match=f"{STACKS[stack].name} request: {message}"):
        READERS[stack](request_)


@pytest.mark.parametrize("stack", READERS)
def test_null_is_as_if_the_key_were_not_there(stack: str) -> None:
    """As each of the stacks has it."""
    keys = [*STACKS[stack].translated, *STACKS[stack].refused]
    assert READERS[stack](dict.fromkeys(keys)) == READERS[stack]({})


@pytest.mark.parametrize("stack", READERS)
def test_a_change_that_no_parameter_is_is_named(stack: str) -> None:
    """And what may have been meant; a change that is out of range has the name it was given."""
    for make in (READERS[stack], lambda _, **changes: SamplingParams.profile(stack, **changes)):
        with pytest.raises(TypeError, match=r"tempreature is no parameter .*: do you mean temperature\?"):
            make({}, tempreature=1.0)
    with pytest.raises(ParameterError, match=r"^top_p must be in"):
        READERS[stack]({"top_p": 0.9}, top_p=7)


FILES = {
    "twice": ('{"top_k": 5, "top_k": 6}', "'top_k' more than once"),
    "NaN": ('{"temperature": NaN}', "NaN is no number of JSON"),
    "Infinity": ('{"temperature": -Infinity}', "-Infinity is no number of JSON"),
    "deep": ("[" * 200_000, "cannot be read"),
    "digits": ('{"top_k": ' + "9" * 5000 + "}", "cannot be read"),
    "list": ("[1]", "must be a mapping"),
    "null": ("null", "must be a mapping"),
    "empty": ("", "cannot be read"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_odd_is_refused(name: str, tmp_path: Any) -> None:
    """Nothing of it is guessed."""
    text, message = FILES[name]
    path = tmp_path / "generation_config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        SamplingParams.from_transformers(path)


def test_a_file_with_a_mark_in_front_is_read(tmp_path: Any) -> None:
    """As some editors write one."""
    path = tmp_path / "generation_config.json"
    path.write_text('{"top_k": 7}', encoding="utf-8-sig")
    assert SamplingParams.from_transformers(str(path)).top_k == 7
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ParameterError, match="cannot be read"):
        SamplingParams.from_transformers(path)


def test_what_cannot_be_opened_is_named(tmp_path: Any) -> None:
    """A folder; a name that no file has."""
    for path in (tmp_path, "a\0b", tmp_path / "missing.json"):
        with pytest.raises(ParameterError, match="cannot be read"):
            SamplingParams.from_transformers(path)


def test_numpy_and_json_say_the_same() -> None:
    """Numbers and arrays out of a table are as good as lists."""
    written = {"do_sample": True, "temperature": 0.5, "top_k": 5, "suppress_tokens": [1, 2], "bad_words_ids": [[3, 4]]}
    table = {"do_sample": np.True_, "temperature": np.float64(0.5), "top_k": np.int32(5)}
    table |= {"suppress_tokens": np.array([1, 2]), "bad_words_ids": np.array([[3, 4]])}
    assert SamplingParams.from_transformers(table) == SamplingParams.from_transformers(json.loads(json.dumps(written)))


def test_parameters_say_how_they_are_changed() -> None:
    """They are not, others are made."""
    params = SamplingParams(logit_bias={1: 2.0})
    for change in (
        lambda: setattr(params, "temperature", 2.0),
        lambda: setattr(params, "tempreature", 2.0),
        lambda: delattr(params, "top_k"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError, match=r"dataclasses\.replace"):
            change()
    assert dataclasses.replace(params, temperature=2.0).temperature == 2.0
    values = params.to_dict()
    values["logit_bias"][1] = 3.0
    assert params.logit_bias == {1: 2.0}
