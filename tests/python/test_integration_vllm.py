"""The v1 interface of vLLM, in a stand-in that is written by what it publishes: this is no run of vLLM."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import pytest

import pages
from sortition import MissingExtra, ParameterError, Sampler, SamplingParams, ScriptedModel, decode
from sortition.integrations import vllm
from vllm_stand_in import VOCAB, Engine, Request, install, scores

pytestmark = pytest.mark.heavy  # for torch

KINDS = [
    {"temperature": 0.8, "top_p": 0.9},
    {"temperature": 0.0},
    {"min_p": 0.05, "frequency_penalty": 0.5, "repetition_penalty": 1.2},
    {"mirostat": 2, "mirostat_tau": 4.0},
]


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    pages.needs("torch")
    vllm._logits_processor.cache_clear()
    install(monkeypatch)
    yield
    vllm._logits_processor.cache_clear()


def request(number, max_tokens, **changes):
    """No two alike; every third in the words of the server."""
    ours = {**KINDS[number % len(KINDS)], "seed": number, **changes}
    asked = json.dumps(ours) if number % 3 == 0 else ours
    return Request([number, number + 1, 5], SimpleNamespace(extra_args={"sortition": asked}), max_tokens)


def own_loop(done):
    """The tokens of `decode` for the request alone."""
    asked = done.params.extra_args["sortition"]
    params = SamplingParams(**(json.loads(asked) if isinstance(asked, str) else asked))
    model = ScriptedModel(lambda context: scores([Request(list(context), None, 0)])[0].numpy())
    sampler = Sampler(params, prompt=done.prompt)
    return [step.token for step in decode(model, done.prompt, sampler, max_tokens=done.max_tokens)]


def finish(engine, requests, waiting=None, **options):
    while any(len(one.output) < one.max_tokens for one in requests):
        engine.step(waiting if waiting is not None else [], **options)


def test_requests_that_come_and_go_have_the_tokens_of_the_own_loop():
    requests = [request(number, 3 + number % 5) for number in range(14)]
    finish(Engine(vllm.LogitsProcessor), requests, list(requests))
    assert [one.output for one in requests] == [own_loop(one) for one in requests]


def test_requests_that_change_places_do_too():
    requests = [request(number, 6) for number in range(4)]
    engine = Engine(vllm.LogitsProcessor)
    engine.step(list(requests))
    engine.step([], swap=(0, 3))
    engine.step([], swap=(1, 3))
    finish(engine, requests)
    assert [one.output for one in requests] == [own_loop(one) for one in requests]


def test_a_draw_that_is_thrown_away_is_taken_back():
    """As for a prompt that is read in pieces."""
    requests = [request(number, 4) for number in range(3)]
    engine = Engine(vllm.LogitsProcessor)
    engine.step(list(requests), discard=True)
    engine.step([], discard=True)
    finish(engine, requests)
    assert [one.output for one in requests] == [own_loop(one) for one in requests]


def test_a_request_that_was_preempted_goes_on_where_it_was():
    requests = [request(number, 6) for number in range(3)]
    engine = Engine(vllm.LogitsProcessor)
    engine.step(list(requests))
    engine.step([])
    again = engine.preempt(1)
    engine.step([])
    engine.step([again])
    finish(engine, requests)
    assert [one.output for one in requests] == [own_loop(one) for one in requests]


def test_requests_that_do_not_ask_are_left_alone():
    import torch

    engine = Engine(vllm.LogitsProcessor)
    others = [Request([number], SimpleNamespace(extra_args=args), 1) for number, args in enumerate([None, {"x": 1}])]
    ours = request(2, 4)
    engine.step([others[0], ours, others[1]], discard=True)
    given = scores([others[0], ours, others[1]])
    left = engine.processor.apply(given.clone())
    assert torch.equal(left[[0, 2]], given[[0, 2]])
    assert torch.isfinite(left[1]).nonzero().tolist() == [[own_loop(ours)[0]]]
    assert left.shape == (3, VOCAB)


def test_scores_on_the_host_are_read_where_they_are(monkeypatch):
    """Nobody makes float32 or an array of NumPy of them."""
    import torch

    ours = [request(number, 4) for number in range(3)]
    engine = Engine(vllm.LogitsProcessor)
    engine.step(list(ours), discard=True)
    half = scores(ours).to(torch.bfloat16)
    params = [vllm._params(one.params) for one in ours]
    rows = half.float().numpy()
    expected = [
        Sampler(asked, prompt=one.prompt).sample(row) for asked, one, row in zip(params, ours, rows, strict=True)
    ]
    for name in ("float", "numpy", "to", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, None)
    assert torch.isfinite(engine.processor.apply(half)).nonzero().tolist() == [list(at) for at in enumerate(expected)]


@pytest.mark.parametrize("asked", [{"top_p": 2}, {"topp": 0.9}, '{"top_p": 2}', "top_p=2", 5])
def test_bad_parameters_are_refused_when_the_request_comes(asked):
    with pytest.raises(ParameterError, match=r"top_p must be in|extra_args"):
        vllm.LogitsProcessor.validate_params(SimpleNamespace(extra_args={"sortition": asked}))


def test_the_class_is_found_by_its_name():
    """The engine sends it to its processes, and the server is told it as text."""
    assert pickle.loads(pickle.dumps(vllm.LogitsProcessor)) is vllm.LogitsProcessor  # noqa: S301 - our own


def test_without_vllm_it_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.delitem(sys.modules, "vllm.v1.sample.logits_processor")
    monkeypatch.delitem(sys.modules, "vllm.v1.sample")
    monkeypatch.delitem(sys.modules, "vllm.v1")
    vllm._logits_processor.cache_clear()
    with pytest.raises(MissingExtra, match="pip install vllm"):
        vllm.LogitsProcessor  # noqa: B018 - looked up on use


def test_the_script_of_the_page_prints_the_tokens_of_the_own_loop(capsys):
    names = pages.run("integrations/vllm.md")
    requests = [
        Request(prompt["prompt_token_ids"], params, 16)
        for prompt, params in zip(names["prompts"], names["params"], strict=True)
    ]
    assert capsys.readouterr().out.splitlines() == [str(own_loop(one)) for one in requests]
