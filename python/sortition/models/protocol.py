"""What the loop asks of a model, and what text asks of a tokenizer.

Anything with `forward(tokens) -> logits` is a model; no base class, nothing to register. A model holds the context
of ONE sequence, and every call appends to it: a prompt is one call with many tokens (prefill), a step is one call
with one token. The optional methods are protocols of their own: a model that cannot do something leaves the method out,
and code that needs it asks with `isinstance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from typing_extensions import Self

__all__ = ["Forkable", "Model", "TextModel", "Tokenizer", "Truncatable"]


@runtime_checkable
class Model(Protocol):
    """A model: one method.

    Optional beside it: `truncate(length)`, `fork()`, a keyword `all=True` of `forward` that returns one row for each
    of the tokens (shape `(len(tokens), vocab)`), and the attributes `tokenizer`, `vocab_size` (the number of ids that
    are real tokens, where the scores are padded beyond them) and `context_length` (how many tokens fit).

    >>> class Parrot:
    ...     def forward(self, tokens):
    ...         return [float(token == tokens[-1]) for token in range(4)]
    >>> isinstance(Parrot(), Model)
    True
    """

    def forward(self, tokens: Sequence[int], /) -> np.ndarray[Any, Any]:
        """Append `tokens` to the context; return the scores of what comes next, shape `(vocab,)`.

        The array belongs to the caller until the next call.
        """
        ...


@runtime_checkable
class Truncatable(Protocol):
    """A model that can go back."""

    def truncate(self, length: int, /) -> None:
        """Forget all but the first `length` tokens of the context; 0 starts anew."""
        ...


@runtime_checkable
class Forkable(Protocol):
    """A model that can be copied with its context."""

    def fork(self) -> Self:
        """An independent model with the same context. Weights may be shared; tokens read later are not."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Text to token ids, and token ids to bytes.

    A token is bytes, because it may be a part of a character. `sortition.text` decodes them.
    """

    @property
    def eos_ids(self) -> Collection[int]:
        """The tokens that end a text; a model may have several."""
        ...

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Names of the tokens that stand for no text, such as `<|im_end|>`, and their ids."""
        ...

    def encode(self, text: str, /) -> Sequence[int]:
        """The ids of `text`, with the beginning-of-text token where the model wants one."""
        ...

    def token_bytes(self, token: int, /) -> bytes:
        """What the token adds to the text."""
        ...


class TextModel(Model, Protocol):
    """A model that brings its tokenizer, as `stream` and `generate` need it."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the model was trained with."""
        ...
