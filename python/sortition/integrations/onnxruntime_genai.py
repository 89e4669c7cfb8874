"""ONNX Runtime's generate API: its generator as a model for `decode`, `stream` and `generate`.

Made for onnxruntime-genai 0.18: `append_tokens`, `get_logits`, `rewind_to`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._checks import integer, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

__all__ = ["GenaiModel"]


class GenaiModel:
    """A generator, which computes and holds the context, while the draw is ours.

    Args:
        generator: an `onnxruntime_genai.Generator` for one sequence. Its search options but `max_length` do nothing.
        tokenizer: what `stream` and `generate` use.
    """

    def __init__(self, generator: Any, tokenizer: Tokenizer | None = None) -> None:
        self._generator = generator
        self.tokenizer = tokenizer

    def forward(self, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """Append `tokens`; the scores after the last, shape `(vocab,)`.

        What goes beyond `max_length` is the library's `RuntimeError`.
        """
        self._generator.append_tokens(np.asarray(tokens, np.int32))
        logits: npt.NDArray[Any] = self._generator.get_logits()
        last: npt.NDArray[Any] = logits.reshape(-1, logits.shape[-1])[-1]
        return last

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens.

        Raises:
            ParameterError: `length` is not in [0, length of the context].
        """
        held = self._generator.token_count()
        if not 0 <= integer("length", length) <= held:
            refuse("length", f"in [0, {held}]", length)
        self._generator.rewind_to(length)
