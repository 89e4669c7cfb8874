"""ONNX Runtime: a decoder with past and present inputs as a model for `decode`, `stream` and `generate`.

The names are those of the usual exports: `input_ids`, perhaps `attention_mask` and `position_ids`, `past_key_values.…`;
`logits`, `present.…`. Keys and values have the shape `(batch, heads, tokens, width)` and grow with the context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._checks import integer, refuse
from sortition.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

__all__ = ["OnnxModel"]

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class OnnxModel:
    """A decoder and the context of one sequence.

    Args:
        session: an `onnxruntime.InferenceSession`.
        tokenizer: what `stream` and `generate` use.

    Raises:
        ModelError: the session has inputs or outputs of other names, or keys and values of another type.
    """

    def __init__(self, session: Any, tokenizer: Tokenizer | None = None) -> None:
        self._session = session
        self.tokenizer = tokenizer
        inputs = {item.name: item for item in session.get_inputs()}
        past = [name for name in inputs if name.startswith("past_key_values.")]
        self._names = inputs.keys() - past
        self._outputs = ["logits", *(name.replace("past_key_values.", "present.") for name in past)]
        missing = {*self._outputs} - {item.name for item in session.get_outputs()}
        unknown = self._names - {"input_ids", "attention_mask", "position_ids"}
        if missing or unknown or not past or "input_ids" not in inputs:
            msg = f"the session must have past and present keys and values and no input beside, got {sorted(inputs)}"
            raise ModelError(msg)
        self._past = {name: _nothing(inputs[name]) for name in past}
        self._length = 0

    def forward(self, tokens: Sequence[int], *, all: bool = False) -> npt.NDArray[Any]:  # noqa: A002 - the protocol's word
        """Append `tokens`; the scores after the last, shape `(vocab,)`, or with `all` after each, `(tokens, vocab)`."""
        ids = np.asarray([tokens], np.int64)
        length = self._length + ids.shape[1]
        known = {
            "input_ids": ids,
            "attention_mask": np.ones((1, length), np.int64),
            "position_ids": np.arange(self._length, length, dtype=np.int64)[None],
        }
        given = {name: known[name] for name in self._names} | self._past
        logits, *present = self._session.run(self._outputs, given)
        self._past, self._length = dict(zip(self._past, present, strict=True)), length
        rows: npt.NDArray[Any] = logits[0]
        return rows if all else rows[-1]

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens.

        Raises:
            ParameterError: `length` is not in [0, length of the context].
        """
        if not 0 <= integer("length", length) <= self._length:
            refuse("length", f"in [0, {self._length}]", length)
        self._past = {name: values[:, :, :length] for name, values in self._past.items()}
        self._length = length

    def fork(self) -> OnnxModel:
        """A model with the same context; a run makes new keys and values, so both may share those that there are."""
        twin = OnnxModel(self._session, self.tokenizer)
        twin._past, twin._length = self._past, self._length
        return twin


def _nothing(item: Any) -> npt.NDArray[Any]:
    """Keys or values of no tokens."""
    if item.type not in _TYPES:
        msg = f"{item.name} must be one of {', '.join(_TYPES)}, got {item.type}"
        raise ModelError(msg)
    _, heads, _, width = item.shape
    return np.zeros((1, heads, 0, width), _TYPES[item.type])
