"""How the next token is chosen: a frozen value, checked at birth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from sortition import _native, _rules
from sortition._checks import Words, refuse
from sortition.errors import ParameterError
from sortition.profiles import Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Processor", "SamplingParams", "Scope"]

Scope = Literal["all", "output"]

# Not as `numpy.typing` writes them, which takes longer to import than most of this package.
_Ids = np.ndarray[Any, np.dtype[np.int64]]
_Scores = np.ndarray[Any, np.dtype[np.float32]]

Processor = Callable[[_Ids, _Scores], Any]
"""A function of the history and the scores, see ``SamplingParams``."""

_NOT_PLAIN = {"plain": False}
"""Of fields that no command line has."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SamplingParams:
    """How the next token is chosen. ``None`` switches a stage off.

    Equal parameters compare equal and have equal hashes. Types are normalised (an ``int`` temperature becomes a
    ``float``, a list becomes a tuple), and every value is checked when the object is made.

    >>> SamplingParams(temperature=0.7, top_k=50)
    SamplingParams(temperature=0.7, top_k=50)
    >>> SamplingParams(top_k=0)
    Traceback (most recent call last):
        ...
    sortition.errors.ParameterError: top_k must be at least 1 (None switches it off), got 0

    Attributes:
        temperature: divides the scores; 0 is greedy. Finite, at least 0.
        dynatemp_range: the temperature follows the entropy, from this much below ``temperature`` to this much above it
            (llama.cpp). Above 0.
        dynatemp_exponent: the power to which dynamic temperature raises the entropy, as a share of the largest
            possible. At least 0.
        smoothing_factor: quadratic smoothing, after the temperature: a score comes to this times the square of its
            distance from the best below it, so close ones gain and far ones lose. Above 0 (kalomaze,
            text-generation-webui).
        smoothing_curve: the share of the cube of that distance: at 1 there is none, at 3 nothing else, and outside of
            that the order of the scores changes. Finite.
        top_n_sigma: keep scores within this many standard deviations of the best, above 0 (Tang et al., 2024).
        min_k: keep the candidates before the steepest drop of the sorted scores, and at least this number divided by
            the range of the scores, at least 0 (arXiv 2604.11012).
        top_k: keep this many of the best, at least 1; among equal scores, the lower ids (Fan et al., 2018).
        typical_p: keep the candidates whose surprise is closest to the entropy, up to this total probability, in
            (0, 1] (Meister et al., 2022).
        top_p: keep the fewest of the best whose total probability reaches this, in (0, 1] (Holtzman et al., 2020).
        min_p: keep probabilities of at least this share of the best one, in [0, 1] (Nguyen et al., 2024).
        p_less: keep probabilities of at least ``(sum P^q)^(1/(q-1))``, where q is this order, above 1. At order 2 that
            is the probability that two draws give the same token (Tan et al., 2025).
        epsilon: keep probabilities of at least this, in (0, 1) (Hewitt et al., 2022).
        eta: keep probabilities of at least this, or of less where the entropy is high, in (0, 1) (Hewitt et al., 2022).
        top_a: keep probabilities of at least this times the square of the best one, above 0 (KoboldAI).
        tfs: tail-free sampling: keep candidates up to this share of the bends in the curve of sorted probabilities, in
            (0, 1] (Phénix and Egan, 2019).
        top_h: keep the longest prefix of the best whose entropy is at most this share of the whole, above 0 (arXiv
            2509.02510).
        xtc_probability: how often XTC excludes all likely candidates except the least likely of them, in [0, 1]
            (text-generation-webui).
        xtc_threshold: the probability from which XTC calls a candidate likely, in (0, 1]; above 1/2 it does nothing.
        xtc_protect: ids that XTC never excludes.
        mirostat: version 1 or 2 of mirostat, which replaces the cuts and steers the surprise (Basu et al., 2021).
        mirostat_tau: the average surprise that mirostat aims at, in bits, above 0.
        mirostat_eta: how fast mirostat adapts, above 0.
        adaptive_target: prefer tokens whose probability is near this, so that the average of those drawn comes to it,
            in [0, 1]. It needs a cut before it, such as ``min_p=0.05``, to keep out the many unlikely tokens
            (llama.cpp).
        adaptive_decay: how slowly adaptive-p forgets the tokens drawn, in [0, 1).
        repetition_penalty: divides the positive scores of tokens already seen and multiplies the negative ones, above 0
            (Keskar et al., 2019).
        repetition_scope: ``"all"`` counts prompt and output, ``"output"`` only the output.
        repetition_window: counts only this many of the latest tokens, at least 1; ``None`` counts all.
        repetition_exclude: ids that are not counted.
        frequency_penalty: subtracted from the score of a token once for every time it was seen (OpenAI API).
        frequency_scope: as for repetition; the default is the output only.
        frequency_window: as for repetition.
        frequency_exclude: as for repetition.
        presence_penalty: subtracted once from the score of a token that was seen (OpenAI API).
        presence_scope: as for repetition; the default is the output only.
        presence_window: as for repetition.
        presence_exclude: as for repetition.
        no_repeat_ngram: no sequence of this many tokens may occur twice in prompt and output, at least 1 (Paulus et
            al., 2017).
        dry_multiplier: the DRY penalty of a token that would repeat a sequence of the context. It is multiplied by a
            power that grows with the length of the sequence; finite (text-generation-webui).
        dry_base: the base of that power, at least 1; the exponent is limited so that the power fits in float32.
        dry_allowed_length: the shortest repeated sequence that DRY penalises, at least 1.
        dry_window: DRY looks at only this many of the latest tokens, at least 1; ``None`` looks at all.
        dry_breakers: sequences of ids that end a repeat; an id that is a breaker by itself is never penalised.
        processors: callables ``(history, scores) -> None | array``, which run one after the other where ``custom``
            stands in the order. ``history`` is the prompt and the output, ``int64`` of shape ``(n,)``. ``scores`` is
            the row at this point, ``float32`` of shape ``(vocab,)``, with -inf where a token is impossible. Both are
            new arrays, which the callable may change and keep. It returns scores of the same shape, finite or -inf, of
            NumPy or any library with DLPack, or ``None`` to use ``scores`` as it left them. A token that was impossible
            stays impossible. An exception reaches the caller, and nothing is drawn. In a batch, a processor may be
            called from several threads at once. Parameters with processors can be neither pickled nor turned into a
            dictionary, as processors are code.
        bad_words: sequences of ids that must not occur: the last id is banned when prompt and output end with the rest.
        logit_bias: ``{id: bias}``, added to the score; finite, or ``-inf`` to ban the id.
        suppress: ids that are impossible.
        allowed_ids: the only ids that are possible.
        min_tokens: the sampler's stop tokens are impossible until this many tokens are in the output.
        min_keep: every cut keeps at least this many candidates.
        order: the names of all soft stages, each once, in the order in which they run; ``None`` for the default,
            ``Profile.named("sortition").order``.
        readings: the variant definitions of other stacks that are in force, by name, see ``Profile``.
        seed: of all random numbers, in [0, 2^64); ``None`` takes one from the system, which the sampler shows.

    Raises:
        ParameterError: a value is outside its range; the message gives the name, the legal range and the value.
        TypeError: a name that no parameter has; the message gives the one that may be meant.
    """

    temperature: float = 1.0
    dynatemp_range: float | None = None
    dynatemp_exponent: float = 1.0
    smoothing_factor: float | None = None
    smoothing_curve: float = 1.0
    top_n_sigma: float | None = None
    min_k: float | None = None
    top_k: int | None = None
    typical_p: float | None = None
    top_p: float | None = None
    min_p: float | None = None
    p_less: float | None = None
    epsilon: float | None = None
    eta: float | None = None
    top_a: float | None = None
    tfs: float | None = None
    top_h: float | None = None
    xtc_probability: float | None = None
    xtc_threshold: float = 0.1
    xtc_protect: Iterable[int] = ()
    mirostat: int | None = None
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float | None = None
    adaptive_decay: float = 0.9
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
    no_repeat_ngram: int | None = None
    dry_multiplier: float | None = None
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_window: int | None = None
    dry_breakers: Iterable[Iterable[int]] = ()
    processors: Iterable[Processor] = field(default=(), metadata=_NOT_PLAIN)
    bad_words: Iterable[Iterable[int]] = ()
    logit_bias: Mapping[int, float] | None = None
    suppress: Iterable[int] = ()
    allowed_ids: Iterable[int] | None = None
    min_tokens: int = 0
    min_keep: int = 1
    order: Iterable[str] | None = None
    readings: Iterable[str] = ()
    seed: int | None = None
    _native: _native.Params = field(init=False, compare=False)

    def __post_init__(self) -> None:
        typed = {name: getattr(self, name) for name in _rules.SETTLE}
        try:
            for name, rule in _rules.SETTLE.items():
                object.__setattr__(self, name, rule(name, typed[name]))
            object.__setattr__(self, "_native", _native.Params(self._for_native()))
        except ParameterError as error:
            raise _rules.as_typed(error, typed) from None
        object.__setattr__(self, "readings", tuple(self._native.readings))

    def _for_native(self) -> dict[str, Any]:
        """The core's parameters: a penalty's reach is one of them."""
        values = self._values()
        for penalty in _rules.PENALTIES:
            parts = [values.pop(f"{penalty}_{part}") for part in ("scope", "window", "exclude")]
            values[penalty] = tuple(parts)
        values["dry"] = tuple(values.pop(f"dry_{part}") for part in ("base", "allowed_length", "window", "breakers"))
        values["logit_bias"] = list((self.logit_bias or {}).items())
        return values

    @classmethod
    def _from_native(cls, values: dict[str, Any], seed: int) -> SamplingParams:
        """The parameters that :meth:`_for_native` took apart."""
        for penalty in _rules.PENALTIES:
            parts = zip(("scope", "window", "exclude"), values.pop(penalty), strict=True)
            values.update({f"{penalty}_{part}": value for part, value in parts})
        parts = zip(("base", "allowed_length", "window", "breakers"), values.pop("dry"), strict=True)
        values.update({f"dry_{part}": value for part, value in parts})
        biases = values["logit_bias"]
        values["logit_bias"] = dict(biases) or None
        if len(biases) != len(dict(biases)):
            refuse("state", "as to_bytes made it", Words("two biases for a token"))
        return cls(**values, seed=seed)

    def _values(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    @classmethod
    def profile(cls, name: str, **params: Any) -> SamplingParams:
        """Parameters that are read as a named stack reads them. The profile turns no stage on.

        >>> params = SamplingParams.profile("llama.cpp", repetition_penalty=1.1)
        >>> params.repetition_window, params.readings
        (64, ('typical_exceeds', 'greedy_after_cuts', 'xtc_or_nothing'))

        Args:
            name: see ``Profile``.
            **params: parameters by name; they prevail over the profile's.

        Raises:
            ParameterError, TypeError: no such profile; and as the class.
        """
        profile = Profile.named(name)
        own = {"order": profile.order, "readings": profile.readings, **profile.penalties}
        return cls(**{**own, **params})

    @classmethod
    def from_transformers(cls, config: Any, **changes: Any) -> SamplingParams:
        """Parameters of a ``GenerationConfig`` of transformers, of its dictionary, or of a ``generation_config.json``.

        >>> params = SamplingParams.from_transformers({"do_sample": True, "temperature": 0.7, "top_p": 0.9})
        >>> params.temperature, params.top_k, params.top_p  # the library's own default is top_k 50
        (0.7, 50, 0.9)

        Args:
            config: the configuration, a mapping, or a path.
            **changes: parameters by name; they prevail.

        Raises:
            ParameterError: a key that is unknown, or that has no counterpart and is not off; it is named. Keys that say
                nothing about which token is chosen (lengths, stop tokens, outputs) are passed over.
        """
        return cls._asked("transformers", config, changes)

    @classmethod
    def from_openai(cls, request: Mapping[str, Any], **changes: Any) -> SamplingParams:
        """Parameters of the body of an OpenAI request.

        >>> SamplingParams.from_openai({"model": "m", "temperature": 0, "logit_bias": {"5": -100}}).logit_bias
        {5: -100.0}
        >>> SamplingParams.from_openai({"temprature": 0})
        Traceback (most recent call last):
            ...
        sortition.errors.ParameterError: OpenAI request: temprature is unknown, got 0

        Args:
            request: the body as a mapping.
            **changes: parameters by name; they prevail.

        Raises:
            ParameterError: as :meth:`from_transformers`.
        """
        return cls._asked("openai", request, changes)

    @classmethod
    def from_vllm(cls, request: Mapping[str, Any], **changes: Any) -> SamplingParams:
        """Parameters of vLLM's ``SamplingParams`` as a mapping, or of the body of a request to its server.

        >>> SamplingParams.from_vllm({"top_k": -1, "min_p": 0.1, "max_tokens": 9}).min_p
        0.1

        Args:
            request: the mapping.
            **changes: parameters by name; they prevail.

        Raises:
            ParameterError: as :meth:`from_transformers`.
        """
        return cls._asked("vllm", request, changes)

    @classmethod
    def from_llama_cpp(cls, request: Mapping[str, Any], **changes: Any) -> SamplingParams:
        """Parameters of the body of a request to llama.cpp's server. What it leaves out has the server's default.

        >>> params = SamplingParams.from_llama_cpp({"prompt": "今天", "top_k": 0, "repeat_penalty": 1.1})
        >>> params.temperature, params.top_k, params.min_p, params.repetition_window
        (0.8, None, 0.05, 64)

        Args:
            request: the body as a mapping.
            **changes: parameters by name; they prevail.

        Raises:
            ParameterError: as :meth:`from_transformers`.
        """
        return cls._asked("llama.cpp", request, changes)

    @classmethod
    def _asked(cls, stack: str, given: Any, changes: Mapping[str, Any]) -> SamplingParams:
        """The parameters of a request, whose errors name its keys."""
        from sortition import _requests  # the tables of all keys, which most programs never read

        profile = Profile.named(stack)
        request = _requests.read(profile, given, changes)
        try:
            return cls.profile(stack, **{**request.values, **changes})
        except ParameterError as error:
            raise request.said_of(error, changes) from None

    @classmethod
    def _know(cls, names: Iterable[str]) -> None:
        """Raise the error for a name that no parameter has."""
        if not _NAMES.issuperset(names):
            from sortition import _unknown  # the tables of all stacks, which most programs never read

            raise _unknown.error(next(name for name in names if name not in _NAMES), _NAMES)

    def to_dict(self) -> dict[str, Any]:
        """All parameters by name, but for ``processors``, which are no plain values.

        >>> SamplingParams(top_k=5).to_dict()["top_k"]
        5

        Raises:
            ParameterError: there are processors.
        """
        values = self._values()
        if values.pop("processors"):
            msg = "processors must be empty to make a dictionary of parameters, or to pickle them: they are code"
            raise ParameterError(msg)
        values["logit_bias"] = None if self.logit_bias is None else dict(self.logit_bias)
        return values

    def __repr__(self) -> str:
        changed = (
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if item.init and getattr(self, item.name) != item.default
        )
        return f"SamplingParams({', '.join(changed)})"

    def __hash__(self) -> int:
        values = self._values()
        values["logit_bias"] = None if self.logit_bias is None else frozenset(self.logit_bias.items())
        return hash(tuple(values.items()))

    def __copy__(self) -> SamplingParams:
        return self

    def __deepcopy__(self, _: Any) -> SamplingParams:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.to_dict(),)


def _refuse_change(_: SamplingParams, name: str, *__: Any) -> NoReturn:
    msg = f"SamplingParams cannot be changed, but {name} was to be: dataclasses.replace(params, …) makes new ones"
    raise FrozenInstanceError(msg)


def _knowing(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that says of a name that no parameter has which may be meant."""

    @wraps(init)
    def __init__(self: SamplingParams, *args: Any, **params: Any) -> None:  # noqa: N807 - it is one
        SamplingParams._know(params)  # noqa: SLF001 - the same class
        init(self, *args, **params)

    return __init__


_NAMES = {item.name for item in fields(SamplingParams) if item.init}
SamplingParams.__init__ = _knowing(SamplingParams.__init__)  # type: ignore[method-assign]
SamplingParams.__setattr__ = SamplingParams.__delattr__ = _refuse_change  # type: ignore[assignment,method-assign]


def _rebuild(values: dict[str, Any]) -> SamplingParams:
    """Unpickle and copy."""
    return SamplingParams(**values)
