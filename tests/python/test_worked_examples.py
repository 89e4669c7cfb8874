"""The examples by which this project explains decoding, with the numbers that it gives.

How often each token comes is in test_distribution.py.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sortition import Sampler, SamplingParams, decode, generate, stream
from sortition.models import PieceTokenizer, ScriptedModel

GREEDY = SamplingParams(temperature=0)

# "今天天气": what may come next. The rest, .17, is spread over 50,000 tokens more.
WEATHER = {"真": 0.42, "很": 0.18, "不": 0.10, "挺": 0.08, "特别": 0.05}
REST = 50_000


def weather():
    return np.log(np.concatenate([list(WEATHER.values()), np.full(REST, 0.17 / REST)])).astype(np.float32)


def probabilities(scores):
    weights = np.exp(scores.astype(np.float64) - scores.max())
    return weights / weights.sum()


def kept(scores, params):
    return np.flatnonzero(np.isfinite(Sampler(params).process(scores)))


def test_greedy_always_says_the_likeliest():
    """真, whatever the seed."""
    assert {Sampler(SamplingParams(temperature=0, seed=seed)).sample(weather()) for seed in range(50)} == {0}


def test_top_k_renormalises_what_it_keeps():
    """.42, .18 and .10 of .70."""
    p = probabilities(Sampler(SamplingParams(top_k=3)).process(weather()))
    assert np.flatnonzero(p).tolist() == [0, 1, 2]
    np.testing.assert_allclose(p[:3], [0.6, 0.257, 0.143], atol=5e-4)


def test_top_p_keeps_what_it_must():
    """The five words have .83; the nucleus of .9 needs .07 more, which is 7/17 of the 50,000 others."""
    tokens = kept(weather(), SamplingParams(top_p=0.9))
    assert tokens[:5].tolist() == [0, 1, 2, 3, 4]
    assert len(tokens) == pytest.approx(5 + 50_000 * 7 / 17, abs=2)


def test_top_p_keeps_few_where_the_model_is_sure_and_many_where_it_is_not():
    """What follows "中国的首都是" is peaked; a name for a café is not."""
    capital = np.log([0.88, 0.06, 0.03, 0.02, 0.01]).astype(np.float32)
    name = np.log(np.full(40, 1 / 40)).astype(np.float32)
    assert len(kept(capital, SamplingParams(top_p=0.9))) == 2
    assert len(kept(name, SamplingParams(top_p=0.9))) == 36


@pytest.mark.parametrize("temperature", [0.1, 1.0, 2.0])
def test_temperature_sharpens_and_flattens(temperature):
    """P^(1/T), renormalised."""
    table = np.array([0.55, 0.25, 0.12, 0.08])
    p = probabilities(Sampler(SamplingParams(temperature=temperature)).process(np.log(table).astype(np.float32)))
    expected = table ** (1 / temperature)
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-4)


# "React 是一个用于构建": the second choice depends on the first.
WORDS = ["用户", "现代", "界面", "体验", "网页", "应用"]
TREE = {
    (): {"用户": 0.6, "现代": 0.4},
    ("用户",): {"界面": 0.9, "体验": 0.1},
    ("现代",): {"网页": 0.5, "应用": 0.5},
}


def react():
    prompt = len(WORDS)  # an id that is no word

    def scores(context):
        said = tuple(WORDS[token] for token in context if token < prompt)
        row = np.full(len(WORDS) + 1, -np.inf)
        for word, p in TREE.get(said, {}).items():
            row[WORDS.index(word)] = np.log(p)
        if said not in TREE:
            row[-1] = 0.0
        return row

    return ScriptedModel(scores, tokenizer=PieceTokenizer(WORDS)), [prompt]


def test_greedy_goes_step_by_step():
    """用户, and then 界面, since 用户 was said."""
    model, prompt = react()
    chunks = list(stream(model, prompt, GREEDY))
    assert [chunk.text for chunk in chunks] == ["用户", "界面", ""]


def test_sampling_takes_the_other_path_too_and_stays_on_it():
    """Both beginnings come, each with its own continuations and no other."""
    model, prompt = react()
    texts = Counter(generate(model, prompt, SamplingParams(seed=seed)).text for seed in range(200))
    assert set(texts) == {"用户界面", "用户体验", "现代网页", "现代应用"}
    assert texts["用户界面"] == max(texts.values())


SCRIPT = ["好", "的", "。", "\n", "User", ":", " 然后"]


@pytest.mark.parametrize(
    ("options", "text", "finish_reason", "matched"),
    [
        ({"max_tokens": 2}, "好的", "length", None),
        ({"stop_tokens": [2]}, "好的", "stop", 2),
        ({}, "好的。", "stop", "\nUser:"),
        ({"stop_tokens": [2], "max_tokens": 2}, "好的", "length", None),
        ({"stop_tokens": [1], "max_tokens": 2}, "好", "stop", 1),
        ({"max_tokens": 6}, "好的。", "stop", "\nUser:"),
        ({"max_tokens": 5}, "好的。\nUser", "length", None),
        ({"stop_tokens": [5]}, "好的。\nUser", "stop", 5),
    ],
)
def test_of_three_conditions_the_first_to_come_ends_the_text(options, text, finish_reason, matched):
    r"""A stop token, max_tokens, and the stop string "\nUser:" in three tokens, all together."""
    done = generate(ScriptedModel.from_pieces(SCRIPT), [7], GREEDY, stop="\nUser:", **options)
    assert (done.text, done.finish_reason, done.matched) == (text, finish_reason, matched)


def test_a_stop_string_in_three_tokens_never_shows():
    """Its beginning is held from the first of them on."""
    chunks = list(stream(ScriptedModel.from_pieces(SCRIPT), [7], GREEDY, stop="\nUser:"))
    assert [chunk.text for chunk in chunks] == ["好", "的", "。", "", "", "", ""]
    assert chunks[-1].completion.text_tokens == 3


def test_the_layers_below_can_be_used_alone():
    """The same run over tokens, without any text."""
    model, prompt = react()
    steps = decode(model, prompt, Sampler(GREEDY, prompt=prompt), stop_tokens=model.tokenizer.eos_ids)
    assert [step.token for step in steps] == [0, 2, len(WORDS)]
