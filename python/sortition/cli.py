"""The command line: parses, builds, prints, and computes nothing.

Exit codes: 0, 1 for an error, 2 for a parameter that cannot be, 130 after Ctrl-C, 141 when nobody reads the output.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any

from sortition._command import BAD_PARAMETER, INTERRUPTED, NO_READER, complain
from sortition._extras import extra
from sortition._runtime import info
from sortition.decode import check_deadline, check_max_tokens
from sortition.errors import ModelError, ParameterError
from sortition.generate import generate as run
from sortition.generate import stream
from sortition.models import load
from sortition.run import check_n
from sortition.stop import StopStrings

with extra("cli", "the command line needs typer and rich"):
    import typer
    from rich.console import Console

from sortition.cli_flags import as_typed, sampling_params, with_sampling_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sortition.completion import Completion
    from sortition.models.protocol import TextModel
    from sortition.params import SamplingParams

__all__ = ["app", "main"]

_OPTIONS = ("model", "max_tokens", "stop", "deadline", "n")  # of `generate`, beside those of sampling

app = typer.Typer(
    name="sortition",
    help="Exact, reproducible token sampling for language models.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    if sys.stdout is None:
        complain("the standard output is closed")
        return 1
    # Text is UTF-8, whatever the locale says.
    for file, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        # What is closed, or was read from before, stays as it is.
        with contextlib.suppress(OSError, ValueError):
            if hasattr(file, "reconfigure"):
                file.reconfigure(encoding="utf-8", errors=errors)
    code = 0
    try:
        code = _parse_and_run([_as_utf8(typed) for typed in sys.argv[1:]] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = NO_READER
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as error:
        if code == 0:  # else it has been said
            complain(str(error))
            code = 1
    else:
        return code
    _drop_output()
    return code


def _as_utf8(typed: str) -> str:
    """An argument, which Python has read in the encoding of the locale."""
    try:
        return os.fsencode(typed).decode()
    except UnicodeError:
        return typed


def _parse_and_run(arguments: Sequence[str]) -> int:
    try:
        code = app(args=arguments, prog_name="sortition", standalone_mode=False)
    except typer.Abort:  # what the parser makes of a Ctrl-C
        return INTERRUPTED
    except SystemExit as error:  # what it, and rich, make of a pipe that nobody reads
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    except Exception as error:
        message = getattr(error, "format_message", None)  # the parser's own: an unknown flag, a word for a number
        if message is None:
            raise
        complain(message())
        return int(getattr(error, "exit_code", BAD_PARAMETER))
    return code if isinstance(code, int) else 0


class _NobodyReadsError(Exception):
    """The output is a broken pipe; a model may have pipes of its own, which are another matter."""


def _put(text: str, end: str = "\n") -> None:
    """Print at once."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise _NobodyReadsError from None


def _drop_output() -> None:
    """What is still buffered cannot be written, and the interpreter must not try."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """An error is one line on stderr and an exit code, not a traceback."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except typer.Exit:
            raise
        except _NobodyReadsError:
            _drop_output()
            raise typer.Exit(NO_READER) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except ParameterError as error:
            complain(as_typed(str(error), _OPTIONS))
            raise typer.Exit(BAD_PARAMETER) from None
        except Exception as error:  # noqa: BLE001 - whatever a model raises, a person reads one line
            complain(str(error) or type(error).__name__)
            raise typer.Exit(1) from None

    return wrapper


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - the parser calls it so
    if wanted:
        typer.echo(f"sortition {info()['version']}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback has done it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Exact, reproducible token sampling for language models."""
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")  # which rich has printed, and this is empty
        raise typer.Exit(BAD_PARAMETER)


@app.command("generate")
@with_sampling_flags
@one_line_errors
def generate_command(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="The text to continue; - reads it from the standard input.")
    ],
    *,
    model: Annotated[str, typer.Option(help="The model to run.")] = "smollm2",
    chat: Annotated[bool, typer.Option("--chat", help="Ask the prompt as a question, by the chat template.")] = False,
    max_tokens: Annotated[int, typer.Option(help="End after so many tokens.")] = 128,
    stop: Annotated[list[str] | None, typer.Option(help="End before this text; may be repeated.")] = None,
    deadline: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many completions.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    **flags: Any,
) -> None:
    """Continue PROMPT: the text goes out as it comes, then one line about it on the standard error."""
    params = sampling_params(flags)
    _check_before_the_model_is_opened(stop or (), max_tokens, deadline, n)
    prompt = sys.stdin.read() if prompt == "-" else prompt
    with _console().status(f"opening {model}"):  # on a terminal only, and gone afterwards
        loaded = load(model)
    text = _chat_prompt(loaded, prompt) if chat else prompt
    with _cancel_on_interrupt() as cancel:
        options: Any = {"stop": stop or (), "max_tokens": max_tokens, "deadline": deadline, "cancel": cancel}
        if n == 1 and not as_json:
            completions = [_print_stream(loaded, text, params, options)]
        else:
            done = run(loaded, text, params, n=n, **options)
            completions = done if isinstance(done, list) else [done]
            _print_json(model, completions) if as_json else _print_texts(completions)
    for completion in completions:
        if not as_json:
            _console().print(_status(completion), style="dim", highlight=False, soft_wrap=True, markup=False)
    if cancel.is_set():
        raise typer.Exit(INTERRUPTED)


def _check_before_the_model_is_opened(stop: Sequence[str], max_tokens: int, deadline: float | None, n: int) -> None:
    """Which takes a while."""
    StopStrings(stop)
    check_max_tokens(max_tokens)
    if deadline is not None:
        check_deadline(deadline)
    check_n(n)


@app.command("info")
@one_line_errors
def info_command(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False
) -> None:
    """The version, the instruction set in use, and the threads."""
    facts = info()
    if as_json:
        _put(json.dumps(facts, allow_nan=False))
        return
    for name, value in facts.items():
        _put(f"{name:<17}{', '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}")


def _print_stream(model: TextModel, prompt: str, params: SamplingParams, options: Any) -> Completion:
    """Print the text as it comes."""
    completion, begun = None, False
    try:
        for chunk in stream(model, prompt, params, **options):
            _put(chunk.text, end="")
            completion, begun = chunk.completion, True
    finally:
        if begun:
            _put("")  # what follows, an error too, stands on a line of its own
    assert completion is not None, "a stream ends with a completion"  # noqa: S101 - for the type checker
    return completion


def _print_texts(completions: Sequence[Completion]) -> None:
    for completion in completions:
        _put(f"=== {completion.stream + 1} of {len(completions)} ===\n{completion.text}")


def _print_json(model: str, completions: Sequence[Completion]) -> None:
    """One completion as it is, several in a list: as `generate` returns them."""
    values = [completion.to_dict() for completion in completions]
    value = {"model": model, **values[0]} if len(values) == 1 else {"model": model, "completions": values}
    _put(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _status(completion: Completion) -> str:
    """Tokens, speed, where the time went, and why it ended."""
    times = completion.timings
    speed = len(completion.tokens) / times.total if times.total else 0.0
    share = times.sampler / (times.model + times.sampler) if times.sampler else 0.0
    matched = "" if completion.matched is None else f" ({completion.matched!r})"
    parts = [
        f"{len(completion.tokens)} tokens",
        f"{speed:.1f} tokens/s",
        f"model {times.model:.3f} s",
        f"sampler {times.sampler:.4f} s ({share:.2%})",
        f"seed {completion.seed}",
        f"{completion.finish_reason}{matched}",
    ]
    return " · ".join(parts)


def _chat_prompt(model: TextModel, prompt: str) -> str:
    template = getattr(model.tokenizer, "chat_prompt", None)
    if template is None:
        msg = "this model has no chat template"
        raise ModelError(msg)
    text: str = template([{"role": "user", "content": prompt}])
    return text


@contextlib.contextmanager
def _cancel_on_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C sets the event, so that the run ends with what there is; a second one ends the program."""
    cancel = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may take signals
        yield cancel
        return

    def interrupted(*_: object) -> None:
        cancel.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)


def _console() -> Console:
    return Console(stderr=True)
