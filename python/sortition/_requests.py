"""Requests as other stacks write them, as the parameters of this package.

Every key of a request is one of four. It is translated. Or it says nothing about which token is chosen (the model, the
messages, where the text ends, what is shown of it): the loop's arguments say that here, so it is passed over. Or it is
known and has no counterpart: an error, unless its value switches it off. Or it is unknown: an error.

A key that is absent has the default of its stack.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sortition.errors import ParameterError

__all__ = ["llama_cpp", "openai", "transformers", "vllm"]

_Values = dict[str, Any]


@dataclass(frozen=True)
class _Stack:
    """The keys of one stack: what each is called here, and the values that switch it off."""

    name: str
    translated: Mapping[str, tuple[str, tuple[Any, ...]]]
    passed: frozenset[str]
    refused: Mapping[str, tuple[Any, ...]]

    def read(self, request: Any, known: frozenset[str]) -> _Values:
        """The parameters of a request; ``known`` are those that this package has."""
        if not isinstance(request, Mapping):
            msg = f"a {self.name} request must be a mapping, got {request!r:.80}"
            raise ParameterError(msg)
        values: _Values = {}
        for key, value in request.items():
            target, off = self.translated.get(key, (None, self.refused.get(key, ())))
            if key in self.passed or any(value is none or (none is not None and value == none) for none in off):
                continue
            if target not in known:
                what = "has no counterpart here" if key in self.refused or target else "is unknown"
                msg = f"{self.name} request: {key} {what}, got {value!r:.80}"
                raise ParameterError(msg)
            values[target] = value
        return values


def transformers(config: Any, known: frozenset[str]) -> _Values:
    """Of a ``GenerationConfig``, its dictionary, or the path of a ``generation_config.json``."""
    if isinstance(config, (str, os.PathLike)):
        config = _file(Path(config))
    elif hasattr(config, "to_dict"):
        config = config.to_dict()
    values = _TRANSFORMERS.read(config, known)
    if not config.get("do_sample"):
        values["temperature"] = 0.0
    if config.get("top_k") is None:
        values["top_k"] = 50  # what the library takes where its configuration is silent
    if "bad_words" in values:
        ends = config.get("eos_token_id")
        ends = ends if isinstance(ends, (list, tuple)) else [ends]
        # The library passes over a bad word that is an end by itself.
        values["bad_words"] = [word for word in values["bad_words"] if list(word) not in [[end] for end in ends]]
    return values


def openai(request: Any, known: frozenset[str]) -> _Values:
    """Of the body of a request for a completion or a chat completion."""
    values = _OPENAI.read(request, known)
    return _with_integer_ids("OpenAI", values)


def vllm(request: Any, known: frozenset[str]) -> _Values:
    """Of vLLM's ``SamplingParams`` as a dictionary, or of the body of a request to its server."""
    values = _with_integer_ids("vLLM", _VLLM.read(request, known))
    # What it makes of a request before it samples: a temperature of at least 0.01, a bias of at most 100 either way.
    if isinstance(temperature := values.get("temperature"), (int, float)) and 0 < temperature < _VLLM_COLDEST:
        values["temperature"] = _VLLM_COLDEST
    if "logit_bias" in values:
        bias = values["logit_bias"].items()
        values["logit_bias"] = {
            token: min(100.0, max(-100.0, by)) if isinstance(by, (int, float)) else by for token, by in bias
        }
    return values


def llama_cpp(request: Any, known: frozenset[str], order: tuple[str, ...]) -> _Values:
    """Of the body of a request to llama.cpp's server; ``order`` is that of its profile."""
    given = _LLAMA_CPP.read(request, known)
    silent = {name: value for name, value in _LLAMA_CPP_DEFAULTS.items() if request.get(name) is None}
    values = {
        name: value for name, value in (silent | given).items() if not _below(value, _LLAMA_CPP_OFF_BELOW.get(name))
    }
    if _below(values["temperature"], 0):
        values["temperature"] = 0.0
    window = values.pop("repetition_window", 64)
    for penalty in ("repetition", "frequency", "presence"):
        if window == 0:
            values.pop(f"{penalty}_penalty", None)
        values[f"{penalty}_window"] = None if window <= 0 else window
    if "logit_bias" in values:
        values["logit_bias"] = _pairs(values["logit_bias"])
    if "samplers" in request:
        values = _by_samplers(values, request["samplers"], order)
    if "mirostat" in values:  # the server leaves out all samplers but a plain temperature then
        left_out = {name for _, names in _SAMPLERS.values() for name in names} - {"temperature"}
        values = {name: value for name, value in values.items() if name not in left_out}
    return values


def _by_samplers(values: _Values, samplers: Any, order: tuple[str, ...]) -> _Values:
    """Only the samplers that are listed, in the order of the list."""
    if not isinstance(samplers, list) or len(set(samplers)) < len(samplers) or set(samplers) - set(_SAMPLERS):
        msg = f"llama.cpp request: samplers must list each of {', '.join(_SAMPLERS)} at most once, got {samplers!r:.80}"
        raise ParameterError(msg)
    for sampler, (_, names) in _SAMPLERS.items():
        if sampler not in samplers:
            values = {name: value for name, value in values.items() if name not in names}
    named = [stage for sampler in samplers for stage in _SAMPLERS[sampler][0]]
    # Those of the list take, in its order, the places that they have together.
    places = iter(named)
    return values | {"order": tuple(next(places) if stage in named else stage for stage in order)}


def _below(value: Any, limit: float | None) -> bool:
    return limit is not None and isinstance(value, (int, float)) and value < limit


def _with_integer_ids(stack: str, values: _Values) -> _Values:
    """JSON has strings for keys."""
    if "logit_bias" in values:
        try:
            values["logit_bias"] = {int(token): bias for token, bias in values["logit_bias"].items()}
        except (ValueError, TypeError, AttributeError):
            msg = f"{stack} request: logit_bias must map token ids to numbers, got {values['logit_bias']!r:.80}"
            raise ParameterError(msg) from None
    return values


def _pairs(bias: Any) -> dict[int, float]:
    """``[[id, bias], …]`` or ``{"id": bias, …}``; ``false`` bans the id."""
    try:
        pairs = bias.items() if isinstance(bias, Mapping) else [(token, value) for token, value in bias]
        return {int(token): float("-inf") if value is False else float(value) for token, value in pairs}
    except (ValueError, TypeError):
        msg = f"llama.cpp request: logit_bias must pair token ids with numbers or false, got {bias!r:.80}"
        raise ParameterError(msg) from None


def _file(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"generation config {str(path)!r} cannot be read: {error}"
        raise ParameterError(msg) from None


def _same(names: str, *off: Any) -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Keys that have the same name here."""
    return {name: (name, off) for name in names.split()}


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


_TRANSFORMERS = _Stack(
    "transformers",
    translated={
        **_same("temperature", None),
        **_same("top_k", None, 0),
        **_same("top_p typical_p", None, 1.0),
        **_same("min_p top_h", None),
        **_same("repetition_penalty", None, 1.0),
        "epsilon_cutoff": ("epsilon", (None, 0.0)),
        "eta_cutoff": ("eta", (None, 0.0)),
        "suppress_tokens": ("suppress", (None,)),
        "bad_words_ids": ("bad_words", (None,)),
        "no_repeat_ngram_size": ("no_repeat_ngram", (None, 0)),
        "min_new_tokens": ("min_tokens", (None, 0)),
    },
    passed=_words(
        "do_sample max_length max_new_tokens max_time stop_strings use_cache cache_implementation cache_config "
        "return_legacy_cache max_cache_len use_mtp prefill_chunk_size renormalize_logits low_memory "
        "continuous_batching_config num_return_sequences output_attentions "
        "output_hidden_states output_scores output_logits return_dict_in_generate pad_token_id bos_token_id "
        "eos_token_id decoder_start_token_id num_assistant_tokens num_assistant_tokens_schedule is_assistant "
        "assistant_confidence_threshold max_matching_ngram_size assistant_lookbehind target_lookbehind "
        "compile_config disable_compile length_penalty early_stopping transformers_version _from_model_config "
        "_commit_hash"
    ),
    refused={
        "num_beams": (None, 1),
        "num_beam_groups": (None, 1),
        "min_length": (None, 0),
        "diversity_penalty": (None, 0.0),
        "encoder_repetition_penalty": (None, 1.0),
        "encoder_no_repeat_ngram_size": (None, 0),
        "guidance_scale": (None, 1.0),
        "remove_invalid_values": (None, False),
        "token_healing": (None, False),
        "generation_kwargs": (None, {}),
        **dict.fromkeys(
            _words(
                "penalty_alpha dola_layers force_words_ids constraints forced_bos_token_id forced_eos_token_id "
                "exponential_decay_length_penalty begin_suppress_tokens forced_decoder_ids sequence_bias "
                "watermarking_config prompt_lookup_num_tokens assistant_early_exit assistant_ensemble_weight "
                "speculation_type"
            ),
            (None,),
        ),
    },
)

_OPENAI_PASSED = _words(
    "model messages prompt stream stream_options max_tokens max_completion_tokens stop n user logprobs top_logprobs "
    "metadata store echo suffix service_tier safety_identifier prompt_cache_key"
)
_OPENAI_REFUSED = {
    "best_of": (None, 1),
    "response_format": (None, {"type": "text"}),
    "tools": (None, []),
    "tool_choice": (None, "none"),
    **dict.fromkeys(_words("functions function_call reasoning_effort prediction modalities audio"), (None,)),
}

_OPENAI = _Stack(
    "OpenAI",
    translated={
        **_same("temperature seed", None),
        **_same("top_p", None, 1.0),
        **_same("frequency_penalty presence_penalty", None, 0.0),
        **_same("logit_bias", None, {}),
    },
    passed=_OPENAI_PASSED,
    refused=_OPENAI_REFUSED,
)

_VLLM_COLDEST = 0.01

_VLLM = _Stack(
    "vLLM",
    translated={
        **_OPENAI.translated,
        **_same("seed", None, -1),
        **_same("top_k", None, 0, -1),
        **_same("min_p", None, 0.0),
        **_same("repetition_penalty", None, 1.0),
        **_same("min_tokens", None, 0),
        "allowed_token_ids": ("allowed_ids", (None,)),
    },
    passed=_OPENAI_PASSED
    | _words(
        "stop_token_ids prompt_logprobs prompt_logprob_token_ids prompt_logprob_start logprob_token_ids flat_logprobs "
        "detokenize skip_special_tokens spaces_between_special_tokens include_stop_str_in_output output_kind "
        "stream_interval skip_clone output_text_buffer_length skip_reading_prefix_cache routed_experts_prompt_start "
        "add_generation_prompt continue_final_message add_special_tokens request_id priority"
    ),
    refused={
        **_OPENAI_REFUSED,
        "ignore_eos": (None, False),
        "bad_words": (None, []),  # words, which take a tokenizer
        "use_beam_search": (None, False),
        "length_penalty": (None, 1.0),
        "extra_args": (None, {}),
        **dict.fromkeys(
            _words(
                "structured_outputs thinking_token_budget repetition_detection trace_decode_token_ids vllm_xargs "
                "guided_json guided_regex guided_choice guided_grammar"
            ),
            (None,),
        ),
    },
)

#: The samplers of llama.cpp's server: their stages, and the parameters that are theirs alone.
_SAMPLERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "penalties": (
        ("repetition", "frequency", "presence"),
        ("repetition_penalty", "frequency_penalty", "presence_penalty"),
    ),
    "dry": (("dry",), ("dry_multiplier",)),
    "top_n_sigma": (("top_n_sigma",), ("top_n_sigma",)),
    "top_k": (("top_k",), ("top_k",)),
    "typ_p": (("typical",), ("typical_p",)),
    "top_p": (("top_p",), ("top_p",)),
    "min_p": (("min_p",), ("min_p",)),
    "xtc": (("xtc",), ("xtc_probability",)),
    "temperature": (("temperature",), ("temperature", "dynatemp_range")),
    "adaptive_p": ((), ("adaptive_target",)),
}

_LLAMA_CPP_DEFAULTS: Mapping[str, Any] = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}

#: Below these values, a sampler of llama.cpp is off.
_LLAMA_CPP_OFF_BELOW: Mapping[str, float] = {"top_k": 1, "top_n_sigma": 0, "adaptive_target": 0}

_LLAMA_CPP = _Stack(
    "llama.cpp",
    translated={
        **_same("temperature mirostat_tau mirostat_eta adaptive_decay dynatemp_exponent xtc_threshold", None),
        **_same("top_k", None, 0),
        **_same("top_p typical_p", None, 1.0),
        **_same("min_p xtc_probability dynatemp_range mirostat", None, 0),
        **_same("top_n_sigma", None, 0),
        **_same("adaptive_target", None),
        **_same("frequency_penalty presence_penalty", None, 0.0),
        **_same("logit_bias", None, [], {}),
        **_same("seed", None, -1),
        **_same("min_keep", None, 0),
        "repeat_penalty": ("repetition_penalty", (None, 1.0)),
        "repeat_last_n": ("repetition_window", (None,)),
    },
    passed=_words(
        "model messages prompt n_predict n_indent n_keep n_cmpl n stream stop n_probs t_max_predict_ms id_slot "
        "cache_prompt return_tokens samplers timings_per_token return_progress sse_ping_interval post_sampling_probs "
        "response_fields n_cache_reuse max_tokens dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers"
    ),
    refused={
        "dry_multiplier": (None, 0.0),  # its breakers are texts, which take a tokenizer
        "grammar": (None, ""),
        "ignore_eos": (None, False),
        "lora": (None, []),
        **dict.fromkeys(_words("json_schema response_format tools"), (None,)),
    },
)
