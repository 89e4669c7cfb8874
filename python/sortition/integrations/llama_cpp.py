"""llama-cpp-python: `create_completion` that draws with a sampler, and the scores of the batch API where they lie.

Made for llama-cpp-python 0.3.36. Its chain of samplers calls a processor through C, where an exception is printed and
forgotten, and what was not processed is drawn from. So a second function, which the library calls in Python after each
token and before it shows it, raises what went wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._extras import extra
from sortition.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sortition.sampler import Sampler

    Scores = npt.NDArray[np.float32]

__all__ = ["completion_arguments", "logits"]


def completion_arguments(sampler: Sampler) -> dict[str, Any]:
    """What `Llama.create_completion` must be given, beside the prompt, for the sampler to draw.

    The prompt must be token ids, those that the sampler was given. The library's own parameters (`top_p`, a grammar,
    penalties, `logit_bias`) are the sampler's business; `logit_bias` is refused, as the library drops all processors
    then.

    Raises:
        ParameterError: at the first token, if the sampler does not stand where the text does.
        LogitsError: as `Sampler.sample`.
    """
    drawing = _Drawing(sampler)
    return {"logits_processor": [drawing.process], "stopping_criteria": drawing.check, "temperature": 0.0}


class _Drawing:
    """A sampler between two calls of the library: one for the scores, one for what was made of them."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._error: Exception | None = None

    def process(self, input_ids: npt.NDArray[np.int32], scores: Scores) -> Scores:
        """Leave one candidate."""
        try:
            self._check_place(input_ids)
            token = self._sampler.sample(scores)
        except Exception as error:  # noqa: BLE001 - it is raised again, from Python
            self._error = error
            return scores
        left = np.full(len(scores), -np.inf, np.float32)
        left[token] = 0.0
        return left

    def _check_place(self, input_ids: npt.NDArray[np.int32]) -> None:
        if not np.array_equal(input_ids, np.append(self._sampler.prompt, self._sampler.output)):
            msg = f"sampler must stand behind the {len(input_ids)} tokens so far, got {self._sampler!r:.60}"
            raise ParameterError(msg)

    def check(self, input_ids: npt.NDArray[np.int32], scores: Scores) -> bool:  # noqa: ARG002 - what the library gives
        """Never stop, but for an error. `input_ids` is all but the last token."""
        if self._error is not None:
            raise self._error
        if len(input_ids) + 1 != len(self._sampler.prompt) + self._sampler.position:
            msg = "logit_bias must be a parameter of the sampler: beside it, the library drops all processors"
            raise ParameterError(msg)
        return False


def logits(context: Any, rows: int, vocab_size: int) -> Scores:
    """The scores of the last `llama_decode`, shape `(rows, vocab_size)`, where the engine has them. Nothing is copied.

    Overwritten by the next `llama_decode` of this context, and gone with it.

    Args:
        context: the `llama_context_p`, which a `Llama` has as `ctx`.
        rows: how many tokens of the batch asked for scores, at least 1; the rows are in their order.
        vocab_size: how many scores a row has, `llama_vocab_n_tokens`.

    Raises:
        MissingExtra: `llama_cpp` is not installed.
        ParameterError: the context does not have so many rows.
    """
    with extra("llama-cpp", "this engine needs the package llama-cpp-python"):
        import llama_cpp
    pointer = llama_cpp.llama_get_logits_ith(context, -rows) if rows > 0 else None  # counted from the last
    if not pointer:
        msg = f"rows must be in [1, number of tokens of the last batch that asked for scores], got {rows}"
        raise ParameterError(msg)
    return np.ctypeslib.as_array(pointer, (rows, vocab_size))
