"""The autoregressive loop: scores, token, append, until something ends it.

The loop knows two things, a model (`forward`) and a sampler (`sample`), and nothing of how either works. Text is a
layer above (`sortition.stream`), and whole completions one more (`sortition.generate`).
"""

from __future__ import annotations

import operator
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from sortition._checks import integer, number, ordered, refuse, shown
from sortition.errors import ModelError, ParameterError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Sequence

    from sortition.models.protocol import Model

__all__ = ["FinishReason", "Step", "decode"]

FinishReason = Literal["stop", "length", "cancelled"]


class TokenSampler(Protocol):
    """What the loop asks of a sampler: draw a token, and remember it."""

    def sample(self, logits: Any, /) -> int:
        """The next token, by the scores of shape `(vocab,)`."""
        ...


@dataclass(frozen=True)
class Step:
    """One turn of the loop.

    Attributes:
        token: the token drawn; `None` only in the closing step of a cancelled run, which draws none.
        finish_reason: `None` while it goes on. Exactly one step has it, the last: `"stop"` (a stop token),
            `"length"` (`max_tokens`), `"cancelled"` (the event, or the deadline).
        matched: the id of the stop token; `"deadline"` when that is what cancelled; else `None`.
        model_seconds: time spent in the model.
        sampler_seconds: time spent in the sampler.
    """

    token: int | None
    finish_reason: FinishReason | None = None
    matched: int | str | None = None
    model_seconds: float = 0.0
    sampler_seconds: float = 0.0


def decode(
    model: Model,
    prompt_ids: Iterable[int],
    sampler: TokenSampler,
    *,
    stop_tokens: Iterable[int] = (),
    max_tokens: int = 128,
    deadline: float | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[Step]:
    """Yield tokens one by one until a stop token, the length limit, the deadline or a cancel.

    The prompt is one call of the model, and each token after it is one more call. The model's context is not cleared:
    what is already in it comes before the prompt. The stop token itself is yielded, in the last step.

    A run that reaches its deadline ends as `"cancelled"`, not as `"length"`, because in the common APIs `"length"`
    means that the text is as long as was asked for. Deadline and `cancel` are checked before every call of the model,
    so they take effect within one step.

    Args:
        model: anything with `forward(tokens) -> logits`.
        prompt_ids: the token ids of the prompt, at least one, none negative.
        sampler: anything with `sample(logits) -> int`, such as a `Sampler` that was given the same prompt.
        stop_tokens: the ids that end the run.
        max_tokens: at least 1.
        deadline: seconds from this call, 0 or more; `None` for no limit.
        cancel: set it, from any thread, to end the run.

    Raises:
        ParameterError: an argument is outside its range (raised before anything is computed), or the sampler returned
            something that is not a token id.
        ModelError: `model` has no `forward`, or returned something that is not a row of scores.
        Exception: whatever the model or the sampler raises, at the step where it happens. Python turns a
            `StopIteration` into a `RuntimeError`, as it does in every generator.

    >>> from sortition.models.scripted import ScriptedModel
    >>> class Greedy:
    ...     def sample(self, logits):
    ...         return int(logits.argmax())
    >>> model = ScriptedModel.from_probabilities([[.1, .9, 0], [0, .2, .8], [1, 0, 0]])
    >>> [step.token for step in decode(model, [0], Greedy(), stop_tokens=[2])]
    [1, 2]
    """
    check_model(model)
    if not callable(getattr(sampler, "sample", None)):
        msg = f"sampler must have a method sample(logits) -> int, got {type(sampler).__name__}"
        raise ParameterError(msg)
    prompt = check_ids("prompt_ids", ordered("prompt_ids", "a sequence of token ids", prompt_ids))
    if not prompt:
        msg = "prompt_ids must hold at least one token, got none: the first scores come from the last token"
        raise ParameterError(msg)
    stops = frozenset(check_ids("stop_tokens", stop_tokens))
    max_tokens = check_max_tokens(max_tokens)
    check_cancel(cancel)
    ends_at = None if deadline is None else time.monotonic() + check_deadline(deadline)
    return _steps(model, prompt, sampler, stops, max_tokens, ends_at, cancel)


def _steps(
    model: Model,
    prompt: Sequence[int],
    sampler: TokenSampler,
    stop_tokens: frozenset[int],
    max_tokens: int,
    ends_at: float | None,
    cancel: threading.Event | None,
) -> Iterator[Step]:
    """The loop itself; `decode` has checked everything."""
    tokens = prompt
    for remaining in range(max_tokens, 0, -1):
        if cancel is not None and cancel.is_set():
            yield Step(None, "cancelled")
            return
        if ends_at is not None and time.monotonic() >= ends_at:
            yield Step(None, "cancelled", "deadline")
            return
        started = time.perf_counter()
        logits = check_scores("model.forward", model.forward(tokens))
        scored = time.perf_counter()
        token = _drawn(sampler.sample(logits))
        times = scored - started, time.perf_counter() - scored
        if token in stop_tokens:
            yield Step(token, "stop", token, *times)
            return
        yield Step(token, "length" if remaining == 1 else None, None, *times)
        tokens = [token]


def check_model(model: object) -> None:
    """Raise a `ModelError` if `model` has no `forward`."""
    if not callable(getattr(model, "forward", None)):
        msg = f"model must have a method forward(tokens) -> logits, got {type(model).__name__}"
        raise ModelError(msg)


def check_scores(name: str, logits: Any) -> Any:
    """Return `logits` if they have the shape of one row, else raise a `ModelError`; the sampler checks the scores."""
    shape: tuple[int, ...] | None = getattr(logits, "shape", None)
    if shape is None:
        try:
            shape = np.shape(logits)
        except ValueError:  # lists of several lengths
            shape = ()
    if len(shape) == 2:  # noqa: PLR2004 - rows and scores
        shape = shape[1:] if shape[0] == 1 else ()
    if len(shape) != 1 or not shape[0]:
        seen = f"shape {tuple(logits.shape)}" if hasattr(logits, "shape") else shown(logits)
        msg = f"{name} must return scores of shape (vocab,), got {seen}"
        raise ModelError(msg)
    return logits


def _drawn(token: object) -> int:
    checked = _token_id(token)
    if checked is None:
        refuse("what sampler.sample returns", "a token id (an int, 0 or more)", token)
    return checked


def check_ids(name: str, ids: Iterable[int]) -> list[int]:
    """Return `ids` as a list of ints, or raise a `ParameterError` that says what is wrong with them."""
    if isinstance(ids, (str, bytes)):
        msg = f"{name} must be token ids, got {type(ids).__name__}: encode the text first, or use stream or generate"
        raise ParameterError(msg)
    try:
        items = iter(ids)
    except TypeError:
        msg = f"{name} must be a sequence of token ids, got {type(ids).__name__}"
        raise ParameterError(msg) from None
    return [_check_id(name, index, item) for index, item in enumerate(items)]


def _check_id(name: str, index: int, item: object) -> int:
    token = _token_id(item)
    if token is None:
        refuse(f"{name}[{index}]", "a token id (an int, 0 or more)", item)
    return token


def _token_id(item: object) -> int | None:
    try:
        token = operator.index(item)  # type: ignore[arg-type]  # anything else raises TypeError
    except TypeError:
        return None
    return None if isinstance(item, bool) or token < 0 else token


def check_max_tokens(max_tokens: int) -> int:
    """Return `max_tokens`, or raise a `ParameterError`."""
    return integer("max_tokens", max_tokens, least=1)


def check_deadline(deadline: float) -> float:
    """Return `deadline` in seconds, or raise a `ParameterError`."""
    seconds = number("deadline", deadline)
    if not seconds >= 0:
        refuse("deadline", "a number of seconds, 0 or more", deadline)
    return seconds


def check_cancel(cancel: threading.Event | None) -> threading.Event | None:
    """Return `cancel`, or raise a `ParameterError` if it has no `is_set()`."""
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        refuse("cancel", "None or an event with is_set(), such as a threading.Event", cancel)
    return cancel
