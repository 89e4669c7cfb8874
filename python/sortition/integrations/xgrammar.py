"""XGrammar: JSON schemas and context-free grammars, as masks.

Read were `TokenizerInfo`, `GrammarMatcher` and `allocate_token_bitmask` of xgrammar 0.2. It needs torch; its masks are
tensors, which NumPy reads in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sortition._extras import extra
from sortition.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

__all__ = ["Matcher", "tokenizer_info"]


def _xgrammar() -> Any:
    with extra("xgrammar", "these masks need the package xgrammar"):
        import xgrammar
    return xgrammar


def tokenizer_info(tokenizer: Tokenizer, vocab_size: int) -> Any:
    """The `xgrammar.TokenizerInfo` of a model's tokenizer; special tokens are no text, and all `eos_ids` end one.

    Args:
        tokenizer: the model's.
        vocab_size: how many tokens there are; the width of the masks.

    Raises:
        MissingExtra: `xgrammar` is not installed.
    """
    special = set(tokenizer.special_tokens.values())  # an empty text is how the library knows them
    texts = [b"" if token in special else tokenizer.token_bytes(token) for token in range(vocab_size)]
    return _xgrammar().TokenizerInfo(texts, vocab_size=vocab_size, stop_token_ids=sorted(tokenizer.eos_ids))


class Matcher:
    """A `GrammarMatcher` as `MaskedSampler` asks for it.

    Args:
        matcher: the `xgrammar.GrammarMatcher`.
        vocab_size: how many tokens there are.
    """

    def __init__(self, matcher: Any, vocab_size: int) -> None:
        self._matcher = matcher
        self._words = _xgrammar().allocate_token_bitmask(1, vocab_size)

    def mask(self) -> npt.NDArray[np.int32]:
        """What may come next; overwritten by the next call."""
        self._matcher.fill_next_token_bitmask(self._words)
        words: npt.NDArray[np.int32] = self._words[0].numpy()
        return words

    def accept(self, token: int) -> None:
        """Go on by a token.

        Raises:
            ParameterError: the grammar does not allow it.
        """
        if not self._matcher.accept_token(token):
            msg = f"token must be one that the grammar allows, got {token}"
            raise ParameterError(msg)
