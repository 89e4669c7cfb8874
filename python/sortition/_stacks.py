"""The keys of other stacks: what each is called here, what switches it off, and which say nothing about a token.

Read were: transformers 5.24 (``GenerationConfig``), vLLM in 2026 (``SamplingParams`` and the bodies of its completion
and chat requests), llama.cpp's server as llama-cpp-python 0.3.36 has it, and the API reference of OpenAI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LLAMA_CPP", "OPENAI", "SAMPLERS", "SAMPLER_LETTERS", "TRANSFORMERS", "VLLM", "Stack"]

_Off = tuple[Any, ...]


@dataclass(frozen=True)
class Stack:
    """The keys of one stack.

    Attributes:
        name: of the stack, for errors.
        translated: for a key, its parameter here, and the values that switch it off.
        passed: keys that say nothing about which token is chosen: the model, the messages, where the text ends, what
            is shown of it.
        refused: keys without a counterpart here, and the values that switch them off.
    """

    name: str
    translated: Mapping[str, tuple[str, _Off]]
    passed: frozenset[str]
    refused: Mapping[str, _Off]


def _same(names: str, *off: Any) -> dict[str, tuple[str, _Off]]:
    """Keys that have the same name here."""
    return {name: (name, off) for name in names.split()}


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _unless(off: _Off, names: str) -> dict[str, _Off]:
    """Keys that are refused unless they have one of these values."""
    return dict.fromkeys(names.split(), off)


TRANSFORMERS = Stack(
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
        "sequence_bias": ("logit_bias", (None, [], {})),
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
        **_unless((None, 1), "num_beams num_beam_groups"),
        **_unless((None, 0), "min_length encoder_no_repeat_ngram_size"),
        **_unless((None, 0.0), "diversity_penalty"),
        **_unless((None, 1.0), "encoder_repetition_penalty guidance_scale"),
        **_unless((None, False), "remove_invalid_values token_healing"),
        **_unless((None, {}), "generation_kwargs"),
        **_unless(
            (None,),
            "penalty_alpha dola_layers force_words_ids constraints forced_bos_token_id forced_eos_token_id "
            "exponential_decay_length_penalty begin_suppress_tokens forced_decoder_ids "
            "watermarking_config prompt_lookup_num_tokens assistant_early_exit assistant_ensemble_weight "
            "speculation_type",
        ),
    },
)

_OPENAI_PASSED = _words(
    "model messages prompt stream stream_options max_tokens max_completion_tokens stop n user logprobs top_logprobs "
    "metadata store echo suffix service_tier safety_identifier prompt_cache_key prompt_cache_retention "
    "parallel_tool_calls"
)

OPENAI = Stack(
    "OpenAI",
    translated={
        **_same("temperature seed", None),
        **_same("top_p", None, 1.0),
        **_same("frequency_penalty presence_penalty", None, 0.0),
        **_same("logit_bias", None, {}),
    },
    passed=_OPENAI_PASSED,
    refused={
        **_unless((None, 1), "best_of"),
        **_unless((None, {"type": "text"}), "response_format"),
        **_unless((None, []), "tools functions"),
        **_unless((None, "none", "auto"), "tool_choice function_call"),
        **_unless((None, ["text"]), "modalities"),
        **_unless((None,), "reasoning_effort verbosity prediction audio web_search_options"),
    },
)

VLLM = Stack(
    "vLLM",
    translated={
        **OPENAI.translated,
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
        "add_generation_prompt continue_final_message add_special_tokens request_id session_id priority "
        "truncate_prompt_tokens truncation_side prompt_embeds documents chat_template chat_template_kwargs "
        "media_io_kwargs mm_processor_kwargs return_tokens_as_token_ids return_token_ids return_token_offsets "
        "return_prompt_text return_mm_kwargs cache_salt kv_transfer_params ec_transfer_params include_reasoning "
        "reasoning_effort"  # all of these are read by the template of the chat, the cache, or the writer of the answer
    ),
    refused={
        **{key: off for key, off in OPENAI.refused.items() if key != "reasoning_effort"},
        **_unless((None, False), "ignore_eos use_beam_search watermarking"),
        **_unless((None, []), "bad_words"),  # words, which take a tokenizer
        **_unless((None, 1.0), "length_penalty"),
        **_unless((None, {}), "extra_args vllm_xargs"),
        **_unless((None, -1), "thinking_token_budget"),
        **_unless(
            (None,),
            "structured_outputs repetition_detection trace_decode_token_ids "
            "guided_json guided_regex guided_choice guided_grammar",
        ),
    },
)

SAMPLERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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
"""The samplers of llama.cpp's server: their stages, and the parameters that are theirs alone."""

SAMPLER_LETTERS: Mapping[str, str] = {
    "e": "penalties",
    "d": "dry",
    "s": "top_n_sigma",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "m": "min_p",
    "x": "xtc",
    "t": "temperature",
    "a": "adaptive_p",
}
"""The same in one letter each, where the list is one text."""

_RANDOM = 2**32 - 1  # a seed of -1 in the 32 bits of the server, which shows it so

LLAMA_CPP = Stack(
    "llama.cpp",
    translated={
        **_same("temperature mirostat_tau mirostat_eta adaptive_decay dynatemp_exponent xtc_threshold", None),
        **_same("top_k", None, 0),
        **_same("top_p typical_p", None, 1.0),
        **_same("min_p xtc_probability dynatemp_range mirostat", None, 0),
        **_same("top_n_sigma", None, 0),
        **_same("adaptive_target", None),
        **_same("frequency_penalty presence_penalty dry_multiplier", None, 0.0),
        **_same("dry_base dry_allowed_length", None),
        **_same("logit_bias", None, [], {}),
        **_same("seed", None, -1, _RANDOM),
        **_same("min_keep", None, 0),
        "dry_penalty_last_n": ("dry_window", (None,)),
        "repeat_penalty": ("repetition_penalty", (None, 1.0)),
        "repeat_last_n": ("repetition_window", (None,)),
    },
    passed=_words(
        "model messages prompt n_predict n_indent n_keep n_discard n_cmpl n stream stream_options stop n_probs "
        "logprobs top_logprobs t_max_predict_ms id_slot cache_prompt return_tokens samplers timings_per_token "
        "return_progress sse_ping_interval post_sampling_probs response_fields n_cache_reuse max_tokens "
        "max_completion_tokens dry_sequence_breakers verbose echo user metadata backend_sampling speculative.types "
        "chat_format reasoning_format reasoning_in_content reasoning_effort generation_prompt parse_tool_calls "
        "chat_parser continue_final_message add_generation_prompt chat_template_kwargs parallel_tool_calls "
        "reasoning_budget_message grammar_lazy grammar_triggers grammar_type preserved_tokens"
    ),
    refused={
        **_unless((None, ""), "grammar"),
        **_unless((None, False), "ignore_eos reasoning_control"),
        **_unless((None, []), "lora tools"),
        **_unless((None, "none", "auto"), "tool_choice"),
        **_unless((None, {"type": "text"}), "response_format"),
        **_unless((None, -1), "reasoning_budget_tokens thinking_budget_tokens"),
        **_unless((None,), "json_schema"),
    },
)
