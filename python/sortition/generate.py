"""The two upper layers: `stream` turns the tokens of `decode` into text as it comes, `generate` joins the stream.

Both begin from an empty context (a model that can `truncate` is reset when its first token is asked for), build the
sampler from its parameters, and take the tokenizer from the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, overload

from sortition.errors import ModelError
from sortition.models.protocol import Forkable, Truncatable
from sortition.run import Run, RunOptions, check_n, last

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

    from typing_extensions import Unpack

    from sortition.completion import Chunk, Completion
    from sortition.models.protocol import TextModel
    from sortition.params import SamplingParams

    class Keywords(TypedDict, total=False):
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


def stream(
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
    Where the run ends inside a character, U+FFFD stands for what there is of it.
    An exception of the model comes after the text held so far; its attribute `partial` is the `Completion` up to it.

    Args:
        model: a model with a `tokenizer`, for one run at a time. It is reset first, if it can `truncate`.
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
    options = RunOptions.checked(
        stop=stop,
        include_stop=include_stop,
        stop_tokens=stop_tokens,
        ignore_eos=ignore_eos,
        show_special=show_special,
        max_tokens=max_tokens,
        deadline=deadline,
        cancel=cancel,
    )
    run = Run(model, prompt, params, options)
    return run.fresh_chunks(model)


@overload
def generate(
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = ...,
    *,
    n: Literal[1] = ...,
    **options: Unpack[Keywords],
) -> Completion: ...
@overload
def generate(
    model: TextModel,
    prompt: str | Iterable[int],
    params: SamplingParams | None = ...,
    *,
    n: int,
    **options: Unpack[Keywords],
) -> Completion | list[Completion]: ...
def generate(
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
    >>> model = ScriptedModel.from_pieces(["React", " 是", " 什么", "!"])
    >>> done = generate(model, [4], SamplingParams(temperature=0), max_tokens=3)
    >>> done.text, done.finish_reason
    ('React 是 什么', 'length')

    Raises:
        ParameterError: as `stream`; or `n` is not in [1, 65536].
        ModelError: as `stream`; or `n` is above 1, and the model can neither `fork` nor `truncate`.
    """
    options = RunOptions.checked(
        stop=stop,
        include_stop=include_stop,
        stop_tokens=stop_tokens,
        ignore_eos=ignore_eos,
        show_special=show_special,
        max_tokens=max_tokens,
        deadline=deadline,
        cancel=cancel,
    )
    run = Run(model, prompt, params, options)
    n = check_n(n)
    if n == 1:
        return last(run.fresh_chunks(model))
    if not isinstance(model, (Forkable, Truncatable)):
        msg = f"n={n} needs a model with fork() or truncate(length), and {type(model).__name__} has neither"
        raise ModelError(msg)
    return run.completions(model, n)
