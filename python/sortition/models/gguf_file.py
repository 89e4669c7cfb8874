"""A GGUF file of a llama model, read once into plain arrays and plain values, by the `gguf` package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._extras import extra
from sortition.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from sortition.models.llama import Floats

__all__ = ["read_llama"]

_LAYER = {  # the field of LlamaLayer: the tensors of the file that make it up
    "attention_norm": ("attn_norm",),
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "attention_output": ("attn_output",),
    "ffn_norm": ("ffn_norm",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "ffn_down": ("ffn_down",),
}


def read_llama(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """The metadata, and the weights in float32 by the names that `LlamaWeights` wants.

    Raises:
        MissingExtra: the `gguf` package is not installed.
        ModelError: the file is not a GGUF file, or holds another kind of model.
    """
    with extra("smollm2", "reading this model needs the package gguf"):
        import gguf
    try:
        reader = gguf.GGUFReader(path)
    except (ValueError, IndexError) as error:
        msg = f"{path.name} is not a whole GGUF file: {error}"
        raise ModelError(msg) from error
    metadata = {name: field.contents() for name, field in reader.fields.items()}
    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        msg = f"{path.name} must hold a llama model, got {architecture!r}"
        raise ModelError(msg)
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weights(*names: str) -> Floats:
        parts = [gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type) for name in names]
        return np.ascontiguousarray(np.concatenate(parts), np.float32)

    try:
        arrays = {"embedding": weights("token_embd.weight"), "output_norm": weights("output_norm.weight")}
        if "output.weight" in tensors:
            arrays["output"] = weights("output.weight")
        for index in range(metadata["llama.block_count"]):
            for name, parts in _LAYER.items():
                arrays[f"layer.{index}.{name}"] = weights(*(f"blk.{index}.{part}.weight" for part in parts))
    except KeyError as error:
        msg = f"{path.name} has no {error}"
        raise ModelError(msg) from None
    return metadata, arrays
