"""The llama forward pass in plain NumPy: small, without a compiler, and made to be read.

Each layer normalises (RMSNorm), attends (rotary positions, several query heads per key and value head, a cache of
keys and values), and passes a gated feed-forward network (SwiGLU); all in float32. A step costs one pass over the
weights, so it is bound by memory: this suits models of some hundred million weights, and teaching.

The rows of the query and key weights are in the order of GGUF files, where the two halves of a rotated pair are
neighbours. A pair is then one complex number, and the rotation one multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sortition._checks import integer, refuse
from sortition.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sortition.models.protocol import Tokenizer

    Floats = np.ndarray[Any, np.dtype[np.float32]]

__all__ = ["LlamaConfig", "LlamaModel", "LlamaWeights"]

_BLOCK = 256  # tokens read at once in a long prompt, and the least by which the cache grows


@dataclass(frozen=True)
class LlamaConfig:
    """The sizes of a model. All heads are `head_width` wide; `heads` is a multiple of `kv_heads`."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    vocab_size: int
    context_length: int
    rope_base: float = 10_000.0
    norm_epsilon: float = 1e-5


class LlamaLayer(NamedTuple):
    """One layer's weights. A matrix has the shape `(out, in)`."""

    attention_norm: Floats
    qkv: Floats  # queries, keys and values, one above the other
    attention_output: Floats
    ffn_norm: Floats
    gate_up: Floats  # gate and up, one above the other
    ffn_down: Floats


@dataclass(frozen=True)
class LlamaWeights:
    """All weights, float32. `output` is the embedding itself where the two are tied."""

    embedding: Floats
    layers: tuple[LlamaLayer, ...]
    output_norm: Floats
    output: Floats

    @classmethod
    def from_arrays(cls, config: LlamaConfig, arrays: Mapping[str, Floats]) -> LlamaWeights:
        """From arrays by the names of `LlamaLayer`'s fields, as in `layer.0.qkv`.

        Raises:
            ModelError: an array is missing.
        """
        try:
            layers = tuple(
                LlamaLayer(*(arrays[f"layer.{index}.{name}"] for name in LlamaLayer._fields))
                for index in range(config.layers)
            )
            embedding = arrays["embedding"]
            return cls(embedding, layers, arrays["output_norm"], arrays.get("output", embedding))
        except KeyError as error:
            msg = f"the model has no weights named {error}"
            raise ModelError(msg) from None


class LlamaModel:
    """A llama model with the context of one sequence.

    Not for two threads at once: `fork` gives each its own, and the weights are shared.

    Args:
        config: the sizes.
        weights: the weights; never written to.
        tokenizer: what `stream` and `generate` use.
    """

    def __init__(self, config: LlamaConfig, weights: LlamaWeights, tokenizer: Tokenizer | None = None) -> None:
        self.config = config
        self._weights = weights
        self._tokenizer = tokenizer
        self._length = 0
        # Keys and values: (layers, 2, kv_heads, room, head_width), of which the first `_length` of `room` are in use.
        self._cache: Floats = np.empty((config.layers, 2, config.kv_heads, 0, config.head_width), np.float32)
        powers = np.arange(0, config.head_width, 2) / config.head_width
        self._frequencies = config.rope_base**-powers

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer it was given."""
        if self._tokenizer is None:
            msg = "this LlamaModel has no tokenizer: give it one to work with text"
            raise ModelError(msg)
        return self._tokenizer

    @property
    def length(self) -> int:
        """How many tokens the context holds."""
        return self._length

    @property
    def vocab_size(self) -> int:
        """How many ids are tokens."""
        return self.config.vocab_size

    @property
    def context_length(self) -> int:
        """How many tokens the context may hold."""
        return self.config.context_length

    def forward(self, tokens: Sequence[int], *, all: bool = False) -> Floats:  # noqa: A002 - the protocol's word
        """Append `tokens`; the scores after the last, shape `(vocab,)`, or with `all` after each, `(tokens, vocab)`.

        Raises:
            ParameterError: no tokens, or one outside the vocabulary; the context stays as it was.
            ModelError: the context would grow beyond `context_length`; it stays as it was.
        """
        ids = self._checked(tokens)
        self._make_room(self._length + len(ids))
        start = self._length
        try:
            rows = [self._block(ids[at : at + _BLOCK], all=all) for at in range(0, len(ids), _BLOCK)]
        except BaseException:
            self._length = start  # an interrupt between two blocks leaves no half-read prompt
            raise
        return np.concatenate(rows) if all else rows[-1][0]

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens.

        Raises:
            ParameterError: `length` is not in [0, length of the context].
        """
        if not 0 <= integer("length", length) <= self._length:
            refuse("length", f"in [0, {self._length}]", length)
        self._length = length

    def fork(self) -> LlamaModel:
        """A model with the same context and the same weights; what either reads from now on is its own."""
        twin = LlamaModel(self.config, self._weights, self._tokenizer)
        twin._cache = self._cache[:, :, :, : self._length].copy()
        twin._length = self._length
        return twin

    def _checked(self, tokens: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        ids = np.asarray(tokens)
        if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
            msg = f"tokens must be a sequence of at least one token id, got {tokens!r}"
            raise ParameterError(msg)
        bad = ids[(ids < 0) | (ids >= self.config.vocab_size)]
        if len(bad):
            msg = f"tokens must be in [0, {self.config.vocab_size}), got {bad[0]}"
            raise ParameterError(msg)
        if self._length + len(ids) > self.config.context_length:
            msg = (
                f"the context holds at most {self.config.context_length} tokens: "
                f"it has {self._length}, and {len(ids)} more were given"
            )
            raise ModelError(msg)
        return ids.astype(np.int64)

    def _make_room(self, length: int) -> None:
        """Grow the cache in blocks, and by half at least, so that a long text copies it a few times only."""
        room = self._cache.shape[3]
        if length <= room:
            return
        room = min(max(length, room + room // 2) + _BLOCK - 1, self.config.context_length + _BLOCK) // _BLOCK * _BLOCK
        shape = (*self._cache.shape[:3], max(room, length), self._cache.shape[4])
        cache: Floats = np.empty(shape, np.float32)
        cache[:, :, :, : self._length] = self._cache[:, :, :, : self._length]
        self._cache = cache

    def _block(self, ids: np.ndarray[Any, np.dtype[np.int64]], *, all: bool) -> Floats:  # noqa: A002
        """Read some tokens; the scores after each of them, or only after the last."""
        config, weights = self.config, self._weights
        positions = np.arange(self._length, self._length + len(ids))
        turns = np.exp(1j * np.outer(positions, self._frequencies)).astype(np.complex64)[:, None]
        x = weights.embedding[ids]
        for depth, layer in enumerate(weights.layers):
            hidden = _rms_norm(x, layer.attention_norm, config.norm_epsilon)
            x = x + _linear(self._attend(_linear(hidden, layer.qkv), turns, self._cache[depth]), layer.attention_output)
            hidden = _rms_norm(x, layer.ffn_norm, config.norm_epsilon)
            gate, up = np.split(_linear(hidden, layer.gate_up), 2, axis=-1)
            x = x + _linear(_silu(gate) * up, layer.ffn_down)
        self._length += len(ids)
        return _linear(_rms_norm(x if all else x[-1:], weights.output_norm, config.norm_epsilon), weights.output)

    def _attend(self, qkv: Floats, turns: np.ndarray[Any, Any], cache: Floats) -> Floats:
        """Attention of the new tokens over all tokens; the new keys and values go into the cache first."""
        config, start, count = self.config, self._length, len(qkv)
        heads = qkv.reshape(count, config.heads + 2 * config.kv_heads, config.head_width)
        turned = (np.ascontiguousarray(heads[:, : -config.kv_heads]).view(np.complex64) * turns).view(np.float32)
        cache[0, :, start : start + count] = turned[:, config.heads :].swapaxes(0, 1)
        cache[1, :, start : start + count] = heads[:, -config.kv_heads :].swapaxes(0, 1)
        keys, values = cache[:, :, : start + count]
        # The query heads of one key head stand beside each other: (kv_heads, group · tokens, head_width).
        queries = turned[:, : config.heads].swapaxes(0, 1).reshape(config.kv_heads, -1, config.head_width)
        scores = queries @ keys.swapaxes(1, 2) * np.float32(config.head_width**-0.5)
        if count > 1:
            later = np.arange(start + count) > np.arange(start, start + count)[:, None]
            scores.reshape(config.heads, count, -1)[:, later] = -np.inf
        attended = _softmax(scores) @ values
        joined: Floats = attended.reshape(config.heads, count, -1).swapaxes(0, 1).reshape(count, -1)
        return joined


def _linear(x: Floats, weights: Floats) -> Floats:
    """`x @ weights.T`; one row is a product of a matrix and a vector, which reads the weights once, in order."""
    product: Floats = (weights @ x[0])[None] if len(x) == 1 else x @ weights.T
    return product


def _rms_norm(x: Floats, weights: Floats, epsilon: float) -> Floats:
    mean = np.mean(x * x, axis=-1, keepdims=True)
    normed: Floats = x / np.sqrt(mean + np.float32(epsilon)) * weights
    return normed


def _silu(x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # exp(-x) is infinite far below zero, where the result is zero
        result: Floats = x / (1 + np.exp(-x))
    return result


def _softmax(x: Floats) -> Floats:
    exps = np.exp(x - x.max(axis=-1, keepdims=True))
    result: Floats = exps / exps.sum(axis=-1, keepdims=True)
    return result
