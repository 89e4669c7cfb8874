"""A decoder of random weights as an ONNX file: one layer of causal attention, with past and present keys and values.

Names and shapes are those of the usual exports: `input_ids`, `attention_mask` and `position_ids`; keys and values
`past_key_values.0.key`, …, `present.0.key`, … of the shape `(batch, heads, tokens, width)`; `logits` of the shape
`(batch, tokens, vocab)`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONTEXT", "EOS", "HEADS", "VOCAB", "WIDTH", "write"]

VOCAB, CONTEXT, HEADS, WIDTH = 300, 64, 2, 8
EOS = 1

GRAPH = f"""
<ir_version: 8, opset_import: ["" : 17]>
decoder (int64[batch, tokens] input_ids, int64[batch, total] attention_mask, int64[batch, tokens] position_ids,
         float[batch, {HEADS}, past, {WIDTH}] "past_key_values.0.key",
         float[batch, {HEADS}, past, {WIDTH}] "past_key_values.0.value")
     => (float[batch, tokens, {VOCAB}] logits,
         float[batch, {HEADS}, total, {WIDTH}] "present.0.key", float[batch, {HEADS}, total, {WIDTH}] "present.0.value")
<int64[4] by_head = {{0, 0, {HEADS}, {WIDTH}}}, int64[3] joined = {{0, 0, {HEADS * WIDTH}}},
  int64[1] second = {{1}}, int64[1] third = {{2}}, int64 zero = {{0}}, int64 one = {{1}},
 float never = {{-1e9}}, float nothing = {{0}}, float scale = {{{WIDTH**-0.5}}}>
{{
    token = Gather(embedding, input_ids)
    place = Gather(positions, position_ids)
    x = Add(token, place)
    q = MatMul(x, to_q)
    q_heads = Reshape(q, by_head)
    query = Transpose <perm = [0, 2, 1, 3]> (q_heads)
    k = MatMul(x, to_k)
    k_heads = Reshape(k, by_head)
    new_key = Transpose <perm = [0, 2, 1, 3]> (k_heads)
    "present.0.key" = Concat <axis = 2> ("past_key_values.0.key", new_key)
    v = MatMul(x, to_v)
    v_heads = Reshape(v, by_head)
    new_value = Transpose <perm = [0, 2, 1, 3]> (v_heads)
    "present.0.value" = Concat <axis = 2> ("past_key_values.0.value", new_value)
    key_columns = Transpose <perm = [0, 1, 3, 2]> ("present.0.key")
    products = MatMul(query, key_columns)
    scaled = Mul(products, scale)
    shape = Shape(attention_mask)
    total = Gather(shape, one)
    columns = Range(zero, total, one)
    at = Unsqueeze(position_ids, third)
    seen = GreaterOrEqual(at, columns)
    before = Where(seen, nothing, never)
    hidden = Unsqueeze(before, second)
    masked = Add(scaled, hidden)
    weights = Softmax <axis = -1> (masked)
    attended = MatMul(weights, "present.0.value")
    together = Transpose <perm = [0, 2, 1, 3]> (attended)
    heads_joined = Reshape(together, joined)
    y = Add(x, heads_joined)
    logits = MatMul(y, to_logits)
}}
"""


def write(folder: Path) -> Path:
    """Write `model.onnx`, and beside it what onnxruntime-genai asks for; the path of the model."""
    import onnx

    model = onnx.parser.parse_model(GRAPH)
    rng = np.random.default_rng(7)
    size = HEADS * WIDTH
    shapes = {
        "embedding": (VOCAB, size),
        "positions": (CONTEXT, size),
        "to_q": (size, size),
        "to_k": (size, size),
        "to_v": (size, size),
        "to_logits": (size, VOCAB),
    }
    for name, shape in shapes.items():
        weights = rng.standard_normal(shape, np.float32) * (1.0 if name in ("embedding", "positions") else 0.4)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
    (folder / "genai_config.json").write_text(json.dumps(genai_config()), encoding="utf-8")
    return folder / "model.onnx"


def genai_config() -> dict[str, object]:
    """What onnxruntime-genai wants to know of the model."""
    inputs = {
        "input_ids": "input_ids",
        "attention_mask": "attention_mask",
        "position_ids": "position_ids",
        "past_key_names": "past_key_values.%d.key",
        "past_value_names": "past_key_values.%d.value",
    }
    outputs = {
        "logits": "logits",
        "present_key_names": "present.%d.key",
        "present_value_names": "present.%d.value",
    }
    decoder = {
        "session_options": {"intra_op_num_threads": 1, "provider_options": []},
        "filename": "model.onnx",
        "head_size": WIDTH,
        "hidden_size": HEADS * WIDTH,
        "num_attention_heads": HEADS,
        "num_hidden_layers": 1,
        "num_key_value_heads": HEADS,
        "inputs": inputs,
        "outputs": outputs,
    }
    model = {
        "type": "llama",
        "vocab_size": VOCAB,
        "context_length": CONTEXT,
        "bos_token_id": 0,
        "eos_token_id": EOS,
        "pad_token_id": 0,
        "decoder": decoder,
    }
    return {"model": model, "search": {"max_length": CONTEXT, "past_present_share_buffer": False}}
