"""llama-cpp-python: `create_completion` that draws with a sampler, and the scores of the batch API where they lie.

Made for llama-cpp-python 0.3.36. Its chain of samplers calls a processor through C, where an exception is printed and
forgotten, and what was not processed is drawn from. So a second function, which the library calls in Python after each
token and before it shows it, raises what went wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.errors import MissingExtra, ParameterError

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
        self._drawn = False
        self._error: Exception | None = None

    def process(self, input_ids: npt.NDArray[np.int32], scores: Scores) -> Scores:
        """Leave one candidate."""
        try:
            context = self._sampler.position + len(self._sampler.prompt)
            if len(input_ids) != context or (self._sampler.position == 0 and (input_ids != self._sampler.prompt).any()):
                msg = f"the sampler's prompt and output must be the {len(input_ids)} tokens so far, got {context}"
                raise ParameterError(msg)
            token = self._sampler.sample(scores)
        except Exception as error:  # noqa: BLE001 - it is raised again, from Python
            self._error = error
            return scores
        self._drawn = True
        left = np.full(len(scores), -np.inf, np.float32)
        left[token] = 0.0
        return left

    def check(self, input_ids: npt.NDArray[np.int32], scores: Scores) -> bool:  # noqa: ARG002 - what the library gives
        """Never stop, but for an error."""
        if self._error is not None:
            raise self._error
        if not self._drawn:
            msg = "logit_bias must be a parameter of the sampler: beside it, the library drops all processors"
            raise ParameterError(msg)
        self._drawn = False
        return False


def logits(context: Any, rows: int, vocab_size: int) -> Scores:
    """The scores of the last `llama_decode`, shape `(rows, vocab_size)`, where the engine has them. Nothing is copied.

    Overwritten by the next `llama_decode` of this context, and gone with it.

    Args:
        context: the `llama_context_p`, which a `Llama` has as `ctx`.
        rows: how many tokens of the batch asked for scores; the rows are in their order.
        vocab_size: how many scores a row has, `llama_vocab_n_tokens`.

    Raises:
        MissingExtra: `llama_cpp` is not installed.
        ParameterError: the context has no scores.
    """
    try:
        import llama_cpp
    except ImportError as error:
        msg = 'this engine needs the package llama-cpp-python: pip install "sortition[llama-cpp]"'
        raise MissingExtra(msg) from error
    pointer = llama_cpp.llama_get_logits(context)
    if not pointer:
        msg = "context must have scores of a decoded batch, got none"
        raise ParameterError(msg)
    return np.ctypeslib.as_array(pointer, (rows, vocab_size))
