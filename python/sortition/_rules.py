"""What a parameter may be given as, and the plain value it becomes. Ranges are the core's to check."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sortition._checks import Words, integer, number, real, refuse, shown, token, utf8
from sortition.errors import ParameterError

__all__ = ["PENALTIES", "SETTLE", "as_asked", "as_typed"]

PENALTIES = ("repetition", "frequency", "presence")


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
        refuse(name, "at least 1", value)
    return _counted(name, whole)


def count_or_zero(name: str, value: Any) -> int:
    return _counted(name, integer(name, value, least=0))


def _counted(name: str, whole: int) -> int:
    if whole >= 2**63:
        refuse(name, "below 2^63", whole)
    return whole


def seed(name: str, value: Any) -> int:
    whole = integer(name, value)
    if not 0 <= whole < 2**64:
        refuse(name, "an integer in [0, 2^64)", value)
    return whole


def listed(name: str, legal: str, value: Any, whole: Any = None) -> list[Any]:
    """The items of a collection, which text and mappings are none of; an error shows the whole that it is part of."""
    whole = value if whole is None else whole
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        refuse(name, legal, whole)
    try:
        items = iter(value)
    except TypeError:  # a NumPy array without a dimension says that it can be iterated
        refuse(name, legal, whole)
    return list(items)


def ids(name: str, value: Any) -> tuple[int, ...]:
    found = listed(name, "a collection of token ids", value)
    return tuple(dict.fromkeys(token(name, "a collection of token ids", item, value) for item in found))


def runs(name: str, value: Any) -> tuple[tuple[int, ...], ...]:
    """Sequences of ids, in which an id may come twice."""
    legal = "a collection of sequences of token ids"
    found = [listed(name, legal, run, value) for run in listed(name, legal, value)]
    return tuple(dict.fromkeys(tuple(token(name, legal, item, run) for item in run) for run in found))


def callables(name: str, value: Any) -> tuple[Callable[..., Any], ...]:
    legal = "a sequence of callables"
    found = listed(name, legal, value)
    if not all(callable(item) for item in found):
        refuse(name, legal, value)
    return tuple(found)


def names(name: str, value: Any) -> tuple[str, ...]:
    legal = "a sequence of names"
    found = listed(name, legal, value)
    if not all(isinstance(item, str) for item in found):
        refuse(name, legal, value)
    return tuple(map(utf8, found))


def version(name: str, value: Any) -> int:
    whole = integer(name, value)
    if whole not in (1, 2):
        refuse(name, "1 or 2", value)
    return whole


def scope(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in ("all", "output"):
        refuse(name, '"all" or "output"', value)
    return str(value)


def bias(name: str, value: Any) -> _Bias | None:
    """A mapping without entries biases nothing: it is ``None``."""
    if not isinstance(value, Mapping):
        refuse(name, "a mapping {id: bias}", value)
    biases = {token(name, "a mapping of token ids", key, value): _added(name, key, value[key]) for key in value}
    return _Bias(biases) if biases else None


def _added(name: str, key: Any, added: Any) -> float:
    legal, seen = "finite numbers or -inf", Words(f"{shown(added)} for token {shown(key)}")
    plain = real(added)
    if plain is None or math.isnan(plain) or plain == math.inf or (plain == -math.inf != added):
        refuse(name, legal, seen)
    return plain


def as_typed(error: ParameterError, typed: Mapping[str, Any]) -> ParameterError:
    """An error that says what ``None`` does, where that is a value, as other stacks have 0, 1 or -1 for it.

    The core knows what is beyond all floats only as infinite: the value in its place is the one that was typed.
    """
    legal, got, seen = str(error).partition(", got ")
    name = legal.partition(" ")[0]
    if name in _UNSET and "None" not in legal:
        legal += f" ({_UNSET[name]})"
    if seen in ("inf", "-inf"):
        value = typed.get(name)
        seen = seen if isinstance(value, float) and math.isinf(value) else shown(value)
    return ParameterError(legal + got + seen)


def as_asked(message: str) -> str:
    """A message about a parameter without what ``None`` does, which for the key of a request is something else."""
    legal, got, seen = message.partition(", got ")
    return re.sub(r" \(None .*\)$", "", legal) + got + seen


_NUMBERS = (
    *("temperature", "dynatemp_exponent", "smoothing_curve", "xtc_threshold", "mirostat_tau", "mirostat_eta"),
    *("adaptive_decay", "dry_base"),
)
_OPTIONAL_NUMBERS = (
    *("dynatemp_range", "smoothing_factor", "top_n_sigma", "min_k", "typical_p", "top_p", "min_p", "p_less", "epsilon"),
    *("eta", "top_a", "tfs", "top_h", "xtc_probability", "adaptive_target", "dry_multiplier"),
    *(f"{penalty}_penalty" for penalty in PENALTIES),
)
_WINDOWS = ("dry_window", *(f"{penalty}_window" for penalty in PENALTIES))
_OPTIONAL_COUNTS = ("top_k", "no_repeat_ngram", *_WINDOWS)
_UNSET = {
    **dict.fromkeys((*_OPTIONAL_NUMBERS, *_OPTIONAL_COUNTS, "mirostat"), "None switches it off"),
    **dict.fromkeys(_WINDOWS, "None for no limit"),
}

SETTLE: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(_NUMBERS, number),
    **dict.fromkeys(_OPTIONAL_NUMBERS, optional(number)),
    **dict.fromkeys(_OPTIONAL_COUNTS, optional(count)),
    **dict.fromkeys(("min_keep", "dry_allowed_length"), count),
    "min_tokens": count_or_zero,
    **dict.fromkeys(("suppress", "xtc_protect", *(f"{penalty}_exclude" for penalty in PENALTIES)), ids),
    **dict.fromkeys(("bad_words", "dry_breakers"), runs),
    **dict.fromkeys((f"{penalty}_scope" for penalty in PENALTIES), scope),
    "mirostat": optional(version),
    "allowed_ids": optional(ids),
    "logit_bias": optional(bias),
    "processors": callables,
    "order": optional(names),
    "readings": names,
    "seed": optional(seed),
}
"""How each parameter becomes a plain value; the first argument is the name for errors."""
