"""The two upper layers: `stream` turns the tokens of `decode` into text as it comes, `generate` joins the stream.

Both begin from an empty context (a model that can `truncate` is reset), build the sampler from its parameters, and
take the tokenizer from the model.
"""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np

from sortition.completion import Chunk, Completion, Timings
from sortition.decode import check_deadline, check_ids, check_max_tokens, decode
from sortition.errors import ModelError, ParameterError
from sortition.models.protocol import Forkable, Truncatable
from sortition.params import SamplingParams
from sortition.sampler import Sampler
from sortition.stop import StopStrings
from sortition.text import TextBuilder

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Unpack

    from sortition.decode import FinishReason, Step
    from sortition.models.protocol import Model, TextModel

    class RunOptions(TypedDict, total=False):
        """The keyword arguments of `stream` and `generate`, for the type checker."""

        stop: Iterable[str] | str
        include_stop: bool
        stop_tokens: Iterable[int]
        ignore_eos: bool
        show_special: bool
        max_tokens: int
        deadline: float | None
        cancel: threading.Event | None


__all__ = ["generate", "stream"]


def stream(  # noqa: PLR0913 - the options of one run
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = None,
    *,
    stop: Iterable[str] | str = (),
    include_stop: bool = False,
    stop_tokens: Iterable[int] = (),
    ignore_eos: bool = False,
    show_special: bool = False,
    max_tokens: int = 128,
    deadline: float | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[Chunk]:
    """Yield text as it comes. The chunks' texts joined are the completion's text.

    Text that may still become a stop string, or that is an unfinished character, is held back, and nothing else is.
    An exception of the model comes after the text held so far; its attribute `partial` is the `Completion` up to it.

    Args:
        model: a model with a `tokenizer`. It is reset first, if it can `truncate`.
        prompt: text, or token ids.
        params: how tokens are drawn; by default, plain sampling with a seed from the system.
        stop: stop strings; they may span tokens, and the one that completes first ends the text.
        include_stop: whether the text ends with the stop string that ended it.
        stop_tokens: ids that end the text, beside the tokenizer's `eos_ids`.
        ignore_eos: whether `eos_ids` do not end the text.
        show_special: whether special tokens show their names.
        max_tokens: at least 1; a full context (the model's `context_length`) ends the text in the same way.
        deadline: seconds from this call; it ends the run as `"cancelled"`, `matched="deadline"`.
        cancel: set it, from any thread, to end the run within one step.

    Raises:
        ParameterError: an argument is outside its range; before anything is computed.
        ModelError: the model has no `forward` or no `tokenizer`.

    >>> from sortition import SamplingParams
    >>> from sortition.models.scripted import ScriptedModel
    >>> model = ScriptedModel.from_pieces(["你", "好", "。再", "见"])
    >>> [chunk.text for chunk in stream(model, [4], SamplingParams(temperature=0), stop="再")]
    ['你', '好', '。', '']
    """
    options = _Options(
        stop=StopStrings(stop, include_stop=include_stop),
        stop_tokens=check_ids("stop_tokens", stop_tokens),
        ignore_eos=ignore_eos,
        show_special=show_special,
        max_tokens=check_max_tokens(max_tokens),
        ends_at=None if deadline is None else time.monotonic() + check_deadline(deadline),
        cancel=cancel,
    )
    run = _Run(model, prompt, params, options)
    _reset(model)
    return run.chunks(model, run.sampler)


@overload
def generate(
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = ...,
    *,
    n: Literal[1] = ...,
    **options: Unpack[RunOptions],
) -> Completion: ...
@overload
def generate(
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = ...,
    *,
    n: int,
    **options: Unpack[RunOptions],
) -> Completion | list[Completion]: ...
def generate(  # noqa: PLR0913 - the options of one run
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = None,
    *,
    n: int = 1,
    stop: Iterable[str] | str = (),
    include_stop: bool = False,
    stop_tokens: Iterable[int] = (),
    ignore_eos: bool = False,
    show_special: bool = False,
    max_tokens: int = 128,
    deadline: float | None = None,
    cancel: threading.Event | None = None,
) -> Completion | list[Completion]:
    """The whole text: what `stream` yields, joined.

    With `n` above 1, a list: completion i draws from stream i of the seed, so the first is the one that `n=1` gives.
    The prompt is read once, for which the model must `fork` or `truncate`. `deadline` and `cancel` are for all of them
    together. The other arguments are those of `stream`.

    An exception of the model carries what was produced so far, a `Completion`, as its attribute `partial`.

    >>> from sortition import SamplingParams
    >>> from sortition.models.scripted import ScriptedModel
    >>> model = ScriptedModel.from_pieces(["React", " 是", " 什么", "？"])
    >>> done = generate(model, [4], SamplingParams(temperature=0), max_tokens=3)
    >>> done.text, done.finish_reason
    ('React 是 什么', 'length')
    """
    options = _Options(
        stop=StopStrings(stop, include_stop=include_stop),
        stop_tokens=check_ids("stop_tokens", stop_tokens),
        ignore_eos=ignore_eos,
        show_special=show_special,
        max_tokens=check_max_tokens(max_tokens),
        ends_at=None if deadline is None else time.monotonic() + check_deadline(deadline),
        cancel=cancel,
    )
    run = _Run(model, prompt, params, options)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        msg = f"n must be an int of at least 1, got {n!r}"
        raise ParameterError(msg)
    if n == 1:
        _reset(model)
        return _last(run.chunks(model, run.sampler))
    if not isinstance(model, (Forkable, Truncatable)):
        msg = f"n={n} needs a model with fork() or truncate(length), and {type(model).__name__} has neither"
        raise ModelError(msg)
    _reset(model)
    return run.completions(model, n)


@dataclass(frozen=True)
class _Options:
    """The options that `stream` and `generate` share, checked."""

    stop: StopStrings
    stop_tokens: Sequence[int]
    ignore_eos: bool
    show_special: bool
    max_tokens: int
    ends_at: float | None
    cancel: threading.Event | None


class _Run:
    """A prompt and its parameters, checked: everything that the completions of one call share."""

    def __init__(
        self, model: TextModel, prompt: str | Iterable[int], params: SamplingParams | None, options: _Options
    ) -> None:
        self._options = options
        self._params = SamplingParams() if params is None else params
        self._tokenizer = _tokenizer(model)
        self._prompt = _prompt_ids(self._tokenizer, prompt)
        self._max_tokens = min(options.max_tokens, _room(model, len(self._prompt)))
        eos = () if options.ignore_eos else self._tokenizer.eos_ids
        self._stop_tokens = frozenset([*options.stop_tokens, *eos])
        self.sampler = Sampler(
            self._params,
            prompt=self._prompt,
            vocab_size=getattr(model, "vocab_size", None),
            stop_tokens=sorted(self._stop_tokens),
        )

    def completions(self, model: TextModel, n: int) -> list[Completion]:
        """The `n` completions, one after another, of a prompt that the model reads once."""
        done: list[Completion] = []
        shared: list[Any] = []
        for sampler in self.sampler.fork(n):
            try:
                done.append(_last(self.chunks(_Branch(model, shared), sampler)))
            except Exception as error:
                _attach(error, [*done, getattr(error, "partial", None)])
                raise
        return done

    def chunks(self, model: Model, sampler: Sampler) -> Iterator[Chunk]:
        """The text of one completion as it comes."""
        options = self._options
        record = _Record(len(self._prompt), sampler)
        builder = TextBuilder(
            self._tokenizer, options.stop, min_tokens=self._params.min_tokens or 0, show_special=options.show_special
        )
        try:
            for step in self._steps(model, sampler):
                record.add(step)
                if step.token is None or step.finish_reason == "stop":
                    break
                yield Chunk(record.show(builder.push(step.token)), step.token)
                if builder.matched is not None:
                    break
        except Exception as error:
            rest = record.show(builder.close())
            if rest:
                yield Chunk(rest)
            _attach(error, record.completion(None, None, builder.text_tokens))
            raise
        rest = record.show(builder.close())
        reason, matched = ("stop", builder.matched) if builder.matched else (step.finish_reason, step.matched)
        token = step.token if step.finish_reason == "stop" else None
        yield Chunk(rest, token, reason, matched, record.completion(reason, matched, builder.text_tokens))

    def _steps(self, model: Model, sampler: Sampler) -> Iterator[Step]:
        options = self._options
        return decode(
            model,
            self._prompt,
            sampler,
            stop_tokens=self._stop_tokens,
            max_tokens=self._max_tokens,
            deadline=None if options.ends_at is None else max(0.0, options.ends_at - time.monotonic()),
            cancel=options.cancel,
        )


class _Record:
    """What one completion has come to so far."""

    def __init__(self, prompt_tokens: int, sampler: Sampler) -> None:
        self._prompt_tokens = prompt_tokens
        self._sampler = sampler
        self._started = time.perf_counter()
        self._tokens: list[int] = []
        self._texts: list[str] = []
        self._prefill: float | None = None
        self._model = self._drawing = 0.0

    def add(self, step: Step) -> None:
        if step.token is not None:
            self._tokens.append(step.token)
        if self._prefill is None:
            self._prefill = step.model_seconds
        self._model += step.model_seconds
        self._drawing += step.sampler_seconds

    def show(self, text: str) -> str:
        self._texts.append(text)
        return text

    def completion(
        self, finish_reason: FinishReason | None, matched: int | str | None, text_tokens: int
    ) -> Completion:
        return Completion(
            text="".join(self._texts),
            tokens=tuple(self._tokens),
            text_tokens=text_tokens,
            finish_reason=finish_reason,
            matched=matched,
            prompt_tokens=self._prompt_tokens,
            seed=self._sampler.seed,
            stream=self._sampler.stream,
            timings=Timings(
                self._prefill or 0.0, self._model, self._drawing, time.perf_counter() - self._started
            ),
        )


class _Branch:
    """One of several continuations of a prompt that is read once.

    The scores after the prompt are kept as they came, so that each continuation starts from the same bits that it
    would have had alone.
    """

    def __init__(self, root: Any, shared: list[Any]) -> None:
        self._root = root
        self._shared = shared
        self._model: Any = None

    def forward(self, tokens: Sequence[int]) -> Any:
        if self._model is not None:
            return self._model.forward(tokens)
        if not self._shared:
            self._shared.append(np.array(self._root.forward(tokens)))  # a copy: it outlives the next call
        if isinstance(self._root, Forkable):
            self._model = self._root.fork()
        else:
            self._root.truncate(len(tokens))
            self._model = self._root
        return self._shared[0]


def _tokenizer(model: TextModel) -> Any:
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        msg = f"{type(model).__name__} has no tokenizer; decode works on token ids alone"
        raise ModelError(msg)
    return tokenizer


def _prompt_ids(tokenizer: Any, prompt: str | Iterable[int]) -> list[int]:
    if isinstance(prompt, str):
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            msg = f"prompt must be text that can be written in UTF-8: {error}"
            raise ParameterError(msg) from None
    ids = check_ids("prompt", tokenizer.encode(prompt) if isinstance(prompt, str) else prompt)
    if not ids:
        msg = f"prompt must hold at least one token, got {prompt!r}: the first scores come from the last token"
        raise ParameterError(msg)
    return ids


def _room(model: Any, prompt_tokens: int) -> int:
    """How many tokens can be drawn before a context with a limit is full; the last one drawn is not read."""
    context_length: int | None = getattr(model, "context_length", None)
    if context_length is None:
        return sys.maxsize
    if prompt_tokens > context_length:
        msg = f"prompt must have at most {context_length} tokens, which the context holds, got {prompt_tokens}"
        raise ParameterError(msg)
    return context_length - prompt_tokens + 1


def _reset(model: Any) -> None:
    if isinstance(model, Truncatable):
        model.truncate(0)


def _last(chunks: Iterator[Chunk]) -> Completion:
    for chunk in chunks:
        if chunk.completion is not None:
            return chunk.completion
    msg = "a stream ended without a closing chunk"
    raise AssertionError(msg)


def _attach(error: Exception, partial: object) -> None:
    with contextlib.suppress(AttributeError):  # an exception with slots takes no attribute; it goes on without
        error.partial = partial  # type: ignore[attr-defined]
