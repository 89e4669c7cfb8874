"""N-grams, bad words and DRY follow a history that grows, shrinks and forks as if they read it anew each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import PackageSide, ReferenceSampler, ReferenceSide
from sortition import NoCandidateError, ParameterError, Sampler, SamplingParams
from sortition.reference import profiles
from strategies import finite_logits, histories, history_params, masks, scripts, seeds, stage_params

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = st.sampled_from([1, 2, 3, 5, 17, 65])
"""Vocabularies in which a short history repeats itself."""


@st.composite
def requests(draw: st.DrawFn, *, alone: bool) -> dict[str, Any]:
    """A row, the stages that look at the history, alone or among all others in any order, and what happens."""
    row = draw(finite_logits(SMALL))
    params = draw(history_params(len(row)))
    if not alone:
        params |= draw(stage_params(len(row))) | {"seed": draw(seeds), "order": draw(st.permutations(profiles.SOFT))}
    return {
        "row": row,
        "params": params,
        "prompt": draw(histories(len(row))) + draw(st.lists(st.integers(0, 3), max_size=30)),
        "script": draw(scripts(len(row))),
        "mask": draw(st.none() | masks(row)),
    }


def outcome(call: Callable[[], Any]) -> Any:
    """What came back, or the stage that left no candidate."""
    try:
        return call()
    except ValueError as error:
        name = {"EmptyRowError": "NoCandidateError"}.get(type(error).__name__, type(error).__name__)
        return name, error.stage  # type: ignore[attr-defined]


def play(sampler: Any, script: list[int]) -> Any:
    """The sampler after the script."""
    for action in script:
        if action >= 0:
            sampler.accept(action)
        else:
            sampler.rollback(min(-action, sampler.position))
    return sampler


@given(request=requests(alone=True))
def test_scores_are_those_of_the_reference_after_whatever_came_and_went(request: dict[str, Any]) -> None:
    """To the bit, in the middle of the script, at its end, and after a reset."""
    state = {"prompt": request["prompt"]}
    ours = Sampler(SamplingParams(**request["params"]), **state)
    theirs = ReferenceSampler(request["params"], **state)
    row, script = request["row"], request["script"]
    for part in (script[: len(script) // 2], script[len(script) // 2 :]):
        play(ours, part)
        play(theirs, part)
        got, want = outcome(lambda: ours.process(row)), outcome(lambda: theirs.process(row))
        np.testing.assert_array_equal(got, want)
    ours.reset()
    np.testing.assert_array_equal(
        outcome(lambda: ours.process(row)), outcome(lambda: ReferenceSampler(request["params"], **state).process(row))
    )


@given(request=requests(alone=False))
def test_among_all_stages_in_any_order_the_very_tokens_are_those_of_the_reference(request: dict[str, Any]) -> None:
    """Also those of the forks, which go on from the same history each on its own."""
    row, mask, script = request["row"], request["mask"], request["script"]
    ours = play(Sampler(SamplingParams(**request["params"]), prompt=request["prompt"]), script)
    theirs = play(ReferenceSampler(request["params"], prompt=request["prompt"]), script)
    for one, other in zip(ours.fork(2), theirs.fork(2), strict=True):
        for _ in range(3):
            got, want = outcome(lambda s=one: s.sample(row, mask)), outcome(lambda s=other: s.sample(row, mask))
            assert got == want
    assert outcome(lambda: ours.sample(row, mask)) == outcome(lambda: theirs.sample(row, mask))


TEXT = "天行健，君子以自强不息。地势坤，君子以厚德载物。😀"


def test_a_pair_of_characters_is_not_said_twice() -> None:
    """The text holds 君子 and 子以, so after a second 君 there is no 子."""
    ids = {character: index for index, character in enumerate(dict.fromkeys(TEXT))}
    row = np.zeros(len(ids), np.float32)
    sampler = Sampler(SamplingParams(no_repeat_ngram=2), prompt=[ids[c] for c in "天行健，君子以自强不息。君"])
    assert np.flatnonzero(np.isneginf(sampler.process(row))).tolist() == [ids["子"]]


def test_an_emoji_of_several_tokens_can_be_forbidden() -> None:
    """Its bytes are tokens; the last is impossible after the others, and possible otherwise."""
    bad = list("😀".encode())
    row = np.zeros(256, np.float32)
    params = SamplingParams(bad_words=[bad])
    assert np.isneginf(Sampler(params, prompt=bad[:-1]).process(row)[bad[-1]])
    assert np.isfinite(Sampler(params, prompt=bad[1:-1]).process(row)[bad[-1]])


@pytest.mark.parametrize("side", [ReferenceSide(), PackageSide()], ids=lambda side: side.name)
def test_dry_goes_by_the_longest_of_several_repeats(side: Any) -> None:
    """After 1 2: 3 came after 0 1 2, and 4 after 1 2 alone. The lengths are 3 and 2."""
    sampler = side.sampler({"dry_multiplier": 1.0, "dry_base": 2.0}, prompt=[0, 1, 2, 3, 5, 1, 2, 4, 0, 1, 2])
    assert sampler.process(np.zeros(6, np.float32)).tolist() == [0, 0, 0, -2, -1, 0]


@pytest.mark.parametrize("side", [ReferenceSide(), PackageSide()], ids=lambda side: side.name)
def test_dry_holds_the_exponent_where_the_power_leaves_float32(side: Any) -> None:
    """At base 2 the exponent goes to 128 and no further, and what overflows is the largest float32."""
    penalty = {}
    for length in (127, 128, 129, 130, 500):
        sampler = side.sampler(
            {"dry_multiplier": 2.0**-100, "dry_base": 2.0, "dry_allowed_length": 1}, prompt=[1] * (length + 1)
        )
        penalty[length] = -float(sampler.process(np.zeros(2, np.float32))[1])
    assert penalty == {127: 2.0**26, 128: 2.0**27, 129: 2.0**28, 130: 2.0**28, 500: 2.0**28}
    sampler = side.sampler({"dry_multiplier": 1.0, "dry_base": 2.0}, prompt=[1] * 500)
    assert sampler.process(np.zeros(2, np.float32))[1] == np.finfo(np.float32).min


def test_what_a_bad_word_removed_no_later_stage_brings_back() -> None:
    """It is a hard rule: it runs first, whatever the order, and a bias of 100 changes nothing."""
    order = ["temperature", "logit_bias", *(n for n in profiles.SOFT if n not in ("temperature", "logit_bias"))]
    params = SamplingParams(bad_words=[[2]], logit_bias={2: 100.0}, order=order, temperature=0.5)
    assert [stage.name for stage in Sampler(params).plan()] == ["bad_words", "temperature", "logit_bias"]
    assert np.isneginf(Sampler(params).process(np.zeros(3, np.float32))[2])


def test_the_stage_that_left_nothing_is_named() -> None:
    """Of several that removed something, the one that took the last."""
    row = np.zeros(2, np.float32)
    with pytest.raises(NoCandidateError, match="bad_words removed the last") as bad:
        Sampler(SamplingParams(bad_words=[[0], [1]])).sample(row)
    with pytest.raises(NoCandidateError, match="no_repeat_ngram removed the last") as repeated:
        Sampler(SamplingParams(bad_words=[[0]], no_repeat_ngram=1), prompt=[1]).sample(row)
    assert (bad.value.stage, repeated.value.stage) == ("bad_words", "no_repeat_ngram")


REFUSED = {
    "no_repeat_ngram must be at least 1 (None switches it off), got 0": {"no_repeat_ngram": 0},
    "no_repeat_ngram must be an integer (None switches it off), got 2.5": {"no_repeat_ngram": 2.5},
    "dry_multiplier must be finite (None switches it off), got inf": {"dry_multiplier": float("inf")},
    "dry_base must be finite and at least 1, got 0.5": {"dry_base": 0.5},
    "dry_allowed_length must be at least 1, got 0": {"dry_allowed_length": 0},
    "dry_window must be at least 1 (None for no limit), got 0": {"dry_window": 0},
    "bad_words must be sequences of at least one token, got an empty one": {"bad_words": [[1], []]},
    "dry_breakers must be sequences of at least one token, got an empty one": {"dry_breakers": [[]]},
    "bad_words must be a collection of sequences of token ids, got [1, 2]": {"bad_words": [1, 2]},
    "dry_breakers must be a collection of sequences of token ids, got ['\\n']": {"dry_breakers": ["\n"]},
    "bad_words must be a collection of sequences of token ids in [0, 2^32), got -1 in [-1]": {"bad_words": [[-1]]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_value_outside_its_range_is_refused_by_name(message: str) -> None:
    """With the range and the value."""
    with pytest.raises(ParameterError) as error:
        SamplingParams(**REFUSED[message])
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["bad_words", "dry_breakers"])
def test_an_id_that_the_vocabulary_lacks_is_named(name: str) -> None:
    """At construction when the vocabulary is known, else at the first row, and the sampler is as it was."""
    params = SamplingParams(**{name: [[0, 7]]})
    with pytest.raises(ParameterError, match=rf"{name} names token 7, but the vocabulary has 5"):
        Sampler(params, vocab_size=5)
    sampler = Sampler(params)
    with pytest.raises(ParameterError, match=rf"{name} names token 7, but the vocabulary has 5"):
        sampler.sample(np.zeros(5, np.float32))
    assert sampler.position == 0


def test_ids_beyond_the_vocabulary_in_a_prompt_are_passed_over() -> None:
    """They may stand between tokens that repeat, and nothing is taken from what does not exist."""
    params = SamplingParams(no_repeat_ngram=1, dry_multiplier=1.0, dry_allowed_length=1)
    scores = Sampler(params, prompt=[9, 1, 9, 1, 9]).process(np.zeros(3, np.float32))
    assert np.isneginf(scores).tolist() == [False, True, False]
