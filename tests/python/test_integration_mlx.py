"""mlx-lm, on a llama of random weights that is made here."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pages
from sortition import Sampler, SamplingParams, decode
from sortition.integrations.mlx_lm import make_logits_processor, make_sampler

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the library's own warnings

WORDS = ["<eos>", "<unk>", "今天", "天气", "真好", *(f"w{index}" for index in range(395))]
PROMPT = [2, 3, 4]
CONFIG = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": len(WORDS),
    "eos_token_id": 0,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights, configuration and a tokenizer of words, as the library loads them."""
    pages.needs("mlx_lm", "transformers")
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_lm.models import llama
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("mlx")
    mx.random.seed(0)
    model = llama.Model(llama.ModelArgs.from_dict(CONFIG))
    weights = {name: values * 3 for name, values in tree_flatten(model.parameters())}  # some tokens are likelier
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, WORDS[1]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=WORDS[0], unk_token=WORDS[1])
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    import mlx_lm

    return mlx_lm.load(str(folder))[0]


class Single:
    """A model of mlx as this package's own loop knows models."""

    def __init__(self, model):
        from mlx_lm.models.cache import make_prompt_cache

        self.model, self.cache = model, make_prompt_cache(model)

    def forward(self, tokens):
        import mlx.core as mx

        return np.array(self.model(mx.array([tokens]), cache=self.cache)[0, -1].astype(mx.float32))


def own_loop(model, params, max_tokens, prompt=PROMPT):
    sampler = Sampler(params, prompt=prompt)
    return [step.token for step in decode(Single(model), prompt, sampler, max_tokens=max_tokens)]


@pytest.mark.parametrize(
    ("make", "argument", "changes"),
    [
        (make_logits_processor, "logits_processors", {"repetition_penalty": 1.3, "frequency_penalty": 0.2}),
        (make_sampler, "sampler", {"frequency_penalty": 0.2}),
    ],
)
def test_it_draws_the_tokens_of_the_own_loop_and_one_more(model, make, argument, changes):
    import mlx.core as mx
    from mlx_lm.generate import generate_step

    params = SamplingParams(temperature=0.8, top_p=0.9, seed=7, **changes)
    sampler = Sampler(params, prompt=PROMPT)
    made = make(sampler)
    given = {argument: [made] if argument == "logits_processors" else made}
    tokens = [token for token, _ in generate_step(mx.array(PROMPT), model, max_tokens=16, **given)]
    assert tokens == own_loop(model, params, 16)
    assert len(set(tokens)) > 4
    assert sampler.position == 17


def test_half_precision_is_read(model):
    import mlx.core as mx

    scores = mx.array([[0.0, 3.0, 1.0]], mx.bfloat16)
    greedy = Sampler(SamplingParams(temperature=0))
    assert make_sampler(greedy)(scores).tolist() == [1]
    assert make_logits_processor(greedy)(mx.array([0]), scores).tolist() == [[-np.inf, 0.0, -np.inf]]


def test_the_script_of_the_page_writes_what_the_own_loop_writes(folder, model, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = pages.run("integrations/mlx-lm.md")
    expected = own_loop(model, names["params"], 24, names["prompt"])
    assert names["sampler"].output.tolist()[:24] == expected
    assert capsys.readouterr().out.split() == [WORDS[token] for token in expected]
