"""Models, samplers and tokenizers that are not as their protocols say: named at once, or at the step where it shows."""

from __future__ import annotations

import numpy as np
import pytest

from sortition import ModelError, ParameterError, SamplingParams, decode, generate, stream
from sortition.models import PieceTokenizer, ScriptedModel

GREEDY = SamplingParams(temperature=0)
PIECES = ["今天", "天气", "👍"]


class Greedy:
    def sample(self, logits):
        return int(np.argmax(logits))


class Answering:
    """A sampler that was never asked, and then says what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def sample(self, _):
        return self.answer


class Odd:
    """A model that returns a good row, and then something else."""

    def __init__(self, answer, good=1):
        self.answer, self.good, self.tokenizer = answer, good, PieceTokenizer(PIECES)

    def forward(self, tokens):
        self.good -= 1
        return np.array([0.0, 1.0, 0.0, 0.0], np.float32) if self.good >= 0 else self.answer

    def truncate(self, length):
        pass


NO_ROWS = [
    (None, "None"),
    ("scores", "'scores'"),
    (np.float32(1), r"shape \(\)"),
    (1.5, r"1\.5"),
    ([[1.0], [1.0, 2.0]], r"\[\[1\.0\], \[1\.0, 2\.0\]\]"),
    (np.zeros((1, 1, 4), np.float32), r"shape \(1, 1, 4\)"),
    (np.zeros((2, 4), np.float32), r"shape \(2, 4\)"),
    (np.zeros(0, np.float32), r"shape \(0,\)"),
    ([], r"\[\]"),
    (iter([1.0]), "<list_iterator .*>"),
]


@pytest.mark.parametrize(("answer", "seen"), NO_ROWS)
def test_what_is_no_row_of_scores_is_an_error_of_the_model(answer, seen):
    """Which says what came, before the sampler is asked, and after the token before it."""
    steps = decode(Odd(answer), [0], Greedy())
    assert next(steps).token == 1
    with pytest.raises(ModelError, match=rf"^model\.forward must return scores of shape \(vocab,\), got {seen}$"):
        next(steps)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("answer", "seen"), NO_ROWS)
def test_so_it_is_in_a_text(answer, seen, n):
    """Of one completion or of several."""
    with pytest.raises(ModelError, match=rf"^model\.forward must return scores of shape \(vocab,\), got {seen}$"):
        generate(Odd(answer, good=0), [0], GREEDY, n=n)


@pytest.mark.parametrize("answer", [[0.0, 1.0, 0.0], (0, 1, 0), np.array([[0.0, 1.0, 0.0]])])
def test_a_row_may_be_anything_that_is_one(answer):
    """A list, a tuple, a batch of one."""
    assert [step.token for step in decode(Odd(answer), [0], Greedy(), max_tokens=2)] == [1, 1]


@pytest.mark.parametrize("answer", [None, -1, 1.0, True, "1", np.float32(1), [1], np.array([1, 2])])
def test_what_a_sampler_returns_must_be_a_token_id(answer):
    """Nothing is rounded, and nothing is counted from behind."""
    model = ScriptedModel.from_pieces(PIECES)
    with pytest.raises(ParameterError, match=r"^what sampler\.sample returns must be a token id \(an int, 0 or more\)"):
        next(decode(model, [3], Answering(answer)))
    assert model.calls == [(3,)]


@pytest.mark.parametrize("answer", [2, np.int32(2), np.array(2)])
def test_a_token_id_may_be_an_integer_of_any_type(answer):
    """It comes out as an int."""
    (step,) = decode(ScriptedModel.from_pieces(PIECES), [3], Answering(answer), max_tokens=1)
    assert (step.token, type(step.token)) == (2, int)


@pytest.mark.parametrize("cancel", [3, "now", object(), False])
def test_cancel_must_be_something_that_can_be_set(cancel):
    """All three layers say so before the model is asked."""
    model = ScriptedModel.from_pieces(PIECES)
    message = r"^cancel must be None or an event with is_set\(\), such as a threading\.Event, got "
    with pytest.raises(ParameterError, match=message):
        decode(model, [3], Greedy(), cancel=cancel)
    for layer in (stream, generate):
        with pytest.raises(ParameterError, match=message):
            layer(model, [3], GREEDY, cancel=cancel)
    assert model.calls == []


class Stopping(ScriptedModel):
    """An iterator inside it runs out."""

    def forward(self, tokens, **options):
        return next(iter(())) if len(self.context) == 2 else super().forward(tokens, **options)


def test_a_stop_iteration_of_the_model_does_not_look_like_the_end():
    """Tokens and text before it are there, and then there is an error that has it as its cause."""
    steps = decode(Stopping.from_pieces(PIECES), [3], Greedy())
    assert [next(steps).token, next(steps).token] == [0, 1]
    with pytest.raises(RuntimeError) as caught:
        next(steps)
    assert isinstance(caught.value.__cause__, StopIteration)
    for n in (1, 2):
        with pytest.raises(RuntimeError) as caught:
            generate(Stopping.from_pieces(PIECES), [3], GREEDY, n=n)
        partial = caught.value.partial if n == 1 else caught.value.partial[-1]
        assert (partial.text, partial.finish_reason) == ("今天天气", None)


class Tokens(PieceTokenizer):
    """A tokenizer of which something is different."""

    def __init__(self, **changes):
        super().__init__(PIECES)
        self.changes = changes

    def __getattribute__(self, name):
        changes = object.__getattribute__(self, "__dict__").get("changes", {})
        return changes[name] if name in changes else super().__getattribute__(name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eos_ids": None}, "tokenizer.eos_ids must be a sequence of token ids, got NoneType"),
        ({"eos_ids": 3}, "tokenizer.eos_ids must be a sequence of token ids, got int"),
        ({"eos_ids": "3"}, "tokenizer.eos_ids must be token ids, got str"),
        ({"eos_ids": [None]}, r"tokenizer.eos_ids\[0\] must be a token id .* got None"),
        ({"special_tokens": None}, "tokenizer.special_tokens must be a mapping .* got NoneType"),
        ({"special_tokens": ["<eos>"]}, "tokenizer.special_tokens must be a mapping .* got list"),
        ({"encode": None}, r"tokenizer must have a method encode\(text\) -> ids, got Tokens"),
        ({"token_bytes": b"?"}, r"tokenizer must have a method token_bytes\(token\) -> bytes, got Tokens"),
        ({"encode": lambda _: None}, "what tokenizer.encode returns must be a sequence of token ids, got NoneType"),
        ({"encode": lambda _: ["今天"]}, r"what tokenizer.encode returns\[0\] must be a token id .* got '今天'"),
    ],
)
@pytest.mark.parametrize("layer", [generate, stream])
def test_a_tokenizer_that_is_none_is_an_error_of_the_model(layer, changes, message):
    """At the call, before the model is asked."""
    model = ScriptedModel.from_pieces(PIECES)
    model._tokenizer = Tokens(**changes)
    with pytest.raises(ModelError, match=f"^{message}"):
        layer(model, "今天", GREEDY)
    assert model.calls == []


@pytest.mark.parametrize("ids", [[3], {3}, frozenset({3}), np.array([3]), {3: "<eos>"}.keys()])
def test_end_tokens_may_be_any_collection(ids):
    """As the protocol says."""
    model = ScriptedModel.from_pieces(PIECES)
    model._tokenizer = Tokens(eos_ids=ids)
    assert generate(model, [3], GREEDY).matched == 3


@pytest.mark.parametrize("answer", ["天气", None, 1, bytearray(b"a")])
def test_the_bytes_of_a_token_must_be_bytes(answer):
    """The error names the token; the text before it is kept."""
    model = ScriptedModel.from_pieces(PIECES)
    known = PieceTokenizer(PIECES)
    model._tokenizer = Tokens(token_bytes=lambda token: known.token_bytes(token) if token == 0 else answer)
    with pytest.raises(ModelError, match=r"^tokenizer\.token_bytes\(1\) must return bytes, got ") as caught:
        generate(model, [3], GREEDY)
    assert caught.value.partial.text == "今天"


def test_a_token_beyond_the_tokenizer_is_named():
    """Scores are wider than the vocabulary, and the extra one wins; with `vocab_size` it is not looked at."""
    rows = [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 9.0]]
    model = ScriptedModel(rows, repeat_last=True, tokenizer=PieceTokenizer(PIECES))
    message = r"^token must be in \[0, 4\), the tokens that this PieceTokenizer has, got 4$"
    with pytest.raises(ParameterError, match=message) as caught:
        generate(model, [3], GREEDY)
    assert caught.value.partial.text == "天气"
    model.vocab_size = 4
    assert generate(model, [3], GREEDY, max_tokens=2).text == "天气👍"


@pytest.mark.parametrize("name", ["vocab_size", "context_length"])
@pytest.mark.parametrize("size", ["4", 0, -1, 4.0])
def test_a_size_of_a_model_must_be_one(name, size):
    """It is the model that is not as it must be."""
    model = ScriptedModel.from_pieces(PIECES)
    setattr(model, name, size)
    with pytest.raises(ModelError, match=rf"^model\.{name} must be an integer of at least 1, got {size!r}$"):
        stream(model, [3], GREEDY)


def test_what_a_user_raises_passes_through_as_it_is():
    """Also when it looks like one of our own."""
    error = ParameterError("of my own")

    def raising(*_):
        raise error

    model = ScriptedModel.from_pieces(PIECES)
    model._tokenizer = Tokens(encode=raising)
    with pytest.raises(ParameterError) as caught:
        stream(model, "今天", GREEDY)
    assert caught.value is error
    model._tokenizer = Tokens(token_bytes=raising)
    with pytest.raises(ParameterError) as caught:
        generate(model, [3], GREEDY)
    assert caught.value is error

    def ids():
        yield 1
        raise TypeError

    with pytest.raises(TypeError):
        decode(model, ids(), Greedy())
