"""A row through all stages: the processed scores, and the draw.

`settle` is the whole of it: hard rules, then the soft stages in their order. A temperature rewrites no score: it rides
along, and is written into the scores when it smooths them, when a later stage edits them, or when someone asks to see
them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.reference import cuts, penalties, philox, rules, steered
from sortition.reference.functions import log_softmax
from sortition.reference.profiles import CUTS, EDITS, HARD, PROFILES, Profile
from sortition.reference.weights import Scores, entropy_of, pick, probabilities, smoothed, weights, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BadScoresError",
    "Choice",
    "Drawn",
    "EmptyRowError",
    "Request",
    "by_lot",
    "draw",
    "heat",
    "incoming",
    "process",
    "settle",
]


Choice = Callable[[Scores, Callable[[int], float]], int]
"""A token, made of the weights after all stages and of the coins of the position, by purpose."""


class BadScoresError(ValueError):
    """NaN or +inf at `token`."""

    def __init__(self, token: int) -> None:
        """Of the first such token."""
        super().__init__(f"score of token {token} is NaN or +inf")
        self.token = token


class EmptyRowError(ValueError):
    """No candidate is left after `stage`; None: none came in."""

    def __init__(self, stage: str | None) -> None:
        """Of the stage that emptied the row."""
        super().__init__(f"no candidate after {stage}")
        self.stage = stage


@dataclass(frozen=True, kw_only=True)
class Request:
    """All that a row may depend on, beside its scores."""

    params: Mapping[str, Any] = field(default_factory=dict)
    prompt: Sequence[int] = ()
    output: Sequence[int] = ()
    mask: ArrayLike | None = None
    vocab_size: int | None = None
    stop_tokens: Sequence[int] = ()
    seed: int = 0
    stream: int = 0
    custom: Callable[[NDArray[np.int64], Scores], ArrayLike | None] | None = None
    mu: float | None = None
    average: steered.Average | None = None

    @property
    def profile(self) -> Profile:
        """The profile in the parameters, or the one named there."""
        given = self.params.get("profile") or "sortition"
        return given if isinstance(given, Profile) else PROFILES[given]

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter as given, or as the profile has it, or the default."""
        value = self.params.get(name)
        return self.profile.defaults.get(name, default) if value is None else value

    def coin(self, purpose: int) -> float:
        """The coin of this position."""
        return philox.coin(self.seed, self.stream, len(self.output), purpose)

    @property
    def context(self) -> list[int]:
        """Prompt and output."""
        return [*self.prompt, *self.output]


@dataclass(frozen=True)
class Drawn:
    """A token and what is said about it; `mu` and `average` are the memory of the steered policies after it."""

    token: int
    logprob: float
    raw_logprob: float
    rank: int
    top: list[tuple[int, float]]
    kept: int
    mu: float | None = None
    average: steered.Average | None = None


def process(logits: ArrayLike, params: Mapping[str, Any], **request: Any) -> Scores:
    """The scores after all stages, divided by the temperature; -inf where cut. At temperature 0 only the best is left.

    >>> process([2.0, 1.0, 0.0], {"temperature": 0.5, "top_k": 2})
    array([  0.,  -2., -inf], dtype=float32)

    A bad word may begin in the prompt, except for vLLM. llama.cpp takes the best of what its cuts (here XTC) leave:

    >>> process([0.0, 0.0], {"bad_words": [[0, 1]]}, prompt=[0])
    array([  0., -inf], dtype=float32)
    >>> process([0.0, 0.0], {"bad_words": [[0, 1]], "profile": "vllm"}, prompt=[0])
    array([0., 0.], dtype=float32)
    >>> xtc = {"temperature": 0, "xtc_probability": 1.0, "xtc_threshold": 0.1}
    >>> process([2.0, 1.0], xtc), process([2.0, 1.0], {**xtc, "profile": "llama.cpp"})
    (array([  2., -inf], dtype=float32), array([-inf,   1.], dtype=float32))
    """
    asked = Request(params=params, **request)
    policy, temperature = preferred(*settle(incoming(logits, asked.vocab_size), asked), asked)
    return written(policy, temperature)


def by_lot(weight: Scores, coin: Callable[[int], float]) -> int:
    """The pick of the position's own coin."""
    return pick(weight, coin(philox.DRAW))


def draw(
    logits: ArrayLike,
    params: Mapping[str, Any],
    *,
    logprobs: int = 0,
    choose: Choice = by_lot,
    **request: Any,
) -> Drawn:
    """The token of this seed, stream and position.

    Only the first of these two scores can be drawn:

    >>> drawn = draw([1.0, -200.0], {}, seed=7)
    >>> drawn.token, drawn.rank, drawn.kept
    (0, 1, 2)
    """
    asked = Request(params=params, **request)
    raw = incoming(logits, asked.vocab_size)
    scores, temperature = settle(raw, asked)
    policy, temperature_of_policy = preferred(scores, temperature, asked)
    token = choose(weights(policy, temperature_of_policy), asked.coin)
    raw_logprobs = log_softmax(raw)
    order = np.argsort(-raw, kind="stable")[:logprobs]
    drawn = Drawn(
        token=token,
        logprob=float(log_softmax(tempered(policy, temperature_of_policy))[token]),
        raw_logprob=float(raw_logprobs[token]),
        rank=1 + int((raw > raw[token]).sum()),
        top=[(int(i), float(raw_logprobs[i])) for i in order],
        kept=int((scores > -np.inf).sum()),
    )
    return remembered(drawn, asked, probabilities(scores, temperature)[token])


def average_of(asked: Request) -> steered.Average | None:
    """The memory of adaptive-p, where it is asked for: as handed over, or as it is before the first token."""
    if (target := asked.get("adaptive_target")) is None:
        return None
    return asked.average or steered.Average.start(target, asked.get("adaptive_decay", 0.9))


def preferred(scores: Scores, temperature: float, asked: Request) -> tuple[Scores, float]:
    """The scores that adaptive-p prefers, where it is asked for, and their temperature."""
    if (average := average_of(asked)) is None or asked.get("temperature", 1.0) == 0:
        return scores, temperature
    aim = steered.adapted(asked.get("adaptive_target"), average)
    return steered.adaptive_p(scores, temperature, aim), 1.0


def remembered(drawn: Drawn, asked: Request, probability: float) -> Drawn:
    """The draw, with what the policies remember after a token of this probability."""
    mu, average = asked.mu, average_of(asked)
    if asked.get("mirostat") is not None:
        tau, eta = asked.get("mirostat_tau", 5.0), asked.get("mirostat_eta", 0.1)
        mu = steered.next_mu(steered.first_mu(tau) if mu is None else mu, probability, tau=tau, eta=eta)
    if average is not None:
        average = steered.next_average(average, probability, asked.get("adaptive_decay", 0.9))
    return replace(drawn, mu=mu, average=average)


def incoming(logits: ArrayLike, vocab_size: int | None) -> Scores:
    """The row as float32; what lies beyond the vocabulary is out, and what it holds is not looked at."""
    scores = np.array(logits).astype(np.float32)
    if vocab_size is not None:
        scores[vocab_size:] = -np.inf
    if len(bad := np.flatnonzero(np.isnan(scores) | (scores == np.inf))):
        raise BadScoresError(int(bad[0]))
    return standing(scores, None)


def standing(scores: Scores, stage: str | None) -> Scores:
    """The scores, if a candidate is left."""
    if not (scores > -np.inf).any():
        raise EmptyRowError(stage)
    return scores


def settle(scores: Scores, asked: Request) -> tuple[Scores, float]:
    """Scores and temperature after all stages."""
    for stage in HARD:
        scores = standing(hard(stage, scores, asked), stage)
    temperature, greedy = 1.0, asked.get("temperature", 1.0) == 0
    for stage in asked.get("order", asked.profile.order):
        if stage == "temperature" and not greedy:
            temperature = heat(scores, asked)
            if temperature == 0:  # the low end of a dynamic one
                scores, temperature = np.where(cuts.top_k(scores, 1.0, 1), scores, np.float32(-np.inf)), 1.0
            elif (factor := asked.get("smoothing_factor")) is not None:
                scores, temperature = smoothed(scores, temperature, factor, asked.get("smoothing_curve", 1.0)), 1.0
        elif stage in EDITS and switched_on(stage, asked):
            scores = standing(edited(stage, written(scores, temperature), asked), stage)
            temperature = 1.0
        elif stage in CUTS and switched_on(stage, asked) and (not greedy or asked.profile.greedy_after_cuts):
            scores = np.where(kept(stage, scores, temperature, asked), scores, np.float32(-np.inf))
    if greedy:
        return np.where(cuts.top_k(scores, 1.0, 1), scores, np.float32(-np.inf)), 1.0
    return steer(scores, temperature, asked), temperature


def switched_on(stage: str, asked: Request) -> bool:
    """Whether the parameter that a stage goes by is given."""
    if stage == "custom":
        return asked.custom is not None
    named = {"dry": "dry_multiplier", "typical": "typical_p", "xtc": "xtc_probability"}
    additive = ("repetition", "frequency", "presence")
    return asked.get(f"{stage}_penalty" if stage in additive else named.get(stage, stage)) is not None


def hard(stage: str, scores: Scores, asked: Request) -> Scores:
    """The row after one hard rule."""
    value: Any = asked.mask if stage == "mask" else asked.get(stage)
    if value is None:
        return scores
    match stage:
        case "mask":
            return rules.mask(scores, value)
        case "allowed_ids":
            return rules.allowed_ids(scores, value)
        case "suppress":
            return rules.suppress(scores, value)
        case "min_tokens":
            return rules.min_tokens(scores, value, len(asked.output), asked.stop_tokens)
        case _:
            seen = asked.context if asked.profile.bad_words_see_prompt else asked.output
            return rules.bad_words(scores, value, seen)


def edited(stage: str, scores: Scores, asked: Request) -> Scores:
    """The row after one stage that changes scores. What was out stays out."""
    match stage:
        case "logit_bias":
            return rules.logit_bias(scores, asked.get("logit_bias"))
        case "custom":
            return scores if asked.custom is None else rules.custom(scores, asked.custom, asked.context)
        case "no_repeat_ngram":
            return rules.no_repeat_ngram(scores, asked.get("no_repeat_ngram"), asked.context)
        case "dry":
            names = ("multiplier", "base", "allowed_length", "window", "breakers")
            given = {name: asked.get(f"dry_{name}") for name in names if asked.get(f"dry_{name}") is not None}
            return penalties.dry(scores, asked.context, **given)
    scope = asked.get(f"{stage}_scope", "all" if stage == "repetition" else "output")
    window, exclude = asked.get(f"{stage}_window"), asked.get(f"{stage}_exclude", ())
    count = penalties.counted(len(scores), asked.prompt, asked.output, scope, window, exclude)
    apply = {"repetition": penalties.repetition, "frequency": penalties.frequency, "presence": penalties.presence}
    return apply[stage](scores, asked.get(f"{stage}_penalty"), count)


def heat(scores: Scores, asked: Request) -> float:
    """The temperature; if there is a range, low + (high - low) * (H / ln n)^exponent.

    Low is temperature - range, but at least 0; high is temperature + range, but at most the largest float64. H is the
    entropy of the n candidates, at most ln n (llama.cpp, pull request 4972). A result of 0 leaves only the best. With a
    single candidate the result is the temperature itself.

    Two equal probabilities have the largest entropy that two can have, so the whole range is added:

    >>> heat(np.zeros(2, np.float32), Request(params={"temperature": 1.0, "dynatemp_range": 0.5}))
    1.5
    """
    temperature = float(asked.get("temperature", 1.0))
    reach, count = asked.get("dynatemp_range"), int((scores > -np.inf).sum())
    if reach is None or count == 1:
        return temperature
    share = min(entropy_of(scores) / math.log(count), 1.0)
    low, high = max(0.0, temperature - reach), min(temperature + reach, sys.float_info.max)
    return float(low + (high - low) * share ** asked.get("dynatemp_exponent", 1.0))


def kept(stage: str, scores: Scores, temperature: float, asked: Request) -> cuts.Keep:
    """Who stays after one cut."""
    switches = asked.profile
    readings: dict[str, dict[str, Any]] = {
        "top_k": {"ties": switches.top_k_ties},
        "typical": {"ties": switches.typical_ties, "exceed": switches.typical_exceeds},
        "epsilon": {"ties": switches.floor_ties},
        "eta": {"ties": switches.floor_ties},
        "top_h": {"whole": switches.top_h_whole},
        "xtc": {"protect": asked.get("xtc_protect", ()), "or_nothing": switches.xtc_or_nothing},
    }
    value = (
        asked.get("xtc_threshold", 0.1) if stage == "xtc" else asked.get("typical_p" if stage == "typical" else stage)
    )
    if stage == "xtc" and asked.coin(philox.XTC) >= asked.get("xtc_probability"):
        return scores > -np.inf
    cut = getattr(cuts, stage)
    result: cuts.Keep = cut(scores, temperature, value, min_keep=asked.get("min_keep", 1), **readings.get(stage, {}))
    return result


def steer(scores: Scores, temperature: float, asked: Request) -> Scores:
    """Mirostat, where it is asked for; it takes the place of the cuts."""
    if (version := asked.get("mirostat")) is None:
        return scores
    mu = steered.first_mu(asked.get("mirostat_tau", 5.0)) if asked.mu is None else asked.mu
    vocab = len(scores) if asked.vocab_size is None else asked.vocab_size
    keep = (
        steered.mirostat_1(scores, temperature, mu, vocab)
        if version == 1
        else steered.mirostat_2(scores, temperature, mu)
    )
    return np.where(keep, scores, np.float32(-np.inf))


def tempered(scores: Scores, temperature: float) -> NDArray[np.float64]:
    """(x - max) / T in float64, for log-probabilities."""
    with np.errstate(over="ignore"):
        return (scores.astype(np.float64) - float(scores.max())) / temperature
