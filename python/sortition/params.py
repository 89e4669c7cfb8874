"""How the next token is chosen: a frozen value, checked at birth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from sortition import _native
from sortition._checks import Words, integer, number, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SamplingParams", "Scope"]

Scope = Literal["all", "output"]

_PENALTIES = ("repetition", "frequency", "presence")
_MAX_COUNT = 2**63 - 1


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SamplingParams:
    """How the next token is chosen. ``None`` switches a stage off.

    Equal parameters compare equal and hash alike. Types are settled here (an ``int`` temperature becomes a ``float``, a
    list a tuple); ranges are checked by the core, with the same messages.

    >>> SamplingParams(temperature=0.7, top_k=50)
    SamplingParams(temperature=0.7, top_k=50)
    >>> SamplingParams(top_p=1.5)
    Traceback (most recent call last):
        ...
    sortition.errors.ParameterError: top_p must be in (0, 1], got 1.5

    Attributes:
        temperature: scores are divided by it; 0 is greedy. Finite, at least 0.
        top_k: keep the ``k`` best, at least 1; exactly ``k``, of equals the lower ids (Fan et al., 2018).
        top_p: keep the shortest prefix of this mass, in (0, 1]; the token that crosses stays (Holtzman et al., 2020).
        min_p: keep what has at least this share of the best one's probability, in [0, 1] (Nguyen et al., 2024).
        repetition_penalty: divides scores above zero, multiplies those below, above 0 (Keskar et al., 2019).
        repetition_scope: ``"all"`` counts prompt and output, ``"output"`` the output only.
        repetition_window: how many tokens back, at least 1; ``None`` for all.
        repetition_exclude: ids that are not counted.
        frequency_penalty: taken from a score for every time the token was seen (OpenAI API).
        frequency_scope: as for repetition; the default is the output only.
        frequency_window: as for repetition.
        frequency_exclude: as for repetition.
        presence_penalty: taken from a score once if the token was seen (OpenAI API).
        presence_scope: as for repetition; the default is the output only.
        presence_window: as for repetition.
        presence_exclude: as for repetition.
        logit_bias: ``{id: bias}``, added to the score; finite, or ``-inf`` to ban the id.
        suppress: ids that are impossible.
        allowed_ids: the only ids that are possible.
        min_tokens: the sampler's stop tokens are impossible before that many outputs.
        min_keep: every cut keeps at least that many candidates.
        seed: of all coins, in [0, 2^64); ``None`` takes one from the system, which the sampler shows.

    Raises:
        ParameterError: with the name, the legal range and the value.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    repetition_scope: Scope = "all"
    repetition_window: int | None = None
    repetition_exclude: Iterable[int] = ()
    frequency_penalty: float | None = None
    frequency_scope: Scope = "output"
    frequency_window: int | None = None
    frequency_exclude: Iterable[int] = ()
    presence_penalty: float | None = None
    presence_scope: Scope = "output"
    presence_window: int | None = None
    presence_exclude: Iterable[int] = ()
    logit_bias: Mapping[int, float] | None = None
    suppress: Iterable[int] = ()
    allowed_ids: Iterable[int] | None = None
    min_tokens: int = 0
    min_keep: int = 1
    seed: int | None = None
    _native: _native.Params = field(init=False, compare=False)

    def __post_init__(self) -> None:
        settle = self._settle
        settle("temperature", number)
        for name in ("top_p", "min_p", *(f"{penalty}_penalty" for penalty in _PENALTIES)):
            settle(name, _optional(number))
        for name in ("top_k", *(f"{penalty}_window" for penalty in _PENALTIES)):
            settle(name, _optional(_count))
        for name in ("min_tokens", "min_keep"):
            settle(name, _count)
        for name in ("suppress", *(f"{penalty}_exclude" for penalty in _PENALTIES)):
            settle(name, _ids)
        for name in (f"{penalty}_scope" for penalty in _PENALTIES):
            settle(name, _scope)
        settle("allowed_ids", _optional(_ids))
        settle("logit_bias", _optional(_bias))
        settle("seed", _optional(_seed))
        object.__setattr__(self, "_native", _native.Params(**self._for_native()))

    def _settle(self, name: str, rule: Any) -> None:
        object.__setattr__(self, name, rule(name, getattr(self, name)))

    def _for_native(self) -> dict[str, Any]:
        """The arguments of the core's parameters: a penalty's reach is one of them."""
        values = self.to_dict()
        del values["seed"]
        for penalty in _PENALTIES:
            parts = [values.pop(f"{penalty}_{part}") for part in ("scope", "window", "exclude")]
            values[penalty] = tuple(parts)
        values["logit_bias"] = list((self.logit_bias or {}).items())
        return values

    def to_dict(self) -> dict[str, Any]:
        """All parameters by name.

        >>> SamplingParams(top_k=5).to_dict()["top_k"]
        5
        """
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def __repr__(self) -> str:
        changed = (
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if item.init and getattr(self, item.name) != item.default
        )
        return f"SamplingParams({', '.join(changed)})"

    def __hash__(self) -> int:
        values = self.to_dict()
        values["logit_bias"] = None if self.logit_bias is None else frozenset(self.logit_bias.items())
        return hash(tuple(values.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.to_dict(),)


class _Bias(dict[int, float]):
    """A read-only mapping, so that parameters stay the value they are."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        msg = "logit_bias of SamplingParams cannot be changed: make new parameters"
        raise TypeError(msg)

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


def _rebuild(values: dict[str, Any]) -> SamplingParams:
    """Unpickle and copy."""
    return SamplingParams(**values)


def _optional(rule: Any) -> Any:
    return lambda name, value: None if value is None else rule(name, value)


def _count(name: str, value: Any) -> int:
    count = integer(name, value)
    if count < 0:
        refuse(name, "an integer of at least 0" if name == "min_tokens" else "at least 1", value)
    return min(count, _MAX_COUNT)


def _seed(name: str, value: Any) -> int:
    seed = integer(name, value)
    if not 0 <= seed < 2**64:
        refuse(name, "an integer in [0, 2^64)", value)
    return seed


def _ids(name: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes, Mapping)):
        refuse(name, "a collection of token ids", value)
    try:
        listed = list(value)
    except TypeError:
        refuse(name, "a collection of token ids", value)
    ids = tuple(dict.fromkeys(integer(name, item, least=0) for item in listed))
    if ids and max(ids) >= 2**32:
        refuse(name, "token ids below 2^32", max(ids))
    return ids


def _scope(name: str, value: Any) -> str:
    if value not in ("all", "output"):
        refuse(name, '"all" or "output"', value)
    return str(value)


def _bias(name: str, value: Any) -> _Bias:
    if not isinstance(value, Mapping):
        refuse(name, "a mapping {id: bias}", value)
    biases = {integer(name, key): number(name, bias) for key, bias in value.items()}
    for key, bias in biases.items():
        if not 0 <= key < 2**32:
            refuse(name, "a mapping of token ids of at least 0", key)
        if math.isnan(bias) or bias == math.inf:
            refuse(name, "finite or -inf", Words(f"{bias} for token {key}"))
    return _Bias(biases)
