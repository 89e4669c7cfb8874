"""ONNX Runtime and its generate API, on a decoder of one layer that is made here."""

from __future__ import annotations

import numpy as np
import pytest

import pages
import tiny_onnx
from sortition import ModelError, ParameterError, Sampler, SamplingParams, ScriptedModel, decode, generate
from sortition.integrations.onnxruntime import OnnxModel
from sortition.integrations.onnxruntime_genai import GenaiModel

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the libraries' own warnings

PROMPT = [5, 6, 7, 250]
PARAMS = SamplingParams(temperature=0.8, top_p=0.95, repetition_penalty=1.2, seed=7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pages.needs("onnx", "onnxruntime")
    folder = tmp_path_factory.mktemp("onnx")
    tiny_onnx.write(folder)
    return folder


@pytest.fixture
def session(folder):
    import onnxruntime

    return onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])


@pytest.fixture
def generator(folder):
    pages.needs("onnxruntime_genai")
    import onnxruntime_genai as og

    engine = og.Model(str(folder))
    options = og.GeneratorParams(engine)
    options.set_search_options(max_length=tiny_onnx.CONTEXT)
    return og.Generator(engine, options)


class Anew:
    """The same file as a model that computes its whole context at every step."""

    def __init__(self, session):
        self.session = session
        self.context = []

    def forward(self, tokens):
        self.context += tokens
        count = len(self.context)
        nothing = np.zeros((1, tiny_onnx.HEADS, 0, tiny_onnx.WIDTH), np.float32)
        inputs = {
            "input_ids": [self.context],
            "attention_mask": np.ones((1, count), np.int64),
            "position_ids": [range(count)],
            "past_key_values.0.key": nothing,
            "past_key_values.0.value": nothing,
        }
        wanted = {item.name for item in self.session.get_inputs()}
        return self.session.run(["logits"], {name: inputs[name] for name in wanted})[0][0, -1]


def drawn(model, prompt=PROMPT, params=PARAMS, sampler_prompt=None):
    """Twenty-four tokens of the own loop."""
    sampler = Sampler(params, prompt=sampler_prompt or prompt)
    return [step.token for step in decode(model, prompt, sampler, max_tokens=24, stop_tokens=[tiny_onnx.EOS])]


def test_past_and_present_give_the_tokens_of_the_whole_context(session):
    assert drawn(OnnxModel(session)) == drawn(Anew(session))


def test_a_prompt_is_read_once_for_two_texts(session):
    model = OnnxModel(session)
    model.forward(PROMPT[:-1])
    fork = model.fork()
    expected = drawn(Anew(session))
    assert drawn(fork, PROMPT[-1:], sampler_prompt=PROMPT) == expected
    assert drawn(model, PROMPT[-1:], sampler_prompt=PROMPT) == expected
    model.truncate(len(PROMPT) - 1)
    assert drawn(model, PROMPT[-1:], sampler_prompt=PROMPT) == expected
    with pytest.raises(ParameterError, match=r"length must be in \[0, \d+\], got 100"):
        model.truncate(100)


def test_every_token_may_be_asked_for_its_scores(session):
    rows = OnnxModel(session).forward(PROMPT, all=True)
    assert rows.shape == (len(PROMPT), tiny_onnx.VOCAB)
    assert rows[1] == pytest.approx(OnnxModel(session).forward(PROMPT[:2]), abs=1e-5)


def test_with_a_tokenizer_it_writes_text(session):
    pieces = ScriptedModel.from_pieces([f"{token} " for token in range(tiny_onnx.VOCAB - 1)]).tokenizer
    done = generate(OnnxModel(session, pieces), PROMPT, PARAMS, max_tokens=8)
    assert done.text == "".join(f"{token} " for token in done.tokens)


def test_a_session_without_past_is_refused(tmp_path):
    pages.needs("onnx", "onnxruntime")
    import onnx
    import onnxruntime

    plain = "<ir_version: 8, opset_import: ['' : 17]> g (float[n] x) => (float[n] logits) { logits = Neg(x) }"
    onnx.save(onnx.parser.parse_model(plain.replace("'", '"')), tmp_path / "plain.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "plain.onnx", providers=["CPUExecutionProvider"])
    with pytest.raises(ModelError, match="past and present"):
        OnnxModel(session)


def test_the_generate_api_gives_the_tokens_of_the_runtime(session, generator):
    model = GenaiModel(generator)
    expected = drawn(Anew(session))
    assert drawn(model) == expected
    model.truncate(len(PROMPT) - 1)
    assert drawn(model, PROMPT[-1:], sampler_prompt=PROMPT) == expected
    with pytest.raises(ParameterError, match=r"length must be in \[0, \d+\], got 100"):
        model.truncate(100)


@pytest.mark.parametrize("page", ["onnxruntime", "onnxruntime-genai"])
def test_the_scripts_of_a_page_make_a_model_and_draw_the_tokens_of_the_own_loop(page, tmp_path, monkeypatch):
    """The model is that of the one page, and the other makes a folder of it."""
    pages.needs("onnx", "onnxruntime", page.replace("-", "_"))
    import onnxruntime

    monkeypatch.chdir(tmp_path)
    pages.run("integrations/onnxruntime.md", 0)
    if page == "onnxruntime-genai":
        pages.run("integrations/onnxruntime-genai.md", 0)
    names = pages.run(f"integrations/{page}.md", 1)
    own = Anew(onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"]))
    assert names["tokens"] == drawn(own, names["prompt"], names["sampler"].params)
