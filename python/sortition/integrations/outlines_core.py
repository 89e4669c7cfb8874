"""outlines-core: regular expressions, and JSON schemas that are turned into them, as masks.

Read were `Vocabulary`, `Index` and `Guide` of outlines-core 0.2.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._extras import extra

if TYPE_CHECKING:
    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

__all__ = ["Matcher", "vocabulary"]


def vocabulary(tokenizer: Tokenizer, vocab_size: int) -> Any:
    """The `outlines_core.Vocabulary` of a model's tokenizer; special tokens are left out.

    The end of a text is the first of the tokenizer's `eos_ids`.

    Args:
        tokenizer: the model's.
        vocab_size: how many tokens there are.

    Raises:
        MissingExtra: `outlines_core` is not installed.
    """
    with extra("outlines-core", "these masks need the package outlines-core"):
        import outlines_core
    special = {*tokenizer.special_tokens.values(), *tokenizer.eos_ids}
    ids: defaultdict[bytes, list[int]] = defaultdict(list)
    for token in range(vocab_size):
        text = tokenizer.token_bytes(token)
        if text and token not in special:
            ids[text].append(token)
    return outlines_core.Vocabulary(min(tokenizer.eos_ids), dict(ids))


class Matcher:
    """A `Guide` as `MaskedSampler` asks for it.

    Args:
        guide: the `outlines_core.Guide`.
        vocabulary: the `outlines_core.Vocabulary` that it was made with.
        vocab_size: how many tokens there are.
    """

    def __init__(self, guide: Any, vocabulary: Any, vocab_size: int) -> None:
        self._guide = guide
        self._eos: int = vocabulary.get_eos_token_id()
        self._words = np.zeros(-(-vocab_size // 32), np.int32)

    def mask(self) -> npt.NDArray[np.int32]:
        """What may come next; overwritten by the next call."""
        self._guide.write_mask_into(self._words.ctypes.data, self._words.size, self._words.itemsize)
        return self._words

    def accept(self, token: int) -> None:
        """Go on by a token. One that the guide does not allow is its `ValueError`; after the end nothing comes."""
        if token != self._eos:
            self._guide.advance(token, return_tokens=False)
