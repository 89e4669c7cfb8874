"""Arguments as the core takes them. An error names the argument, what is legal, and the value that was given."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from sortition.errors import ParameterError

__all__ = ["Words", "integer", "number", "refuse"]


def refuse(name: str, legal: str, value: Any) -> NoReturn:
    """Raise the error for a value that is not legal; ``value`` may be an explanation in words."""
    msg = f"{name} must be {legal}, got {value if isinstance(value, Words) else repr(value)[:80]}"
    raise ParameterError(msg) from None


class Words(str):
    """A value in words, shown without quotes."""

    __slots__ = ()


def number(name: str, value: Any) -> float:
    """A real number of any numeric type, but no ``bool`` and no text."""
    if isinstance(value, (bool, str, bytes)):
        refuse(name, "a number", value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        refuse(name, "a number", value)


def integer(name: str, value: Any, *, least: int | None = None, below: int | None = None) -> int:
    """An integer of any integer type, but no ``bool``, in ``[least, below)``."""
    if below is not None:
        legal = f"an integer in [{least}, {below})"
    else:
        legal = "an integer" if least is None else f"an integer of at least {least}"
    if isinstance(value, bool):
        refuse(name, legal, value)
    try:
        checked = operator.index(value)
    except TypeError:
        refuse(name, legal, value)
    if (least is not None and checked < least) or (below is not None and checked >= below):
        refuse(name, legal, value)
    return checked
