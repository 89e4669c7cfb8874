"""One run of `stream` or `generate`: what its completions share, how tokens become chunks, and the record of it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._checks import Words, integer, ordered, refuse, shown
from sortition.completion import Chunk, Completion, Timings
from sortition.decode import (
    check_cancel,
    check_deadline,
    check_ids,
    check_max_tokens,
    check_model,
    check_scores,
    decode,
)
from sortition.errors import ModelError, ParameterError
from sortition.models.protocol import Forkable, Truncatable
from sortition.params import SamplingParams
from sortition.sampler import MOST_FORKS, Sampler
from sortition.stop import StopStrings
from sortition.text import TextBuilder

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Sequence

    from sortition.decode import FinishReason, Step
    from sortition.models.protocol import Model, TextModel

__all__ = ["Run", "RunOptions", "check_n", "last"]


@dataclass(frozen=True)
class RunOptions:
    """The options that `stream` and `generate` share, checked."""

    stop: StopStrings
    stop_tokens: Sequence[int]
    ignore_eos: bool
    show_special: bool
    max_tokens: int
    ends_at: float | None
    cancel: threading.Event | None

    @classmethod
    def checked(
        cls,
        *,
        stop: Iterable[str] | str,
        include_stop: bool,
        stop_tokens: Iterable[int],
        ignore_eos: bool,
        show_special: bool,
        max_tokens: int,
        deadline: float | None,
        cancel: threading.Event | None,
    ) -> RunOptions:
        """The options as the caller gave them; the deadline counts from here.

        Raises:
            ParameterError: one of them is outside its range.
        """
        return cls(
            stop=StopStrings(stop, include_stop=include_stop),
            stop_tokens=check_ids("stop_tokens", stop_tokens),
            ignore_eos=ignore_eos,
            show_special=show_special,
            max_tokens=check_max_tokens(max_tokens),
            ends_at=None if deadline is None else time.monotonic() + check_deadline(deadline),
            cancel=check_cancel(cancel),
        )


class Run:
    """A prompt and its parameters, checked: everything that the completions of one call share."""

    def __init__(
        self, model: TextModel, prompt: str | Iterable[int], params: SamplingParams | None, options: RunOptions
    ) -> None:
        check_model(model)
        self._options = options
        self._params = SamplingParams() if params is None else params
        self._tokenizer = _tokenizer(model)
        self._prompt = _prompt_ids(self._tokenizer, prompt)
        self._max_tokens = min(options.max_tokens, _room(model, len(self._prompt)))
        eos = [] if options.ignore_eos else _ids_of("tokenizer.eos_ids", getattr(self._tokenizer, "eos_ids", None))
        self._stop_tokens = frozenset([*options.stop_tokens, *eos])
        self.sampler = Sampler(
            self._params,
            prompt=self._prompt,
            vocab_size=_size(model, "vocab_size"),
            stop_tokens=sorted(self._stop_tokens),
        )

    def fresh_chunks(self, model: TextModel) -> Iterator[Chunk]:
        """The text of one completion from an empty context, if the model can forget; which it does when asked."""
        if isinstance(model, Truncatable):
            model.truncate(0)
        yield from self.chunks(model, self.sampler)

    def completions(self, model: TextModel, n: int) -> list[Completion]:
        """The `n` completions, one after another, of a prompt that the model reads once."""
        if isinstance(model, Truncatable):
            model.truncate(0)
        done: list[Completion] = []
        shared: list[Any] = []
        for sampler in self.sampler.fork(n):
            try:
                done.append(last(self.chunks(_Branch(model, shared), sampler)))
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
        """Count a step in."""
        if step.token is not None:
            self._tokens.append(step.token)
        if self._prefill is None:
            self._prefill = step.model_seconds
        self._model += step.model_seconds
        self._drawing += step.sampler_seconds

    def show(self, text: str) -> str:
        """Keep the text, and hand it on."""
        self._texts.append(text)
        return text

    def completion(self, finish_reason: FinishReason | None, matched: int | str | None, text_tokens: int) -> Completion:
        """What there is."""
        return Completion(
            text="".join(self._texts),
            tokens=tuple(self._tokens),
            text_tokens=text_tokens,
            finish_reason=finish_reason,
            matched=matched,
            prompt_tokens=self._prompt_tokens,
            seed=self._sampler.seed,
            stream=self._sampler.stream,
            timings=Timings(self._prefill or 0.0, self._model, self._drawing, time.perf_counter() - self._started),
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
        """As the model does."""
        if self._model is not None:
            return self._model.forward(tokens)
        if not self._shared:
            scores = check_scores("model.forward", self._root.forward(tokens))
            self._shared.append(np.array(scores))  # a copy: it outlives the next call
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
    for method in ("encode(text) -> ids", "token_bytes(token) -> bytes"):
        if not callable(getattr(tokenizer, method.partition("(")[0], None)):
            msg = f"tokenizer must have a method {method}, got {type(tokenizer).__name__}"
            raise ModelError(msg)
    special = getattr(tokenizer, "special_tokens", None)
    if not isinstance(special, Mapping):
        msg = f"tokenizer.special_tokens must be a mapping of names to token ids, got {type(special).__name__}"
        raise ModelError(msg)
    return tokenizer


def _ids_of(name: str, ids: Any) -> list[int]:
    """Token ids from the tokenizer; anything else is a `ModelError`, as the tokenizer is the model's."""
    try:
        return check_ids(name, ids)
    except ParameterError as error:
        raise ModelError(str(error)) from None


def _prompt_ids(tokenizer: Any, prompt: str | Iterable[int]) -> list[int]:
    if isinstance(prompt, str):
        try:
            prompt.encode()
        except UnicodeEncodeError:
            refuse("prompt", "text that can be written in UTF-8", prompt)
        try:
            encoded = tokenizer.encode(prompt)
        except ParameterError as error:
            message = str(error)
            if not message.startswith("text must "):  # as the tokenizers of this package call it
                raise
            raise ParameterError(message.replace("text", "prompt", 1)) from None
        ids = _ids_of("what tokenizer.encode returns", encoded)
    else:
        legal = "text or a sequence of token ids"
        if isinstance(prompt, (bytes, bytearray, memoryview)):
            refuse("prompt", legal, Words(f"{type(prompt).__name__}: decode them first, as by .decode()"))
        ids = check_ids("prompt", ordered("prompt", legal, prompt))
    if not ids:
        msg = f"prompt must hold at least one token, got {shown(prompt)}: the first scores come from the last token"
        raise ParameterError(msg)
    return ids


def _room(model: Any, prompt_tokens: int) -> int:
    """How many tokens can be drawn before a context with a limit is full; the last one drawn is not read."""
    context_length = _size(model, "context_length")
    if context_length is None:
        return sys.maxsize
    if prompt_tokens > context_length:
        msg = f"prompt must have at most {context_length} tokens, which the context holds, got {prompt_tokens}"
        raise ParameterError(msg)
    return context_length - prompt_tokens + 1


def _size(model: Any, name: str) -> int | None:
    """An optional attribute of the model that counts something."""
    size = getattr(model, name, None)
    try:
        return None if size is None else integer(f"model.{name}", size, least=1)
    except ParameterError as error:
        raise ModelError(str(error)) from None


def check_n(n: int) -> int:
    """`n`, how many completions, or a `ParameterError`."""
    return integer("n", n, least=1, most=MOST_FORKS)


def last(chunks: Iterator[Chunk]) -> Completion:
    """Run to the end; the completion of the closing chunk."""
    *_, closing = chunks
    assert closing.completion is not None, "a stream ends with a completion"  # noqa: S101 - for the type checker
    return closing.completion


def _attach(error: Exception, partial: object) -> None:
    with contextlib.suppress(AttributeError):  # an exception with slots takes no attribute; it goes on without
        error.partial = partial  # type: ignore[attr-defined]
