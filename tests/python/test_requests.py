"""Requests of other stacks: a key is translated, passed over because it chooses no token, or an error names it."""

from __future__ import annotations

import json

import pytest

from sortition import ParameterError, Profile, SamplingParams

READERS = {
    "transformers": SamplingParams.from_transformers,
    "openai": SamplingParams.from_openai,
    "vllm": SamplingParams.from_vllm,
    "llama.cpp": SamplingParams.from_llama_cpp,
}

TRANSLATED = [
    ("transformers", {"do_sample": True, "temperature": 0.7}, {"temperature": 0.7, "top_k": 50}),
    ("transformers", {"do_sample": False, "temperature": 0.7}, {"temperature": 0.0}),
    ("transformers", {"temperature": 0.7}, {"temperature": 0.0}),
    ("transformers", {"do_sample": True, "top_k": 0, "top_p": 1.0}, {"top_k": None, "top_p": None}),
    ("transformers", {"do_sample": True, "top_k": None}, {"top_k": 50}),
    ("transformers", {"epsilon_cutoff": 3e-4, "eta_cutoff": 0.0}, {"epsilon": 3e-4, "eta": None}),
    ("transformers", {"typical_p": 0.9, "min_p": 0.1, "top_h": 0.4}, {"typical_p": 0.9, "min_p": 0.1, "top_h": 0.4}),
    ("transformers", {"suppress_tokens": [1, 2]}, {"suppress": (1, 2)}),
    ("transformers", {"repetition_penalty": 1.1}, {"repetition_penalty": 1.1, "repetition_scope": "all"}),
    ("transformers", {"repetition_penalty": 1.0, "num_beams": 1}, {"repetition_penalty": None}),
    ("transformers", {"min_new_tokens": 4}, {"min_tokens": 4}),
    ("transformers", {"bad_words_ids": [[2], [3]], "eos_token_id": 2}, {"bad_words": ((3,),)}),
    ("openai", {}, {"temperature": 1.0, "top_p": None, "seed": None}),
    ("openai", {"frequency_penalty": 0.5, "presence_penalty": 0}, {"frequency_penalty": 0.5, "presence_penalty": None}),
    ("openai", {"logit_bias": {"50256": -100}, "seed": 7}, {"logit_bias": {50256: -100.0}, "seed": 7}),
    ("openai", {"frequency_penalty": 1}, {"frequency_scope": "output"}),
    ("vllm", {"top_k": -1, "top_p": 1.0, "min_p": 0.0}, {"top_k": None, "top_p": None, "min_p": None}),
    ("vllm", {"top_k": 0}, {"top_k": None}),
    ("vllm", {"temperature": 0.005, "seed": -1}, {"temperature": 0.01, "seed": None}),
    ("vllm", {"logit_bias": {"5": -1000, "6": 7}}, {"logit_bias": {5: -100.0, 6: 7.0}}),
    ("vllm", {"allowed_token_ids": [3, 1], "min_tokens": 2}, {"allowed_ids": (3, 1), "min_tokens": 2}),
    ("vllm", {"repetition_penalty": 1.2, "ignore_eos": False}, {"repetition_penalty": 1.2}),
    ("llama.cpp", {}, {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}),
    ("llama.cpp", {"temperature": -1, "top_k": 0, "min_p": 0}, {"temperature": 0.0, "top_k": None, "min_p": None}),
    ("llama.cpp", {"repeat_penalty": 1.1, "repeat_last_n": -1}, {"repetition_penalty": 1.1, "repetition_window": None}),
    ("llama.cpp", {"repeat_penalty": 1.1, "repeat_last_n": 0}, {"repetition_penalty": None}),
    ("llama.cpp", {"presence_penalty": 1, "repeat_last_n": 8}, {"presence_window": 8, "presence_scope": "all"}),
    ("llama.cpp", {"logit_bias": [[5, 1.5], [6, False]]}, {"logit_bias": {5: 1.5, 6: float("-inf")}}),
    ("llama.cpp", {"mirostat": 2, "mirostat_tau": 3.0}, {"mirostat": 2, "mirostat_tau": 3.0, "top_k": None}),
    ("llama.cpp", {"seed": -1, "min_keep": 0, "typical_p": 1.0}, {"seed": None, "min_keep": 1, "typical_p": None}),
    ("llama.cpp", {"xtc_probability": 0.5, "dynatemp_range": 0.3}, {"xtc_probability": 0.5, "dynatemp_range": 0.3}),
    ("llama.cpp", {"samplers": ["top_k"], "top_k": 5}, {"top_k": 5, "top_p": None, "temperature": 1.0}),
    ("llama.cpp", {"samplers": "kt", "top_k": 5}, {"top_k": 5, "top_p": None, "temperature": 0.8}),
    ("llama.cpp", {"samplers": ["Top-K", "nucleus", "temp"]}, {"top_k": 40, "top_p": 0.95, "min_p": None}),
    (
        "llama.cpp",
        {"samplers": ["min_p", "adaptive_p"], "adaptive_target": 0.3},
        {"adaptive_target": 0.3, "top_k": None},
    ),
    (
        "llama.cpp",
        {"samplers": ["adaptive_p"], "adaptive_target": 0.3, "adaptive_decay": 0.999},
        {"adaptive_decay": 0.99},
    ),
    ("llama.cpp", {"samplers": ["adaptive_p"], "adaptive_target": -1}, {"adaptive_target": None, "top_k": None}),
    ("llama.cpp", {"top_k": -3, "top_n_sigma": -1.0, "dynatemp_range": -0.5}, {"top_k": None, "top_n_sigma": None}),
    ("llama.cpp", {"logit_bias": [[5, 1], [5, 0.5], [6, 1], [6, False]]}, {"logit_bias": {5: 1.5, 6: float("-inf")}}),
    ("llama.cpp", {"logit_bias": {"5": False}}, {"logit_bias": {5: float("-inf")}}),
    ("llama.cpp", {"dry_multiplier": 0.0, "dry_allowed_length": 4}, {"dry_multiplier": None, "dry_window": 64}),
    ("llama.cpp", {"dry_multiplier": 0.8, "dry_penalty_last_n": 0}, {"dry_multiplier": None}),
    ("transformers", {"sequence_bias": [[[5], 1.5]]}, {"logit_bias": {5: 1.5}}),
    ("transformers", {"sequence_bias": {(5,): -1}}, {"logit_bias": {5: -1.0}}),
    ("vllm", {"thinking_token_budget": -1, "tool_choice": "auto", "cache_salt": "s"}, {"temperature": 1.0}),
]


@pytest.mark.parametrize(("stack", "request_", "expected"), TRANSLATED)
def test_a_request_says_here_what_it_says_there(stack, request_, expected):
    """Names, values that switch off, and what the stack takes where its request is silent."""
    params = READERS[stack](request_)
    assert {name: getattr(params, name) for name in expected} == expected


@pytest.mark.parametrize("stack", READERS)
def test_a_request_is_read_as_its_stack_reads_it(stack):
    """Order and readings are the profile's; changes by name prevail."""
    params = READERS[stack]({}, min_keep=3)
    profile = Profile.named(stack)
    assert (params.order, params.readings, params.min_keep) == (profile.order, profile.readings, 3)


REFUSED = [
    ("transformers", "num_beams", 4),
    ("transformers", "guidance_scale", 1.5),
    ("transformers", "begin_suppress_tokens", [1]),
    ("openai", "response_format", {"type": "json_object"}),
    ("openai", "top_k", 40),
    ("vllm", "ignore_eos", True),
    ("vllm", "bad_words", ["坏"]),
    ("vllm", "structured_outputs", {"regex": "a"}),
    ("llama.cpp", "grammar", "root ::= [0-9]"),
    ("llama.cpp", "samplers", ["top_k", "infill"]),
    ("llama.cpp", "samplers", ["top_k", "top_k"]),
    *((stack, "温度", 0.5) for stack in READERS),
]


@pytest.mark.parametrize(("stack", "key", "value"), REFUSED)
def test_what_cannot_be_honoured_is_named(stack, key, value):
    """Never silence."""
    with pytest.raises(ParameterError, match=key):
        READERS[stack]({key: value})


@pytest.mark.parametrize("stack", ["openai", "vllm", "llama.cpp"])
def test_a_request_is_a_mapping(stack):
    """And says so."""
    with pytest.raises(ParameterError, match="mapping"):
        READERS[stack]("temperature")


def test_a_generation_config_is_read_from_its_file(tmp_path):
    """As models ship it, with what says nothing about the choice of a token."""
    config = {
        "_from_model_config": True, "bos_token_id": 1, "do_sample": True, "eos_token_id": [2, 3], "pad_token_id": 0,
        "repetition_penalty": 1.05, "temperature": 0.6, "top_k": 20, "top_p": 0.8, "transformers_version": "4.51.0",
    }  # fmt: skip
    path = tmp_path / "generation_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    params = SamplingParams.from_transformers(path)
    assert (params.temperature, params.top_k, params.top_p, params.repetition_penalty) == (0.6, 20, 0.8, 1.05)
    assert params == SamplingParams.from_transformers(config) == SamplingParams.from_transformers(str(path))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """Missing, or no JSON."""
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    for name in ("broken.json", "missing.json"):
        with pytest.raises(ParameterError, match=name):
            SamplingParams.from_transformers(tmp_path / name)


def test_listed_samplers_run_in_the_order_of_the_list():
    """All others keep their places."""
    samplers = ["temperature", "min_p", "top_k"]
    params = SamplingParams.from_llama_cpp({"samplers": samplers, "temperature": 0.5})
    assert [stage for stage in params.order if stage in samplers] == samplers
    assert sorted(params.order) == sorted(Profile.named("llama.cpp").order)


def test_dry_of_llama_cpp_takes_its_breakers_as_ids():
    """There they are texts, which take a tokenizer; the rest is the server's."""
    request = {"dry_multiplier": 0.8, "dry_base": 0.5, "dry_allowed_length": 3, "dry_sequence_breakers": ["\n", ":"]}
    params = SamplingParams.from_llama_cpp(request, dry_breakers=[[198], [25]])
    assert (params.dry_multiplier, params.dry_base, params.dry_allowed_length) == (0.8, 1.75, 3)
    assert (params.dry_window, params.dry_breakers) == (64, ((198,), (25,)))
    whole = SamplingParams.from_llama_cpp(request | {"dry_penalty_last_n": -1}, dry_breakers=[])
    assert whole.dry_window is None


def test_the_settings_that_llama_cpp_shows_are_its_defaults():
    """What its server shows of itself may be sent back to it."""
    shown = {
        "seed": 4294967295, "temperature": 0.8, "dynatemp_range": 0.0, "dynatemp_exponent": 1.0, "top_k": 40,
        "top_p": 0.95, "min_p": 0.05, "top_n_sigma": -1.0, "xtc_probability": 0.0, "xtc_threshold": 0.1,
        "typical_p": 1.0, "repeat_last_n": 64, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "dry_multiplier": 0.0, "dry_base": 1.75, "dry_allowed_length": 2, "dry_penalty_last_n": 64,
        "dry_sequence_breakers": ["\n", ":", '"', "*"], "mirostat": 0, "mirostat_tau": 5.0, "mirostat_eta": 0.1,
        "adaptive_target": -1.0, "adaptive_decay": 0.9, "stop": [], "max_tokens": -1, "n_predict": -1, "n_keep": 0,
        "n_discard": 0, "ignore_eos": False, "stream": False, "logit_bias": [], "n_probs": 0, "min_keep": 0,
        "grammar": "", "grammar_lazy": False, "grammar_triggers": [], "preserved_tokens": [],
        "chat_format": "Content-only", "reasoning_format": "none", "reasoning_in_content": False,
        "generation_prompt": "", "speculative.types": "none", "timings_per_token": False, "lora": [],
        "post_sampling_probs": False, "backend_sampling": False,
        "samplers": ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"],
    }  # fmt: skip
    assert SamplingParams.from_llama_cpp(shown) == SamplingParams.from_llama_cpp({})


def test_parameters_come_back_from_their_dictionary():
    """Also through JSON, where ids of a bias are text."""
    params = SamplingParams.profile("vllm", top_k=5, logit_bias={3: -1.0}, suppress=[7], seed=1)
    assert SamplingParams(**params.to_dict()) == params
    plain = json.loads(json.dumps(params.to_dict()))
    plain["logit_bias"] = {int(token): bias for token, bias in plain["logit_bias"].items()}
    assert SamplingParams(**plain) == params
