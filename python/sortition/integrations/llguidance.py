"""llguidance: JSON schemas, regular expressions and context-free grammars, as masks.

Read were `LLTokenizer`, `LLMatcher` and `TokenizerWrapper` of llguidance 1.9. Its masks have one bit for every token,
and may have one word more than those need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._extras import extra
from sortition.errors import ModelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

__all__ = ["Matcher", "tokenizer"]


def tokenizer(tokenizer: Tokenizer, vocab_size: int) -> Any:
    """The `llguidance.LLTokenizer` of a model's tokenizer. It takes a second: make one for a model, and keep it.

    The end of a text is the first of the tokenizer's `eos_ids`.

    Args:
        tokenizer: the model's.
        vocab_size: how many tokens there are; the width of the masks.

    Raises:
        MissingExtra: `llguidance` is not installed.
    """
    with extra("llguidance", "these masks need the package llguidance"):
        import llguidance
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Vocabulary(tokenizer, vocab_size)))


class _Vocabulary:
    """A tokenizer as `TokenizerWrapper` asks for it."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self.eos_token_id = min(tokenizer.eos_ids)
        self.tokens = [tokenizer.token_bytes(token) for token in range(vocab_size)]
        self.special_token_ids = sorted(tokenizer.special_tokens.values())
        self._encode = tokenizer.encode

    def __call__(self, text: str) -> list[int]:
        return list(self._encode(text))


class Matcher:
    """An `LLMatcher` as `MaskedSampler` asks for it.

    Args:
        matcher: the `llguidance.LLMatcher`.
        vocab_size: how many tokens there are.

    Raises:
        ModelError: the matcher is in an error: the grammar was no grammar, or a token was taken that it forbids.
    """

    def __init__(self, matcher: Any, vocab_size: int) -> None:
        self._matcher = matcher
        self._words = np.zeros(-(-vocab_size // 32), np.int32)
        self._check()

    def mask(self) -> npt.NDArray[np.int32]:
        """What may come next; overwritten by the next call."""
        self._matcher.unsafe_compute_mask_ptr(self._words.ctypes.data, self._words.nbytes)
        self._check()
        return self._words

    def accept(self, token: int) -> None:
        """Go on by a token."""
        self._matcher.consume_token(token)
        self._check()

    def _check(self) -> None:
        """Its methods do not raise: they go into an error and stay there."""
        if self._matcher.is_error():
            msg = f"llguidance: {self._matcher.get_error()}"
            raise ModelError(msg)
