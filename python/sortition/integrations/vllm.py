"""vLLM: a logits processor of its v1 interface that leaves each request the token our sampler drew.

`LLM(..., logits_processors=[LogitsProcessor])`, or `--logits-processors sortition.integrations.vllm:LogitsProcessor`.
A request asks for it with the parameters of its sampler: `SamplingParams(extra_args={"sortition": {"top_p": 0.9}})`, or
as JSON text, which is what the server takes (`vllm_xargs`). Requests that do not are left alone.

Written by what the project publishes (`vllm/v1/sample/logits_processor/interface.py` and its page on custom logits
processors, of releases 0.10 to 0.31; later ones keep it behind `VLLM_USE_V2_MODEL_RUNNER=0`), and tested with a
stand-in of it, not with vLLM itself. Scores on a device come to the host for the draw.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from sortition.batch import sample_batch
from sortition.errors import MissingExtra, ParameterError
from sortition.params import SamplingParams
from sortition.sampler import Sampler

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Requests"]


class Requests:
    """What the processor does: the samplers of the requests by their rows in the engine's batch."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:  # noqa: ARG002, FBT001 - theirs
        self._rows: dict[int, tuple[Sampler, Sequence[int]]] = {}  # the sampler, and the engine's own list of outputs

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request with invalid parameters.

        Raises:
            ParameterError: a parameter is invalid. It is a `ValueError`, which the engine expects.
        """
        _params(sampling_params)

    def is_argmax_invariant(self) -> bool:
        """No: greedy requests are drawn here too."""
        return False

    def needs_output_token_ids(self) -> bool:
        """Yes: they are what stands, where a draw was thrown away or a request begins again."""
        return True

    def update_state(self, batch_update: Any) -> None:
        """Follow the requests that left, came and moved, in this order, which is the engine's."""
        if batch_update is None:
            return
        for row in batch_update.removed:
            self._rows.pop(row, None)
        for row, sampling_params, prompt, output in batch_update.added:
            self._rows.pop(row, None)
            params = _params(sampling_params)
            if params is not None:
                self._rows[row] = Sampler(params, prompt=prompt or ()), output
        for source, target, direction in batch_update.moved:
            moved, other = self._rows.pop(source, None), self._rows.pop(target, None)
            if moved is not None:
                self._rows[target] = moved
            if other is not None and direction.name == "SWAP":
                self._rows[source] = other

    def apply(self, logits: Any) -> Any:
        """Leave one candidate in the rows of requests that asked for it; shape `(requests, vocab)`, in place.

        Raises:
            LogitsError: as `Sampler.sample`. The engine has no way to end a single request here.
        """
        if not self._rows:
            return logits
        rows = sorted(self._rows)
        samplers = [_at(*self._rows[row]) for row in rows]
        if logits.device.type == "cpu":  # read where they are, in their own precision
            tokens = sample_batch(logits.detach(), samplers, rows=rows).tokens.tolist()
        else:
            tokens = sample_batch(logits.detach()[rows].cpu(), samplers).tokens.tolist()
        logits[rows] = float("-inf")
        logits[rows, tokens] = 0.0
        return logits


def _at(sampler: Sampler, output: Sequence[int]) -> Sampler:
    """The sampler where the request is: a draw for a prompt that was not read whole is taken back."""
    sampler.rollback(max(0, sampler.position - len(output)))
    for token in output[sampler.position :]:
        sampler.accept(token)
    return sampler


def _params(sampling_params: Any) -> SamplingParams | None:
    asked = (getattr(sampling_params, "extra_args", None) or {}).get("sortition")
    if asked is None:
        return None
    try:
        return SamplingParams(**(json.loads(asked) if isinstance(asked, str) else asked))
    except (TypeError, json.JSONDecodeError) as error:
        msg = f"extra_args['sortition'] must be parameters by name, or their JSON text, got {asked!r}: {error}"
        raise ParameterError(msg) from None


@cache
def _logits_processor() -> type:
    """The class itself, which must be derived from the engine's."""
    try:
        from vllm.v1.sample.logits_processor import LogitsProcessor
    except ImportError as error:
        msg = "this processor is for vLLM, which is not installed: pip install vllm"
        raise MissingExtra(msg) from error
    names = {"__module__": __name__, "__doc__": Requests.__doc__}
    return type("LogitsProcessor", (Requests, LogitsProcessor), names)


def __getattr__(name: str) -> Any:
    if name == "LogitsProcessor":
        return _logits_processor()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
