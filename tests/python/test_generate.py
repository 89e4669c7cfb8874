"""Whole texts: what `generate` and `stream` promise above the loop."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from sortition import ModelError, ParameterError, SamplingParams, generate, stream
from sortition.models import PieceTokenizer, ScriptedModel

GREEDY = SamplingParams(temperature=0)
PIECES = ["今天", "天气", "很", "好", "。"]
PROMPT = [len(PIECES)]


def coin_model(vocab=6, **kind):
    """Every token but the end token is as likely, whatever came before."""
    pieces = [chr(ord("a") + index) for index in range(vocab - 1)]
    row = np.zeros(vocab)
    row[-1] = -np.inf
    return ScriptedModel([row], repeat_last=True, tokenizer=PieceTokenizer(pieces), **kind)


class Bare:
    """A model of one sequence, with nothing optional but a tokenizer."""

    def __init__(self, inner):
        self._inner = inner
        self.tokenizer = inner.tokenizer

    def forward(self, tokens):
        return self._inner.forward(tokens)


class OnlyTruncate(Bare):
    def truncate(self, length):
        self._inner.truncate(length)


class OnlyFork(Bare):
    def fork(self):
        return OnlyFork(self._inner.fork())


def test_a_completion_says_everything_about_itself():
    """Text, tokens, why it ended, how long the prompt was, and where the time went."""
    done = generate(ScriptedModel.from_pieces(PIECES), PROMPT, SamplingParams(temperature=0, seed=7))
    assert done.text == "今天天气很好。"
    assert done.tokens == (0, 1, 2, 3, 4, 5)
    assert (done.text_tokens, done.prompt_tokens, done.seed, done.stream) == (5, 1, 7, 0)
    assert (done.finish_reason, done.matched) == ("stop", 5)
    times = done.timings
    assert 0 < times.prefill <= times.model
    assert times.sampler > 0
    assert times.model + times.sampler <= times.total


def test_a_completion_is_plain_json():
    """Without NumPy's numbers, and without NaN."""
    done = generate(ScriptedModel.from_pieces(PIECES), PROMPT, GREEDY)
    value = json.loads(json.dumps(done.to_dict(), allow_nan=False))
    assert value["text"] == "今天天气很好。"
    assert value["tokens"] == [0, 1, 2, 3, 4, 5]


def test_a_prompt_may_be_text():
    """The tokenizer of the model reads it."""
    model = ScriptedModel.from_pieces(PIECES)
    done = generate(model, "今天天气", GREEDY, max_tokens=np.int64(1))
    assert model.calls[0] == (0, 1)
    assert done.prompt_tokens == 2


def test_generating_twice_gives_the_same():
    """Each run begins from an empty context."""
    model = ScriptedModel.from_pieces(PIECES)
    assert generate(model, PROMPT, GREEDY).text == generate(model, PROMPT, GREEDY).text == "今天天气很好。"


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    """And a seed that was left open is shown, and gives the same text when it is given back."""
    model = coin_model()
    texts = {seed: generate(model, [0], SamplingParams(seed=seed), max_tokens=30).text for seed in (1, 2)}
    assert texts[1] == generate(model, [0], SamplingParams(seed=1), max_tokens=30).text
    assert texts[1] != texts[2]
    done = generate(model, [0], max_tokens=30)
    assert done.text == generate(model, [0], SamplingParams(seed=done.seed), max_tokens=30).text


@pytest.mark.parametrize("kind", [lambda model: model, OnlyTruncate, OnlyFork], ids=["both", "truncate", "fork"])
def test_several_completions_draw_from_streams_of_one_seed(kind):
    """They differ, the first is that of n=1, and each can be had again."""
    params = SamplingParams(seed=5)
    several = generate(kind(coin_model()), [0, 1], params, n=3, max_tokens=30)
    assert [done.stream for done in several] == [0, 1, 2]
    assert len({done.text for done in several}) == 3
    assert several[0] == generate(coin_model(), [0, 1], params, max_tokens=30)
    assert several == generate(kind(coin_model()), [0, 1], params, n=3, max_tokens=30)


@pytest.mark.parametrize("kind", [OnlyTruncate, OnlyFork])
def test_several_completions_read_the_prompt_once(kind):
    """However many there are."""
    read = []

    class Recording(ScriptedModel):
        def forward(self, tokens, **options):
            read.append(tuple(tokens))
            return super().forward(tokens, **options)

    model = Recording.from_pieces(PIECES)
    generate(kind(model), [5, 5, 5], GREEDY, n=3)
    assert read.count((5, 5, 5)) == 1


def test_several_completions_with_an_open_seed_share_the_one_they_show():
    """Streams 0 and 1 of the seed in use."""
    first, second = generate(coin_model(), [0], n=2, max_tokens=20)
    assert first.seed == second.seed
    assert [first, second] == generate(coin_model(), [0], SamplingParams(seed=first.seed), n=2, max_tokens=20)


def test_several_completions_need_a_model_that_can_go_back():
    """A model with nothing but `forward` gives one."""
    with pytest.raises(
        ModelError, match=r"n=2 needs a model with fork\(\) or truncate\(length\), and Bare has neither"
    ):
        generate(Bare(coin_model()), [0], n=2)
    assert len(generate(Bare(coin_model()), [0], max_tokens=4).tokens) == 4


class Raising(ScriptedModel):
    """Raises from the call of this number on, counted over all branches."""

    count = 0
    at = 0

    def forward(self, tokens, **options):
        type(self).count += 1
        if type(self).count > self.at:
            raise ConnectionError
        return super().forward(tokens, **options)


@pytest.mark.parametrize(("at", "text"), [(0, ""), (2, "今天天气")])
def test_an_exception_carries_what_was_produced(at, text):
    """As a completion without a reason to end."""
    model = type("Fresh", (Raising,), {"at": at}).from_pieces(PIECES)
    with pytest.raises(ConnectionError) as caught:
        generate(model, PROMPT, GREEDY)
    assert caught.value.partial.text == text
    assert caught.value.partial.finish_reason is None


def test_an_exception_among_several_carries_all_of_them():
    """Those that had ended, and the one that had not."""
    model = type("Fresh", (Raising,), {"at": 8}).from_pieces(PIECES)  # 6 calls for the first, 5 for each other
    with pytest.raises(ConnectionError) as caught:
        generate(model, PROMPT, GREEDY, n=3)
    whole, broken = caught.value.partial
    assert (whole.text, whole.finish_reason) == ("今天天气很好。", "stop")
    assert (broken.text, broken.finish_reason, broken.stream) == ("今天天气很", None, 1)


def test_text_held_back_comes_out_before_an_exception():
    """Half a stop string is text when nothing follows."""
    model = type("Fresh", (Raising,), {"at": 2}).from_pieces(["a", "<", ">"])
    chunks = []
    with pytest.raises(ConnectionError) as caught:
        chunks.extend(stream(model, [3], GREEDY, stop="<>"))
    assert [chunk.text for chunk in chunks] == ["a", "", "<"]
    assert caught.value.partial.text == "a<"


def test_a_cancelled_text_keeps_what_there_is():
    """The event is set by the consumer after the second piece."""
    cancel = threading.Event()
    chunks = []
    for chunk in stream(ScriptedModel.from_pieces(PIECES), PROMPT, GREEDY, cancel=cancel):
        chunks.append(chunk)
        if len(chunks) == 2:
            cancel.set()
    done = chunks[-1].completion
    assert (done.text, done.tokens, done.finish_reason) == ("今天天气", (0, 1), "cancelled")


def test_a_deadline_is_for_all_completions_together():
    """With none left, every one of them says so."""
    several = generate(coin_model(), [0], n=2, deadline=0)
    assert [(done.text, done.finish_reason, done.matched) for done in several] == [("", "cancelled", "deadline")] * 2


def test_a_full_context_ends_a_text_with_length():
    """Five tokens fit, three are the prompt: two more are read, and the third drawn ends it."""
    model = coin_model()
    model.context_length = 5
    done = generate(model, [0, 1, 2], SamplingParams(seed=1))
    assert (len(done.tokens), done.finish_reason) == (3, "length")
    assert len(model.context) == 5


def test_end_tokens_can_be_ignored_and_others_added():
    """By id."""
    model = ScriptedModel([[0.0, 1.0, 2.0]] * 3, tokenizer=PieceTokenizer(["a", "b"]))
    ignoring = generate(model, [0], GREEDY, ignore_eos=True, max_tokens=3)
    assert (ignoring.tokens, ignoring.text) == ((2, 2, 2), "")
    stopping = generate(ScriptedModel.from_pieces(PIECES), PROMPT, GREEDY, stop_tokens=[2])
    assert (stopping.text, stopping.matched) == ("今天天气", 2)


def test_min_tokens_holds_off_the_end_token_and_the_stop_string():
    """The model would end at once; the stop string would complete in the second token."""
    params = SamplingParams(temperature=0, min_tokens=3)
    by_token = generate(ScriptedModel.from_pieces(["a", "b", "c", "d"], eos_from=0), [4], params)
    assert (by_token.text, by_token.finish_reason) == ("abc", "stop")
    by_string = generate(ScriptedModel.from_pieces(["a", "b", "a", "b", "c"]), [5], params, stop="ab")
    assert (by_string.text, by_string.matched) == ("ab", "ab")


@pytest.mark.parametrize("layer", [generate, stream])
@pytest.mark.parametrize(
    ("prompt", "options", "error", "message"),
    [
        ([], {}, ParameterError, r"prompt must hold at least one token, got \[\]"),
        ("", {}, ParameterError, "prompt must hold at least one token, got ''"),
        ([-1], {}, ParameterError, r"prompt\[0\] must be a token id .* got -1"),
        ("\udcff", {}, ParameterError, "prompt must be text that can be written in UTF-8"),
        ([0], {"stop": [""]}, ParameterError, r"stop\[0\] must be a string that is not empty"),
        ([0], {"max_tokens": 0}, ParameterError, "max_tokens must be an integer of at least 1, got 0"),
        ([0], {"deadline": "1"}, ParameterError, "deadline must be a number, got '1'"),
        ([0], {"stop_tokens": [0.5]}, ParameterError, r"stop_tokens\[0\] must be a token id"),
    ],
)
def test_a_bad_argument_is_refused_at_the_call(layer, prompt, options, error, message):
    """Before the model is asked for anything."""
    model = ScriptedModel.from_pieces(PIECES)
    with pytest.raises(error, match=message):
        layer(model, prompt, GREEDY, **options)
    assert model.calls == []


@pytest.mark.parametrize("n", [0, -1, 1.0, True, 10**9])
def test_n_counts_completions(n):
    """From one on."""
    with pytest.raises(ParameterError, match=rf"n must be an integer in \[1, 65536\], got {n}"):
        generate(coin_model(), [0], n=n)


def test_a_prompt_longer_than_the_context_is_refused():
    """The message names both."""
    model = coin_model()
    model.context_length = 2
    with pytest.raises(ParameterError, match="prompt must have at most 2 tokens, which the context holds, got 3"):
        generate(model, [0, 1, 2])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ScriptedModel([[0.0]]), "this ScriptedModel has no tokenizer"),
        (object(), r"model must have a method forward\(tokens\) -> logits, got object"),
        (type("Mute", (), {"forward": print})(), "Mute has no tokenizer; decode works on token ids alone"),
    ],
)
def test_text_needs_a_model_with_a_tokenizer(model, message):
    """The message says what is missing."""
    with pytest.raises(ModelError, match=message):
        stream(model, [0])
