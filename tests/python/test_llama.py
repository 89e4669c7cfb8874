"""The llama forward pass against the same written out in loops, and its context."""

from __future__ import annotations

import numpy as np
import pytest

from sortition import ModelError, ParameterError
from sortition.models import Forkable, Model, Truncatable
from sortition.models.llama import LlamaConfig, LlamaModel, LlamaWeights

CONFIG = LlamaConfig(
    layers=2, width=24, heads=6, kv_heads=2, head_width=4, vocab_size=50, context_length=700, rope_base=100.0
)
HIDDEN = 40
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 49, 0]


def random_arrays(config=CONFIG, hidden=HIDDEN, *, tied=True):
    random = np.random.default_rng(0)
    rows = (config.heads + 2 * config.kv_heads) * config.head_width
    arrays = {}
    for index in range(config.layers):
        shapes = {
            "attention_norm": (config.width,),
            "qkv": (rows, config.width),
            "attention_output": (config.width, config.heads * config.head_width),
            "ffn_norm": (config.width,),
            "gate_up": (2 * hidden, config.width),
            "ffn_down": (config.width, hidden),
        }
        arrays |= {f"layer.{index}.{name}": random.normal(size=shape) for name, shape in shapes.items()}
    arrays["embedding"] = random.normal(size=(config.vocab_size, config.width))
    arrays["output_norm"] = random.normal(size=config.width)
    if not tied:
        arrays["output"] = random.normal(size=(config.vocab_size, config.width))
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def build(**options):
    return LlamaModel(CONFIG, LlamaWeights.from_arrays(CONFIG, random_arrays(**options)))


def by_the_book(arrays, tokens, config=CONFIG):
    """The scores after the last token, in float64: one position, one head, one pair at a time."""

    def norm(x, weights):
        return x / np.sqrt((x**2).mean() + config.norm_epsilon) * weights

    def turn(head, position):
        head = head.copy()
        for pair in range(config.head_width // 2):
            angle = position * config.rope_base ** (-2 * pair / config.head_width)
            a, b = head[2 * pair], head[2 * pair + 1]
            head[2 * pair] = a * np.cos(angle) - b * np.sin(angle)
            head[2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
        return head

    w = {name: array.astype(np.float64) for name, array in arrays.items()}
    xs = [w["embedding"][token] for token in tokens]
    for index in range(config.layers):
        layer = {name.split(".")[2]: array for name, array in w.items() if name.startswith(f"layer.{index}.")}
        split = [config.heads, config.heads + config.kv_heads]
        qkv = [(layer["qkv"] @ norm(x, layer["attention_norm"])).reshape(-1, config.head_width) for x in xs]
        queries, keys, values = zip(*(np.split(heads, split) for heads in qkv), strict=True)
        for position in range(len(xs)):
            out = []
            for head in range(config.heads):
                shared = head * config.kv_heads // config.heads
                query = turn(queries[position][head], position)
                scores = [query @ turn(keys[p][shared], p) / config.head_width**0.5 for p in range(position + 1)]
                weights = np.exp(scores - np.max(scores))
                out.append(sum(p * values[i][shared] for i, p in enumerate(weights / weights.sum())))
            xs[position] = xs[position] + layer["attention_output"] @ np.concatenate(out)
            gate, up = np.split(layer["gate_up"] @ norm(xs[position], layer["ffn_norm"]), 2)
            xs[position] = xs[position] + layer["ffn_down"] @ (gate / (1 + np.exp(-gate)) * up)
    return w.get("output", w["embedding"]) @ norm(xs[-1], w["output_norm"])


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "own output"])
def test_the_scores_are_those_of_the_definition(tied):
    """Vectorised in float32, against loops in float64."""
    expected = by_the_book(random_arrays(tied=tied), TOKENS)
    scores = build(tied=tied).forward(TOKENS)
    assert scores.dtype == np.float32
    assert scores.shape == (CONFIG.vocab_size,)
    np.testing.assert_allclose(scores, expected, atol=1e-5 * np.abs(expected).max())


def test_a_prompt_at_once_gives_what_step_by_step_gives():
    """Prefill and incremental decoding are the same model."""
    stepwise = build()
    rows = [stepwise.forward([token]) for token in TOKENS]
    np.testing.assert_allclose(build().forward(TOKENS, all=True), rows, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(build().forward(TOKENS), rows[-1], rtol=1e-3, atol=1e-3)


def test_a_long_prompt_is_read_in_blocks_without_a_seam():
    """600 tokens, beyond two blocks and two growths of the cache, and in pieces of uneven length."""
    tokens = np.random.default_rng(1).integers(0, CONFIG.vocab_size, 600)
    rows = build().forward(tokens, all=True)
    assert rows.shape == (600, CONFIG.vocab_size)
    model = build()
    uneven = np.concatenate([model.forward(part, all=True) for part in np.split(tokens, [1, 200, 257, 258, 511])])
    np.testing.assert_allclose(uneven, rows, rtol=1e-2, atol=1e-2)


def test_after_going_back_nothing_of_what_was_forgotten_shows():
    """To the bit."""
    model = build()
    model.forward(TOKENS[:4])
    expected = model.fork().forward(TOKENS[4:6])
    model.forward([7, 7, 7])
    model.truncate(4)
    assert model.length == 4
    np.testing.assert_array_equal(model.forward(TOKENS[4:6]), expected)
    model.truncate(0)
    np.testing.assert_array_equal(model.forward(TOKENS), build().forward(TOKENS))


def test_a_fork_and_its_origin_do_not_see_each_other():
    """They read different tokens at the same place, in turn; each goes on as if it had been alone."""
    model, alone, other = build(), build(), build()
    for each in (model, alone, other):
        each.forward(TOKENS)
    twin = model.fork()
    model.forward([1])
    twin.forward([2])
    alone.forward([1])
    other.forward([2])
    np.testing.assert_array_equal(model.forward([3]), alone.forward([3]))
    np.testing.assert_array_equal(twin.forward([3]), other.forward([3]))
    twin.truncate(0)
    assert model.length == len(TOKENS) + 2


def test_scores_handed_out_stay_as_they_are():
    """Later calls do not write into them."""
    model = build()
    scores = model.forward(TOKENS)
    copy = scores.copy()
    model.forward([1])
    np.testing.assert_array_equal(scores, copy)


def test_it_is_a_model_with_everything_optional():
    """By the protocols; its vocabulary and its context are known."""
    model = build()
    assert isinstance(model, Model)
    assert isinstance(model, Truncatable)
    assert isinstance(model, Forkable)
    assert (model.vocab_size, model.context_length) == (50, 700)


@pytest.mark.parametrize(
    ("tokens", "error", "message"),
    [
        ([], ParameterError, r"tokens must be a sequence of at least one token id, got \[\]"),
        ([0.5], ParameterError, r"tokens must be a sequence of at least one token id, got \[0\.5\]"),
        ([[1]], ParameterError, "tokens must be a sequence of at least one token id"),
        ([1, 50], ParameterError, r"tokens must be in \[0, 50\), got 50"),
        ([-1], ParameterError, r"tokens must be in \[0, 50\), got -1"),
        ([1] * 691, ModelError, "the context holds at most 700 tokens: it has 10, and 691 more were given"),
    ],
)
def test_what_cannot_be_read_leaves_the_context_as_it_was(tokens, error, message):
    """The message says what is wrong, and the next call works."""
    model = build()
    model.forward(TOKENS)
    expected = model.fork().forward([1])
    with pytest.raises(error, match=message):
        model.forward(tokens)
    np.testing.assert_array_equal(model.forward([1]), expected)


def test_an_interrupt_in_a_long_prompt_leaves_no_half_of_it(monkeypatch):
    """It comes when the first block has been read."""
    model = build()
    model.forward(TOKENS)
    expected = model.fork().forward([1])
    block, blocks = model._block, []

    def interrupted(ids, **options):
        if blocks:
            raise KeyboardInterrupt
        blocks.append(block(ids, **options))
        return blocks[0]

    monkeypatch.setattr(model, "_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.forward([1] * 600)
    monkeypatch.undo()
    assert model.length == len(TOKENS)
    np.testing.assert_array_equal(model.forward([1]), expected)


def test_text_needs_a_tokenizer():
    """A model without one says so."""
    with pytest.raises(ModelError, match="this LlamaModel has no tokenizer"):
        build().tokenizer  # noqa: B018 - looking is what raises


def test_the_context_can_be_filled_to_the_last_token():
    """And no further."""
    model = build()
    model.forward([1] * 700)
    with pytest.raises(ModelError, match="it has 700, and 1 more"):
        model.forward([1])


@pytest.mark.parametrize("length", [-1, 11])
def test_going_back_needs_a_place_that_was_passed(length):
    """From 0 to where it is."""
    model = build()
    model.forward(TOKENS)
    with pytest.raises(ParameterError, match=rf"length must be in \[0, 10\], got {length}"):
        model.truncate(length)
    with pytest.raises(ParameterError, match=f"length must be an integer, got '{length}'"):
        model.truncate(str(length))
    assert model.length == 10


def test_missing_weights_are_named():
    """With the name that was looked for."""
    arrays = random_arrays()
    del arrays["layer.1.ffn_down"]
    with pytest.raises(ModelError, match=r"the model has no weights named 'layer\.1\.ffn_down'"):
        LlamaWeights.from_arrays(CONFIG, arrays)
