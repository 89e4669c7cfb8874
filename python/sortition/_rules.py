"""What a parameter may be given as, and the plain value it becomes. Ranges are the core's to check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sortition._checks import Words, integer, number, refuse

__all__ = ["bias", "callables", "count", "ids", "names", "number", "optional", "runs", "scope", "seed", "version"]

_MAX_COUNT = 2**63 - 1


class _Bias(dict[int, float]):
    """A read-only mapping, so that parameters stay the value they are."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        msg = "logit_bias of SamplingParams cannot be changed: make new parameters"
        raise TypeError(msg)

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[_Bias], tuple[dict[int, float]]]:
        return _Bias, (dict(self),)


def optional(rule: Any) -> Any:
    return lambda name, value: None if value is None else rule(name, value)


def count(name: str, value: Any) -> int:
    whole = integer(name, value)
    if whole < 0:
        refuse(name, "an integer of at least 0" if name == "min_tokens" else "at least 1", value)
    return min(whole, _MAX_COUNT)


def seed(name: str, value: Any) -> int:
    whole = integer(name, value)
    if not 0 <= whole < 2**64:
        refuse(name, "an integer in [0, 2^64)", value)
    return whole


def ids(name: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes, Mapping)):
        refuse(name, "a collection of token ids", value)
    try:
        listed = list(value)
    except TypeError:
        refuse(name, "a collection of token ids", value)
    found = tuple(dict.fromkeys(integer(name, item, least=0) for item in listed))
    if found and max(found) >= 2**32:
        refuse(name, "token ids below 2^32", max(found))
    return found


def runs(name: str, value: Any) -> tuple[tuple[int, ...], ...]:
    """Sequences of ids, in which an id may come twice."""
    legal = "a collection of sequences of token ids"
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        refuse(name, legal, value)
    listed = list(value)
    for run in listed:
        if isinstance(run, (str, bytes, Mapping)) or not isinstance(run, Iterable):
            refuse(name, legal, value)
    return tuple(dict.fromkeys(tuple(integer(name, item, least=0, below=2**32) for item in run) for run in listed))


def callables(name: str, value: Any) -> tuple[Callable[..., Any], ...]:
    listed = tuple(value) if isinstance(value, Iterable) else None
    if listed is None or not all(callable(item) for item in listed):
        refuse(name, "a sequence of callables", value)
    return listed


def names(name: str, value: Any) -> tuple[str, ...]:
    listed = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else None
    if listed is None or not all(isinstance(item, str) for item in listed):
        refuse(name, "a sequence of names", value)
    return listed


def version(name: str, value: Any) -> int:
    whole = integer(name, value)
    if whole not in (1, 2):
        refuse(name, "1 or 2 (None switches it off)", value)
    return whole


def scope(name: str, value: Any) -> str:
    if value not in ("all", "output"):
        refuse(name, '"all" or "output"', value)
    return str(value)


def bias(name: str, value: Any) -> _Bias | None:
    """A mapping without entries biases nothing: it is ``None``."""
    if not isinstance(value, Mapping):
        refuse(name, "a mapping {id: bias}", value)
    biases = {integer(name, key): number(name, added) for key, added in value.items()}
    for key, added in biases.items():
        if not 0 <= key < 2**32:
            refuse(name, "a mapping of token ids of at least 0", key)
        if math.isnan(added) or added == math.inf:
            refuse(name, "finite or -inf", Words(f"{added} for token {key}"))
    return _Bias(biases) if biases else None
