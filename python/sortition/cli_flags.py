"""A command-line flag for every field of `SamplingParams`, made from the fields themselves.

Name, type and default come from the dataclass, the help from its docstring, so a new parameter has its flag at once.
A field that takes several ids or names has a flag that may be repeated, with commas too; one that takes a table has
`ID=VALUE`, repeated; what has no such shape is given as JSON.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import json
import re
import types
import typing
from typing import Annotated, Any

import typer

from sortition.errors import ParameterError
from sortition.params import SamplingParams

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["as_typed", "sampling_params", "with_sampling_flags"]

_PANEL = "Sampling"
_WORDS = {"None": "unset", "{id: bias}": "ID=VALUE", ", see Profile": ""}  # Python's, and the command's


def with_sampling_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give `command`, which takes `**flags`, the flags of all fields; `sampling_params(flags)` makes the value."""
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
    hints, helps = _hints(), _helps()
    fields = [f for f in dataclasses.fields(SamplingParams) if f.init and f.metadata.get("plain", True)]
    flags = [_flag(field, hints[field.name], helps.get(field.name, "")) for field in fields]

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    vars(wrapper)["__signature__"] = inspect.Signature([*own, *flags])
    wrapper.__annotations__ = {p.name: p.annotation for p in [*own, *flags]}
    del vars(wrapper)["__wrapped__"]  # its signature is not the one to show
    return wrapper


def sampling_params(flags: Mapping[str, Any]) -> SamplingParams:
    """The parameters, from what the flags were given; what was not given keeps its default.

    Raises:
        ParameterError: a value is outside its range, or does not have the shape that its flag asks for.
    """
    hints = _hints()
    given = {name: value for name, value in flags.items() if value is not None and value != []}
    return SamplingParams(**{name: _value(name, value, _shape(hints[name])) for name, value in given.items()})


def as_typed(message: str, others: Iterable[str] = ()) -> str:
    """A message about a field of `SamplingParams`, or one of `others`, with the name that a person typed.

    Messages begin with the name, and name another behind "beside"; elsewhere a name may be a word, or the value typed.

    >>> print(as_typed("top_k must be None beside mirostat, which takes the place of the cuts, got 5"))
    --top-k must be unset beside --mirostat, which takes the place of the cuts, got 5
    """
    names = "|".join([*(field.name for field in dataclasses.fields(SamplingParams)), *others])
    first = re.match(rf"({names})(?:\[\d+\])?(?= )", message)
    if first is None:
        return message
    rule, got, value = message[first.end() :].partition(", got ")
    rule = re.sub(rf"(?<=beside )({names})\b", lambda found: _dashed(found[1]), rule).replace("None", "unset")
    return _dashed(first[1]) + rule + got + value


def _flag(field: dataclasses.Field[Any], hint: Any, text: str) -> inspect.Parameter:
    shape = _shape(hint)
    annotation: Any = {"ids": list[str], "names": list[str], "table": list[str], "json": str}.get(shape, shape)
    metavar = {"ids": "ID,…", "names": "NAME,…", "table": "ID=VALUE", "json": "JSON"}.get(shape)
    default = None if field.default in (dataclasses.MISSING, ()) else field.default
    names = [] if shape is bool else [_dashed(field.name)]  # a bool has two, with and without no-
    option = typer.Option(*names, help=text, metavar=metavar, rich_help_panel=_PANEL)
    annotation = Annotated[annotation | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shape(hint: Any) -> Any:
    """A type that the command line knows, or one of `"ids"`, `"names"`, `"table"`, `"json"`."""
    options = [hint]
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        options = [option for option in typing.get_args(hint) if option is not type(None)]
    if set(options) <= {int, float}:
        return float if float in options else int
    option = options[0]
    if option in {bool, str} or typing.get_origin(option) is typing.Literal:
        return option
    origin, arguments = typing.get_origin(option), typing.get_args(option)
    if isinstance(origin, type) and arguments:
        if issubclass(origin, collections.abc.Mapping) and arguments == (int, float):
            return "table"
        if issubclass(origin, collections.abc.Iterable) and arguments[0] in {int, str}:
            return "ids" if arguments[0] is int else "names"
    return "json"


def _value(name: str, value: Any, shape: Any) -> Any:
    """What the field takes, from what the flag was given."""
    try:
        if shape == "ids":
            return tuple(int(part) for item in value for part in item.split(","))
        if shape == "names":
            return tuple(part for item in value for part in item.split(","))
        if shape == "table":
            return {int(key): float(number) for key, _, number in (item.partition("=") for item in value)}
        return json.loads(value) if shape == "json" else value
    except ValueError:
        wanted = {"ids": "token ids", "table": "ID=VALUE", "json": "JSON"}[shape]
        shown = value if isinstance(value, str) else " ".join(value)
        msg = f"{_dashed(name)} must be {wanted}, got {shown!r}"
        raise ParameterError(msg) from None


def _dashed(name: str) -> str:
    return ("-" if len(name) == 1 else "--") + name.replace("_", "-")


def _hints() -> dict[str, Any]:
    """The types of the fields; `params.py` imports some of the names only for the type checker."""
    return typing.get_type_hints(SamplingParams, localns=vars(collections.abc))


def _helps() -> dict[str, str]:
    """What the docstring of `SamplingParams` says of each field, in lines `name: text`, as the command says it."""
    lines = inspect.getdoc(SamplingParams) or ""
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {6,}.+)*)", lines, re.MULTILINE)
    return {name: _as_help(name, re.sub(r"\s+", " ", text).replace("``", "")) for name, text in found}


def _as_help(name: str, text: str) -> str:
    for said, typed in _WORDS.items():
        text = text.replace(said, typed)
    text = text.replace("as for repetition", f"as for {_dashed('repetition_' + name.partition('_')[2])}")
    text = re.sub(r"\b(\w+)(?==\d)", lambda found: _dashed(found[1]), text)
    return text[0].upper() + text[1:]
