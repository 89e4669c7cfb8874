"""Requests as other stacks write them, as the parameters of this package.

Every key of a request is one of four. It is translated. Or it says nothing about which token is chosen: the loop's
arguments say that here, so it is passed over. Or it is known and has no counterpart: an error, unless its value
switches it off. Or it is unknown: an error. A key that is absent has the default of its stack.

Types are checked here, so that an error names the key that was typed; ranges by the core, whose errors are put into the
words of the request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from sortition import _rules
from sortition._checks import Words, integer, number, refuse, shown
from sortition._stacks import LLAMA_CPP, OPENAI, SAMPLER_LETTERS, SAMPLERS, TRANSFORMERS, VLLM, Stack
from sortition.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sortition.profiles import Profile

__all__ = ["Request", "read"]


@dataclass
class Request:
    """What a request says, in the words of this package.

    Attributes:
        stack: the stack that it is written for.
        given: the request.
        values: the parameters of this package.
        keys: for a parameter, the key that it came from.
    """

    stack: Stack
    given: Mapping[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def named(self, key: str) -> str:
        """A key, as errors call it."""
        return f"{self.stack.name} request: {key}"

    def refuse(self, key: str, legal: str) -> NoReturn:
        """Raise the error for a value that is not legal."""
        refuse(self.named(key), legal, self.given[key])

    def said_of(self, error: ParameterError, changes: Mapping[str, Any]) -> ParameterError:
        """An error that names a parameter of this package, with the key in its place if that said it."""
        message = _rules.as_asked(str(error))
        parameter = message.partition(" ")[0]
        if parameter not in self.keys or parameter in changes:
            return error
        return ParameterError(self.named(self.keys[parameter]) + message[len(parameter) :])


def read(profile: Profile, given: Any, changes: Mapping[str, Any]) -> Request:
    """A request of the stack that the profile is of; parameters of this package come on top of it."""
    if profile.name == "llama.cpp":
        return llama_cpp(given, profile.order, changes)
    return {"transformers": transformers, "openai": openai, "vllm": vllm}[profile.name](given)


def _read(stack: Stack, given: Any, special: Mapping[str, Callable[[Request, str, Any], Any]]) -> Request:
    """A request key by key; `special` reads values that are written in another way than here."""
    if not isinstance(given, Mapping):
        msg = f"{stack.name} request must be a mapping, got {shown(given)}"
        raise ParameterError(msg)
    request = Request(stack, given)
    for key, asked in given.items():
        known = isinstance(key, str)
        target, off = stack.translated.get(key, (None, stack.refused.get(key, ()))) if known else (None, ())
        if known and key in stack.passed:
            continue
        value = _plain(asked)
        if any(_equal(value, none) for none in off):
            continue
        if target is None:
            what = "has no counterpart here" if known and key in stack.refused else "is unknown"
            msg = f"{request.named(key if known else shown(key))} {what}, got {shown(asked)}"
            raise ParameterError(msg)
        rule = special.get(key)
        request.keys[target] = key
        request.values[target] = rule(request, key, value) if rule else _rules.SETTLE[target](request.named(key), value)
    return request


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, tensors of torch: as Python's own. A class of them is a value like another."""
    return value.tolist() if hasattr(value, "tolist") and not isinstance(value, type) else value


def _equal(value: Any, off: Any) -> bool:
    """Whether a value is this one: True is not 1, and 1 is 1.0."""
    if isinstance(value, bool) or isinstance(off, bool) or value is None or off is None:
        return value is off
    return isinstance(value, type(off) if isinstance(off, (str, list, dict)) else (int, float)) and value == off


def transformers(config: Any) -> Request:
    """Of a ``GenerationConfig``, its dictionary, or the path of a ``generation_config.json``."""
    if isinstance(config, (str, os.PathLike)):
        config = _file(config)
    elif hasattr(config, "to_dict") and not isinstance(config, type):
        config = config.to_dict()
    request = _read(TRANSFORMERS, config, {"sequence_bias": _sequence_bias})
    sampling = _plain(config.get("do_sample"))
    if sampling is not None and not isinstance(sampling, bool):
        request.refuse("do_sample", "true, false or null")
    values = request.values
    if not sampling:
        values["temperature"] = 0.0
    if config.get("top_k") is None:
        values["top_k"] = 50  # what the library takes where its configuration is silent
    if "bad_words" in values:
        ends = _plain(config.get("eos_token_id"))
        ends = ends if isinstance(ends, (list, tuple)) else [ends]
        # The library passes over a bad word that is an end by itself.
        values["bad_words"] = [word for word in values["bad_words"] if list(word) not in [[end] for end in ends]]
    return request


def openai(given: Any) -> Request:
    """Of the body of a request for a completion or a chat completion."""
    return _read(OPENAI, given, {"logit_bias": _bias_by_text})


def vllm(given: Any) -> Request:
    """Of vLLM's ``SamplingParams`` as a dictionary, or of the body of a request to its server."""
    request = _read(VLLM, given, {"logit_bias": _bias_by_text})
    values = request.values
    # What it makes of a request before it samples: a temperature of at least 0.01, a bias of at most 100 either way.
    if 0 < values.get("temperature", 0) < _VLLM_COLDEST:
        values["temperature"] = _VLLM_COLDEST
    if "logit_bias" in values:
        values["logit_bias"] = {token: min(100.0, max(-100.0, by)) for token, by in values["logit_bias"].items()}
    return request


def llama_cpp(given: Any, order: Sequence[str], changes: Mapping[str, Any]) -> Request:
    """Of the body of a request to llama.cpp's server; `order` is that of its profile, `changes` come on top."""
    special = {"logit_bias": _bias_by_pairs, "top_k": _whole, "repeat_last_n": _window, "dry_penalty_last_n": _window}
    request = _read(LLAMA_CPP, given, special)
    silent = {key: value for key, value in _LLAMA_CPP_DEFAULTS.items() if given.get(key) is None}
    off = {key for key, limit in _LLAMA_CPP_OFF_BELOW.items() if request.values.get(key, limit) < limit}
    values = {**silent, **{name: value for name, value in request.values.items() if name not in off}}
    values["temperature"] = max(values["temperature"], 0.0)
    if "adaptive_decay" in values:
        values["adaptive_decay"] = min(_LLAMA_CPP_SLOWEST, max(0.0, values["adaptive_decay"]))
    window = values.pop("repetition_window", 64)
    for penalty in ("repetition", "frequency", "presence"):
        if window == 0:
            values.pop(f"{penalty}_penalty", None)
        values[f"{penalty}_window"] = window or None
        request.keys.setdefault(f"{penalty}_window", "repeat_last_n")
    samplers = _samplers(request)
    if "adaptive_target" in values and (samplers is None or "adaptive_p" not in samplers):
        request.refuse(
            "adaptive_target", "negative unless samplers lists adaptive_p: without it, it does nothing there"
        )
    if samplers is not None:
        values = _listed(values, samplers, order)
    if "mirostat" in values:  # the server leaves out all samplers but a plain temperature then
        left_out = {name for _, names in SAMPLERS.values() for name in names} - {"temperature"}
        values = {name: value for name, value in values.items() if name not in left_out}
    request.values = _with_dry(request, values, changes)
    return request


def _with_dry(request: Request, values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """DRY, if it is on; its breakers are texts there, so that their ids must come with the changes."""
    settings = ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_window")
    if "dry_multiplier" not in values or values.get("dry_window", 64) == 0:
        return {name: value for name, value in values.items() if name not in settings}
    if "dry_breakers" not in changes:
        legal = '0, or come with dry_breakers=[ids, …]: its breakers are texts there, by default a line break : " *'
        request.refuse("dry_multiplier", legal)
    if values.get("dry_base", 1) < 1:
        del values["dry_base"]  # then the server takes its default
    return values


def _samplers(request: Request) -> list[str] | None:
    """The names of the samplers that are listed; all if none is."""
    listed = _plain(request.given.get("samplers"))
    if listed is None:
        return None
    legal = f"a list of {', '.join(SAMPLERS)}, each at most once, or one text of their letters"
    if isinstance(listed, str):
        listed = [SAMPLER_LETTERS.get(letter, letter) for letter in listed]
    if not isinstance(listed, (list, tuple)) or not all(isinstance(sampler, str) for sampler in listed):
        request.refuse("samplers", legal)
    names = [_SAMPLER_NAMES.get(re.sub("[_-]", "", sampler.lower()), sampler) for sampler in listed]
    if len(set(names)) < len(names) or set(names) - set(SAMPLERS):
        request.refuse("samplers", legal)
    return names


def _listed(values: dict[str, Any], samplers: Sequence[str], order: Sequence[str]) -> dict[str, Any]:
    """Only the samplers that are listed, in the order of the list."""
    for sampler, (_, names) in SAMPLERS.items():
        if sampler not in samplers:
            values = {name: value for name, value in values.items() if name not in names}
    named = [stage for sampler in samplers for stage in SAMPLERS[sampler][0]]
    # Those of the list take, in its order, the places that they have together.
    places = iter(named)
    return values | {"order": tuple(next(places) if stage in named else stage for stage in order)}


def _whole(request: Request, key: str, value: Any) -> int:
    """An integer, which may be negative."""
    return integer(request.named(key), value)


def _window(request: Request, key: str, value: Any) -> int | None:
    """A number of tokens; -1, which older servers knew, is the whole context."""
    count = integer(request.named(key), value, least=-1)
    return None if count == -1 else count


def _bias_by_text(request: Request, key: str, value: Any) -> dict[int, float]:
    """``{"id": bias, …}``: JSON has strings for keys."""
    if not isinstance(value, Mapping):
        request.refuse(key, "a mapping of token ids to numbers")
    return _biases(request, key, value.items())


def _bias_by_pairs(request: Request, key: str, value: Any) -> dict[int, float]:
    """``[[id, bias], …]`` or ``{"id": bias, …}``; ``false`` bans the id."""
    legal = "pairs of a token id and a number or false"
    pairs = _pairs(request, key, legal)
    if not isinstance(value, Mapping) and any(isinstance(token, str) for token, _ in pairs):
        request.refuse(key, f"{legal}: text takes a tokenizer")
    return _biases(request, key, ((token, float("-inf") if by is False else by) for token, by in pairs))


def _sequence_bias(request: Request, key: str, _: Any) -> dict[int, float]:
    """``[[[id], bias], …]`` or ``{(id,): bias, …}``; a sequence of several ids has no counterpart here."""
    legal = "pairs of a sequence of one token id and a number"
    pairs = _pairs(request, key, legal)
    if not all(isinstance(ids, (list, tuple)) and len(ids) == 1 for ids, _ in pairs):
        request.refuse(key, legal)
    return _biases(request, key, ((ids[0], by) for ids, by in pairs))


def _pairs(request: Request, key: str, legal: str) -> list[tuple[Any, Any]]:
    value = _plain(request.given[key])
    listed = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(listed, (list, tuple)):
        request.refuse(key, legal)
    pairs = [tuple(pair) if isinstance(pair, (list, tuple)) else () for pair in listed]
    if {len(pair) for pair in pairs} - {2}:
        request.refuse(key, legal)
    return pairs


def _biases(request: Request, key: str, pairs: Iterable[tuple[Any, Any]]) -> dict[int, float]:
    """Ids, which may be text, and numbers; of an id that comes more than once, the numbers add up."""
    name = request.named(key)
    found: dict[int, float] = {}
    for token, by in pairs:
        whole = int(token) if isinstance(token, str) and re.fullmatch("[0-9]{1,10}", token) else token
        if isinstance(whole, str):
            refuse(name, "a mapping of token ids to numbers", token)
        whole = integer(f"{name}: an id", whole, least=0, below=2**32)
        added = number(f"{name} of token {whole}", by)
        if not added < float("inf"):
            refuse(f"{name} of token {whole}", "finite or -inf", Words(str(added)))
        found[whole] = found.get(whole, 0.0) + added
    return found


def _file(name: str | os.PathLike[str]) -> Any:
    import json
    from pathlib import Path

    path = Path(name)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            msg = f"it has the key {twice!r} more than once"
            raise ValueError(msg)
        return found

    def constant(name: str) -> NoReturn:
        msg = f"{name} is no number of JSON"
        raise ValueError(msg)

    try:
        # Some editors write a mark in front.
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (OSError, ValueError, RecursionError) as error:
        msg = f"generation config {str(path)!r} cannot be read: {error}"
        raise ParameterError(msg) from None


_VLLM_COLDEST = 0.01
_LLAMA_CPP_SLOWEST = 0.99  # decay of adaptive-p

_LLAMA_CPP_DEFAULTS: Mapping[str, Any] = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}

#: Below these values, a sampler of llama.cpp is off.
_LLAMA_CPP_OFF_BELOW: Mapping[str, float] = {"top_k": 1, "top_n_sigma": 0, "adaptive_target": 0, "dynatemp_range": 0}

#: Its names without their dashes, which may be left out, and the others that it knows.
_SAMPLER_NAMES: Mapping[str, str] = {
    **{name.replace("_", ""): name for name in SAMPLERS},
    "nucleus": "top_p",
    "temp": "temperature",
    "typ": "typ_p",
}
