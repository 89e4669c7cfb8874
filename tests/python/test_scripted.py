"""The scripted model and its tokenizer, on which other tests stand."""

from __future__ import annotations

import numpy as np
import pytest

from sortition import ModelError, ParameterError
from sortition.models import Forkable, Model, PieceTokenizer, ScriptedModel, Tokenizer, Truncatable, load

ROWS = np.eye(4, dtype=np.float32)


def test_it_is_a_model_with_everything_optional():
    """By the protocols."""
    model = ScriptedModel.from_pieces(["a"])
    assert isinstance(model, Model)
    assert isinstance(model, Truncatable)
    assert isinstance(model, Forkable)
    assert isinstance(model.tokenizer, Tokenizer)


def test_all_gives_a_row_for_each_token():
    """The last of them is what a plain call gives."""
    model = ScriptedModel(lambda context: [len(context), context[-1]])
    np.testing.assert_array_equal(model.forward([5, 6, 7], all=True), [[1, 5], [2, 6], [3, 7]])
    np.testing.assert_array_equal(model.forward([8]), [4, 8])


def test_a_script_of_rows_begins_behind_the_prompt():
    """Behind the first call, or where it is told to."""
    first = ScriptedModel(ROWS)
    np.testing.assert_array_equal(first.forward([0, 0, 0]), ROWS[0])
    told = ScriptedModel(ROWS, prompt_length=2)
    np.testing.assert_array_equal(told.forward([0, 0, 0], all=True), [np.zeros(4), ROWS[0], ROWS[1]])


def test_going_back_goes_back_in_the_script():
    """And going back to nothing begins it anew, with another prompt."""
    model = ScriptedModel(ROWS)
    model.forward([0, 0])
    model.forward([1])
    model.truncate(2)
    np.testing.assert_array_equal(model.forward([2]), ROWS[1])
    model.truncate(0)
    np.testing.assert_array_equal(model.forward([3]), ROWS[0])


def test_a_fork_goes_its_own_way():
    """Neither sees what the other reads."""
    model = ScriptedModel(ROWS)
    model.forward([0])
    twin = model.fork()
    twin.forward([1])
    assert (model.context, twin.context) == ((0,), (0, 1))
    np.testing.assert_array_equal(model.forward([2]), ROWS[1])


def test_the_given_rows_are_not_handed_out():
    """A caller that writes into the scores does not change the script."""
    model = ScriptedModel(ROWS, repeat_last=True)
    model.forward([0])[:] = 9
    model.truncate(0)
    np.testing.assert_array_equal(model.forward([0]), [1, 0, 0, 0])


def test_probabilities_become_their_logarithms():
    """Zero is impossible."""
    row = ScriptedModel.from_probabilities([[0.5, 0.0, 0.5]]).forward([0])
    np.testing.assert_allclose(row, [np.log(0.5), -np.inf, np.log(0.5)])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: ScriptedModel(ROWS).forward([]), ParameterError, "tokens must be at least one token id, got "),
        (lambda: ScriptedModel([]).forward([0]), ModelError, "the script has 0 rows, and row 0 was asked for"),
        (lambda: ScriptedModel(ROWS).truncate(1), ParameterError, r"length must be in \[0, 0\], got 1"),
        (
            lambda: ScriptedModel.from_probabilities([[-0.1]]),
            ParameterError,
            "probabilities must be 0 or more, got -0.1",
        ),
        (
            lambda: PieceTokenizer(["今天"]).encode("今年"),
            ParameterError,
            "text must be made of the pieces, got '今年', which begins with none",
        ),
        (lambda: load("gpt-17"), ParameterError, "model must be one of 'smollm2', got 'gpt-17'"),
        (lambda: load(["smollm2"]), ParameterError, r"model must be one of 'smollm2', got \['smollm2'\]"),
        (lambda: ScriptedModel(None), ParameterError, "scores must be a function, or a sequence of rows, got None"),
        (lambda: ScriptedModel("ab"), ParameterError, "scores must be a function, or a sequence of rows, got 'ab'"),
        (lambda: ScriptedModel([0.0, 1.0]), ParameterError, r"scores\[0\] must be a row of numbers, .* got 0\.0"),
        (lambda: ScriptedModel([[1.0], []]), ParameterError, r"scores\[1\] must be a row of numbers, .* got \[\]"),
        (lambda: ScriptedModel([["1"]]), ParameterError, r"scores\[0\] must be a row of numbers, .* got \['1'\]"),
        (lambda: ScriptedModel([[[1.0], [1.0, 2.0]]]), ParameterError, r"scores\[0\] must be a row of numbers"),
        (lambda: ScriptedModel([None]), ParameterError, r"scores\[0\] must be a row of numbers, .* got None"),
        (lambda: ScriptedModel(ROWS, prompt_length=-1), ParameterError, "prompt_length must be .* got -1"),
        (
            lambda: ScriptedModel(lambda _: None).forward([0]),
            ModelError,
            r"the function of this ScriptedModel must return scores of shape \(vocab,\), got None",
        ),
        (lambda: ScriptedModel(ROWS).forward(None), ParameterError, "tokens must be a sequence of token ids, got None"),
        (lambda: ScriptedModel(ROWS).forward([1.5]), ParameterError, r"tokens\[0\] must be an integer .* got 1\.5"),
        (lambda: ScriptedModel(ROWS).truncate("0"), ParameterError, "length must be an integer, got '0'"),
        (
            lambda: ScriptedModel.from_probabilities(None),
            ParameterError,
            "rows must be a sequence of rows, got None",
        ),
        (lambda: ScriptedModel.from_probabilities([0.5]), ParameterError, r"rows\[0\] must be a row of numbers"),
        (
            lambda: ScriptedModel.from_pieces(None),
            ParameterError,
            "pieces must be a sequence of text or bytes, got None",
        ),
        (
            lambda: ScriptedModel.from_pieces("今天"),
            ParameterError,
            "pieces must be a sequence of text or bytes, got '今天'",
        ),
        (lambda: ScriptedModel.from_pieces(["a", 3]), ParameterError, r"pieces\[1\] must be text or bytes, got 3"),
        (lambda: ScriptedModel.from_pieces(["\udcff"]), ParameterError, r"pieces\[0\] must be text .* UTF-8"),
        (lambda: ScriptedModel.from_pieces(["a"], eos="<eos>"), ParameterError, "eos must be a sequence of names"),
        (lambda: ScriptedModel.from_pieces(["a"], eos=()), ParameterError, r"eos must be at least one name, got \(\)"),
        (lambda: ScriptedModel.from_pieces(["a"], eos=[b"e"]), ParameterError, r"eos\[0\] must be text, got b'e'"),
        (lambda: ScriptedModel.from_pieces(["a"], eos=["e", "e"]), ParameterError, "eos must be names that differ"),
        (lambda: ScriptedModel.from_pieces(["a"], eos_from="1"), ParameterError, "eos_from must be .* got '1'"),
        (lambda: PieceTokenizer(["今天"]).encode(3), ParameterError, "text must be text, got 3"),
        (lambda: PieceTokenizer(["今天"]).token_bytes(2), ParameterError, r"token must be in \[0, 2\), .* got 2"),
        (lambda: PieceTokenizer(["今天"]).token_bytes(-1), ParameterError, r"token must be in \[0, 2\), .* got -1"),
    ],
)
def test_what_cannot_be_is_refused(wrong, error, message):
    """With a message that says what it was."""
    with pytest.raises(error, match=message):
        wrong()


def test_a_refused_call_leaves_the_context_as_it_was():
    """A script goes on where it was."""
    model = ScriptedModel(ROWS)
    model.forward([0])
    for tokens in (None, [1, -1], [1, "2"], [True]):
        with pytest.raises(ParameterError):
            model.forward(tokens)
    assert (model.context, model.calls) == ((0,), [(0,)])


def test_pieces_may_come_from_anything_that_can_be_iterated():
    """Once is enough."""
    model = ScriptedModel.from_pieces(iter(["a", b"b"]))
    assert [int(model.forward([token]).argmax()) for token in (2, 0, 1)] == [0, 1, 2]
    np.testing.assert_array_equal(ScriptedModel(iter(ROWS)).forward([0]), ROWS[0])
