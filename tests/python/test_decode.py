"""The loop over tokens: what it asks of the model, and what ends it."""

from __future__ import annotations

import ast
import inspect
import sys
import threading

import numpy as np
import pytest

from sortition import ModelError, ParameterError, Sampler, SamplingParams, decode
from sortition.models import ScriptedModel

NEVER_ENDING = [[0.0, 1.0, 0.0]]


class Greedy:
    """The least that is a sampler."""

    def sample(self, logits):
        return int(np.argmax(logits))


def model_that_says(*tokens, vocab=8):
    return ScriptedModel([np.eye(vocab)[token] for token in tokens], repeat_last=True)


def test_the_prompt_is_read_in_one_call_and_then_one_token_a_step():
    """Prefill, then incremental decoding."""
    model = model_that_says(3, 4, 5)
    list(decode(model, [1, 2, 1], Greedy(), max_tokens=3))
    assert model.calls == [(1, 2, 1), (3,), (4,)]


def test_nothing_is_computed_before_it_is_asked_for():
    """Each step of the consumer is one call of the model."""
    model = model_that_says(3, 4)
    steps = decode(model, [0], Greedy())
    assert model.calls == []
    next(steps)
    assert len(model.calls) == 1


def test_a_stop_token_ends_the_run_and_is_its_last_token():
    """With its id as what matched."""
    *before, last = decode(model_that_says(3, 4, 5), [0], Greedy(), stop_tokens=[7, 4])
    assert [step.token for step in before] == [3]
    assert (last.token, last.finish_reason, last.matched) == (4, "stop", 4)


def test_max_tokens_ends_the_run_with_length():
    """The last token says so."""
    steps = list(decode(model_that_says(3), [0], Greedy(), max_tokens=2))
    assert [(step.token, step.finish_reason) for step in steps] == [(3, None), (3, "length")]


def test_a_stop_token_as_the_last_allowed_token_is_a_stop():
    """Not the length."""
    assert [*decode(model_that_says(3, 4), [0], Greedy(), stop_tokens=[4], max_tokens=2)][-1].finish_reason == "stop"


def test_a_set_event_ends_the_run_before_the_next_call_of_the_model():
    """From the consumer's own thread: no more work is done."""
    cancel, model = threading.Event(), model_that_says(3)
    steps = decode(model, [0], Greedy(), cancel=cancel)
    next(steps)
    cancel.set()
    last = next(steps)
    assert (last.token, last.finish_reason, last.matched) == (None, "cancelled", None)
    assert len(model.calls) == 1
    assert next(steps, None) is None


def test_a_cancel_from_another_thread_is_seen_within_one_step():
    """Set while the model computes the third token, it lets that token out and no other."""
    cancel = threading.Event()

    class Busy(ScriptedModel):
        def forward(self, tokens, **options):
            if len(self.calls) == 2:
                other = threading.Thread(target=cancel.set)
                other.start()
                other.join()
            return super().forward(tokens, **options)

    model = Busy(NEVER_ENDING, repeat_last=True)
    steps = list(decode(model, [0], Greedy(), cancel=cancel))
    assert [step.token for step in steps] == [1, 1, 1, None]
    assert steps[-1].finish_reason == "cancelled"
    assert len(model.calls) == 3


def test_a_deadline_cancels_and_says_so(monkeypatch):
    """By a clock of our own: each call of the model takes a second."""
    now = [100.0]

    class Slow(ScriptedModel):
        def forward(self, tokens, **options):
            now[0] += 1.0
            return super().forward(tokens, **options)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    steps = list(decode(Slow(NEVER_ENDING, repeat_last=True), [0], Greedy(), deadline=2.5))
    assert [step.token for step in steps] == [1, 1, 1, None]
    assert (steps[-1].finish_reason, steps[-1].matched) == ("cancelled", "deadline")


def test_a_deadline_of_zero_asks_the_model_nothing():
    """There is no time."""
    model = model_that_says(3)
    assert [step.matched for step in decode(model, [0], Greedy(), deadline=0)] == ["deadline"]
    assert model.calls == []


@pytest.mark.parametrize("wait", [0, 2])
def test_an_exception_of_the_model_comes_after_the_tokens_before_it(wait):
    """As it is."""
    model = ScriptedModel([[0.0, 1.0]] * wait)
    tokens = []
    with pytest.raises(ModelError, match=f"the script has {wait} rows"):
        tokens.extend(step.token for step in decode(model, [0], Greedy()))
    assert tokens == [1] * wait


def test_an_exception_of_the_sampler_reaches_the_consumer():
    """As it is."""

    class Broken:
        def sample(self, _):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(decode(model_that_says(3), [0], Broken()))


def test_the_time_of_a_step_is_shared_out():
    """To the model and to the sampler."""
    step = next(decode(model_that_says(3), [0], Greedy()))
    assert step.model_seconds > 0
    assert step.sampler_seconds > 0


def test_the_real_sampler_remembers_what_was_drawn():
    """It is the loop that makes it draw, and the draw that it records."""
    sampler = Sampler(SamplingParams(temperature=0), prompt=[0])
    list(decode(model_that_says(3, 4, 5), [0], sampler, max_tokens=3))
    assert list(sampler.output) == [3, 4, 5]


@pytest.mark.parametrize("prompt", [np.array([1, 2]), (1, 2), iter([1, 2]), [np.int32(1), 2]])
def test_a_prompt_is_any_sequence_of_ints(prompt):
    """NumPy's too."""
    model = model_that_says(3)
    next(decode(model, prompt, Greedy()))
    assert model.calls == [(1, 2)]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prompt_ids": []}, ParameterError, "prompt_ids must hold at least one token, got none"),
        ({"prompt_ids": "今天"}, ParameterError, "prompt_ids must be token ids, got str: encode the text first"),
        ({"prompt_ids": 7}, ParameterError, "prompt_ids must be a sequence of token ids, got int"),
        ({"prompt_ids": [1, -2]}, ParameterError, r"prompt_ids\[1\] must be a token id .* got -2"),
        ({"prompt_ids": [1.0]}, ParameterError, r"prompt_ids\[0\] must be a token id .* got 1\.0"),
        ({"prompt_ids": [True]}, ParameterError, r"prompt_ids\[0\] must be a token id .* got True"),
        ({"prompt_ids": [[1]]}, ParameterError, r"prompt_ids\[0\] must be a token id .* got \[1\]"),
        ({"stop_tokens": ["<eos>"]}, ParameterError, r"stop_tokens\[0\] must be a token id .* got '<eos>'"),
        ({"max_tokens": 0}, ParameterError, "max_tokens must be an integer of at least 1, got 0"),
        ({"max_tokens": -1}, ParameterError, "max_tokens must be an integer of at least 1, got -1"),
        ({"max_tokens": 1.5}, ParameterError, r"max_tokens must be an integer of at least 1, got 1\.5"),
        ({"max_tokens": True}, ParameterError, "max_tokens must be an integer of at least 1, got True"),
        ({"max_tokens": np.float64(2)}, ParameterError, "max_tokens must be an integer of at least 1, got "),
        ({"deadline": -1}, ParameterError, "deadline must be a number of seconds, 0 or more, got -1"),
        ({"deadline": float("nan")}, ParameterError, "deadline must be a number of seconds, 0 or more, got nan"),
        ({"model": object()}, ModelError, r"model must have a method forward\(tokens\) -> logits, got object"),
        ({"sampler": object()}, ParameterError, r"sampler must have a method sample\(logits\) -> int, got object"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_computed(change, error, message):
    """At the call already, not at the first step, with its name, what it must be, and what it was."""
    model = model_that_says(3)
    arguments = {"model": model, "prompt_ids": [0], "sampler": Greedy()} | change
    with pytest.raises(error, match=message):
        decode(arguments.pop("model"), arguments.pop("prompt_ids"), arguments.pop("sampler"), **arguments)
    assert model.calls == []


def test_the_loop_knows_neither_the_compiled_module_nor_an_adapter():
    """It is given a model and a sampler; it imports checks, errors, and protocols for the type checker."""
    tree = ast.parse(inspect.getsource(sys.modules["sortition.decode"]))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {name for name in modules if name.startswith("sortition")}
    assert ours == {"sortition._checks", "sortition.errors", "sortition.models.protocol"}
