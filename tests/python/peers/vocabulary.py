"""The breakers of DRY: texts in llama.cpp, sequences of ids here. Both for the vocabulary of SmolLM2.

llama.cpp makes sequences of a text where nobody sees them, so they are made once more here, as its source says: a token
that holds the whole text is a breaker by itself; a token that ends as the text begins is one with the tokens of the
rest behind it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import llama_cpp.llama_cpp as api
from llama_cpp._internals import LlamaModel

from sortition.models import smollm2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

__all__ = ["Breakers", "arguments", "breakers", "nested", "random_breakers"]

ROOM = 256  # bytes; no token has more
NEAR = 6  # tokens; a breaker further back than a repeat is long makes no difference
SPECIAL = True  # tokens are shown as well


class Breakers(tuple[tuple[int, ...], ...]):  # noqa: SLOT001 - the slots of a tuple are its items
    """Sequences of ids, and the texts that they were made of."""

    texts: Sequence[bytes]


@cache
def vocabulary() -> LlamaModel:
    """As llama.cpp reads it from the file of the model, without its weights."""
    params = api.llama_model_default_params()
    params.vocab_only = True
    return LlamaModel(path_model=str(smollm2.find()), params=params, verbose=False)


@cache
def pieces() -> list[bytes]:
    """The text of each token."""
    model, room = vocabulary(), ctypes.create_string_buffer(ROOM)
    sizes = (api.llama_token_to_piece(model.vocab, token, room, ROOM, 0, SPECIAL) for token in range(model.n_vocab()))
    return [room.raw[:size] for size in sizes]


@cache
def sequences(text: bytes, size: int) -> list[tuple[int, ...]]:
    """What breaks a match where this text stands, of sequences that begin with one of the first `size` ids."""
    found = []
    for token, piece in enumerate(pieces()[:size]):
        if text in piece:
            found.append((token,))
            continue
        shared = (size for size in range(1, min(len(text), len(piece) + 1)) if piece.endswith(text[:size]))
        found += [(token, *tokens(text[size:])) for size in shared]
    return found


def tokens(text: bytes) -> list[int]:
    """Of a text, as llama.cpp cuts it."""
    ids: list[int] = vocabulary().tokenize(text, add_bos=False, special=False)
    return ids


def breakers(*texts: bytes, size: int) -> Breakers:
    """The sequences of these texts in the first `size` ids: others cannot stand in a context of these."""
    found = dict.fromkeys(sequence for text in texts for sequence in sequences(text, size))
    made = Breakers(sequence for sequence in found if max(sequence) < size)
    made.texts = texts
    return made


def random_breakers(rng: Generator, context: Sequence[int], size: int) -> Breakers:
    """Parts of the context's own text near its end, over one token or two."""
    return breakers(*parts(rng, context), size=size)


def parts(rng: Generator, context: Sequence[int]) -> Iterator[bytes]:
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(max(0, len(context) - NEAR), len(context)))
        first, second = pieces()[context[at]], b"".join(pieces()[token] for token in context[at + 1 : at + 2])
        begin = int(rng.integers(len(first)))
        yield (first + second)[begin : int(rng.integers(len(first), len(first + second) + 1))]


def nested(sequences: Sequence[Sequence[int]]) -> bool:
    """Whether one of them stands inside another, neither at its beginning nor at its end."""
    known = {tuple(sequence) for sequence in sequences}
    return any(
        tuple(sequence[begin:end]) in known
        for sequence in known
        for begin in range(1, len(sequence) - 1)
        for end in range(begin + 1, len(sequence))
    )


def arguments(given: Breakers | None, *settings: Any) -> tuple[Any, ...]:
    """What `llama_sampler_init_dry` takes."""
    if given is None:
        return (None, *settings, None, 0)
    texts = (ctypes.c_char_p * len(given.texts))(*given.texts)
    return (vocabulary().vocab, *settings, texts, len(texts))
