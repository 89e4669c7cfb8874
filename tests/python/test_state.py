"""A sampler as bytes: it goes on as if it had never stopped, and bytes that are no state are refused.

Damage by the hundred thousand is in tests/rust/state.rs. Here: what travels, the format of src/state.rs written once
more in Python, and what is refused with which words.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortition import ParameterError, Sampler, SamplingParams
from sortition.reference import profiles
from strategies import finite_logits, histories, history_params, masks, scripts, seeds, stage_params
from test_history import SMALL, outcome, play

ROW = np.linspace(-1, 1, 16).astype(np.float32)


@st.composite
def samplers(draw: st.DrawFn) -> tuple[Sampler, np.ndarray, np.ndarray | None]:
    """A sampler with any of all stages in any order, in the middle of its sequence; a row and a mask."""
    row = draw(finite_logits(SMALL))
    params = draw(stage_params(len(row))) | {"seed": draw(seeds)}
    if draw(st.booleans()):
        params |= draw(history_params(len(row))) | {"order": draw(st.permutations(profiles.SOFT))}
    params["min_tokens"] = draw(st.integers(0, 30))
    params["readings"] = draw(st.sets(st.sampled_from(["top_k_ties", "typical_exceeds", "xtc_or_nothing"])))
    sampler = Sampler(
        SamplingParams(**params),
        prompt=draw(histories(len(row))) + draw(st.lists(st.integers(0, 2**32 - 1), max_size=3)),
        vocab_size=draw(st.sampled_from([None, len(row)])),
        stop_tokens=draw(st.lists(st.integers(0, len(row) - 1), max_size=2)),
        stream=draw(st.integers(0, 2**32 - 1)),
    )
    for _ in range(draw(st.integers(0, 5))):
        outcome(lambda: sampler.sample(row))
    return play(sampler, draw(scripts(len(row)))), row, draw(st.none() | masks(row))


@given(drawn=samplers(), steps=st.integers(1, 5), data=st.data())
def test_a_sampler_read_from_bytes_goes_on_like_the_one_that_was_written(
    drawn: tuple[Sampler, np.ndarray, np.ndarray | None], steps: int, data: st.DataObject
) -> None:
    """The same tokens or errors, then and after a rollback into what was said before; and the same bytes."""
    sampler, row, mask = drawn
    written = sampler.to_bytes()
    twin = Sampler.from_bytes(written)
    assert (twin.params, twin.seed, twin.stream) == (sampler.params, sampler.seed, sampler.stream)
    assert (twin.position, twin.plan()) == (sampler.position, sampler.plan())
    assert (twin.prompt.tolist(), twin.output.tolist()) == (sampler.prompt.tolist(), sampler.output.tolist())
    assert twin.to_bytes() == written
    back = data.draw(st.integers(0, sampler.position))
    for _ in range(2):
        for _ in range(steps):
            assert outcome(lambda: sampler.sample(row, mask)) == outcome(lambda: twin.sample(row, mask))
        assert twin.to_bytes() == sampler.to_bytes()
        for one in (sampler, twin):
            one.rollback(back)
        back = 0
    for one in (sampler, twin):
        one.reset()
    assert outcome(lambda: sampler.sample(row)) == outcome(lambda: twin.sample(row))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_goes_by_the_same_bytes(protocol: int) -> None:
    sampler = Sampler(SamplingParams(mirostat=2, seed=3), prompt=[1, 2], stream=4)
    sampler.sample(ROW)
    twin = pickle.loads(pickle.dumps(sampler, protocol))  # noqa: S301 - our own bytes
    assert twin.to_bytes() == sampler.to_bytes()


def test_a_seed_from_the_system_travels_as_the_number_that_it_was() -> None:
    sampler = Sampler()
    twin = Sampler.from_bytes(sampler.to_bytes())
    assert twin.seed == twin.params.seed == sampler.seed
    assert [twin.sample(ROW) for _ in range(5)] == [sampler.sample(ROW) for _ in range(5)]


def test_a_processor_does_not_travel_and_is_named() -> None:
    """Neither as bytes nor by pickle."""

    def halved(_: Any, scores: Any) -> Any:
        return scores / 2

    sampler = Sampler(SamplingParams(processors=[halved, np.negative]))
    for write in (sampler.to_bytes, lambda: pickle.dumps(sampler)):
        with pytest.raises(ParameterError, match=r"processors must be empty .* got .*halved, negative"):
            write()


@pytest.mark.parametrize("as_given", [bytes, bytearray, memoryview, lambda b: memoryview(b + b)[: len(b)]])
def test_any_buffer_of_bytes_is_read(as_given: Any) -> None:
    state = Sampler(SamplingParams(seed=1)).to_bytes()
    assert Sampler.from_bytes(as_given(state)).to_bytes() == state


@pytest.mark.parametrize("state", ["sortition", 3, None, [115, 111], Sampler()], ids=lambda state: type(state).__name__)
def test_what_is_no_buffer_is_refused(state: Any) -> None:
    with pytest.raises(ParameterError, match="state must be bytes"):
        Sampler.from_bytes(state)


def some(value: bytes | None) -> bytes:
    return b"\0" if value is None else b"\1" + value


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def f64(value: float) -> bytes:
    return struct.pack("<d", value)


def several(items: list[bytes]) -> bytes:
    return u64(len(items)) + b"".join(items)


def name(text: str) -> bytes:
    return u64(len(text)) + text.encode()


def reach(scope: str) -> bytes:
    return name(scope) + some(None) + several([])


FIELDS: dict[str, bytes] = {
    "temperature": f64(1), "dynatemp_range": some(None), "dynatemp_exponent": f64(1),
    "smoothing_factor": some(None), "smoothing_curve": f64(1),
    **dict.fromkeys(
        ("top_n_sigma", "min_k", "top_k", "typical_p", "top_p", "min_p", "p_less", "epsilon", "eta", "top_a", "tfs",
         "top_h", "xtc_probability"),
        some(None),
    ),
    "xtc_threshold": f64(0.1), "xtc_protect": several([]),
    "mirostat": some(None), "mirostat_tau": f64(5), "mirostat_eta": f64(0.1),
    "adaptive_target": some(None), "adaptive_decay": f64(0.9),
    "repetition_penalty": some(None), "repetition": reach("all"),
    "frequency_penalty": some(None), "frequency": reach("output"),
    "presence_penalty": some(None), "presence": reach("output"),
    "no_repeat_ngram": some(None), "dry_multiplier": some(None),
    "dry": f64(1.75) + u64(2) + some(None) + several([]),
    "processors": several([]), "logit_bias": several([]), "suppress": several([]), "allowed_ids": some(None),
    "bad_words": several([]), "min_tokens": u64(0), "min_keep": u64(1), "order": some(None), "readings": several([]),
    "seed": u64(7),
    "prompt": several([]), "output": several([]), "stop_tokens": several([]), "vocab_size": some(None),
    "stream": u32(0), "memories": several([]),
}  # fmt: skip
"""The body of a new sampler of seed 7, field by field."""


def state(*, version: int = 2, more: bytes = b"", **changes: bytes) -> bytes:
    """The bytes of that sampler with some fields changed, sealed as documented."""
    assert set(changes) <= set(FIELDS)
    body = b"".join((FIELDS | changes).values()) + more
    sealed = b"sortition" + u32(version) + u64(len(body)) + body
    return sealed + hashlib.sha256(sealed).digest()


LAYOUTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[int], dict[str, bytes]]] = {
    "new": ({}, {}, [], {}),
    "numbers": (
        {
            "temperature": 0.25, "smoothing_factor": 0.5, "smoothing_curve": -2, "top_k": 2**40, "top_p": 0.9,
            "min_tokens": 3, "seed": 2**64 - 1,
        },
        {"stream": 2**32 - 1, "vocab_size": 9, "prompt": [8, 0], "stop_tokens": [5]},
        [1, 7],
        {
            "temperature": f64(0.25), "smoothing_factor": some(f64(0.5)), "smoothing_curve": f64(-2),
            "top_k": some(u64(2**40)), "top_p": some(f64(0.9)), "min_tokens": u64(3), "seed": u64(2**64 - 1),
            "stream": u32(2**32 - 1), "vocab_size": some(u64(9)),
            "prompt": several([u32(8), u32(0)]), "output": several([u32(1), u32(7)]), "stop_tokens": several([u32(5)]),
        },
    ),
    "lists and names": (
        {
            "logit_bias": {3: -np.inf, 1: 0.5}, "bad_words": [[1, 2], [3]], "allowed_ids": [], "suppress": [4],
            "presence_scope": "all", "presence_window": 3, "presence_exclude": [6],
            "dry_multiplier": 1, "dry_breakers": [[1]], "readings": ["xtc_or_nothing", "top_k_ties"],
            "order": profiles.SOFT, "seed": 7,
        },
        {}, [],
        {
            "logit_bias": several([u32(3) + f64(-np.inf), u32(1) + f64(0.5)]),
            "bad_words": several([several([u32(1), u32(2)]), several([u32(3)])]),
            "allowed_ids": some(several([])), "suppress": several([u32(4)]),
            "presence": name("all") + some(u64(3)) + several([u32(6)]),
            "dry_multiplier": some(f64(1)), "dry": f64(1.75) + u64(2) + some(None) + several([several([u32(1)])]),
            "readings": several([name("top_k_ties"), name("xtc_or_nothing")]),
            "order": some(several([name(stage) for stage in profiles.SOFT])),
        },
    ),
    "a token that a policy knows nothing of": (
        {"mirostat": 2, "mirostat_tau": 3.0, "seed": 7}, {}, [4],
        {
            "mirostat": some(u32(2)), "mirostat_tau": f64(3), "output": several([u32(4)]),
            "memories": several([f64(6) + f64(0)]),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYOUTS)
def test_the_bytes_are_laid_out_as_documented(case: str) -> None:
    """So that another program, and a later version, can read them."""
    params, arguments, output, changes = LAYOUTS[case]
    sampler = Sampler(SamplingParams(**{"seed": 7} | params), **arguments)
    for token in output:
        sampler.accept(token)
    assert sampler.to_bytes() == state(**changes)
    assert Sampler.from_bytes(state(**changes)).params == sampler.params


ONE = several([u32(1)])

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "state must be as to_bytes made it, got bytes that begin otherwise"),
    "the word alone": (b"sortition", "state must be as to_bytes made it, got bytes that begin otherwise"),
    "another file": (pickle.dumps([1] * 99), "state must be as to_bytes made it, got bytes that begin otherwise"),
    "an earlier version": (state(version=1), "state must be of version 2, .* got version 1"),
    "a later version": (state(version=3), "state must be of version 2, .* got version 3"),
    "an end too soon": (state()[:-1], r"got \d+ bytes where it announces \d+"),
    "a byte behind": (state() + b"\0", r"got \d+ bytes where it announces \d+"),
    "another byte": (state()[:50] + b"\7" + state()[51:], "the checksum is another"),
    "a byte in the body": (state(more=b"\0"), "got 1 bytes too many"),
    "an endless list": (state(memories=u64(2**63)), "got an end in the middle of a value"),
    "a length of lengths": (state(bad_words=u64(2**64 - 1)), "got an end in the middle of a value"),
    "neither there nor not": (state(top_k=b"\2"), "got a 2 for whether a value is there"),
    "a stage of another build": (
        state(order=some(several([name(stage) for stage in (*profiles.SOFT[1:], "top_z")]))),
        'got the stage "top_z", which is unknown',
    ),
    "a name that is no text": (state(repetition=u64(2) + b"\xff\xfe" + some(None) + several([])), "got the scope"),
    "a reading of another build": (state(readings=several([name("typos")])), 'got the reading "typos"'),
    "a reading twice": (state(readings=several([name("floor_ties")] * 2)), "got a reading twice"),
    "a processor": (state(processors=several([b""])), "got processors, which are code"),
    "two biases": (state(logit_bias=several([u32(1) + f64(1)] * 2)), "got two biases for a token"),
    "top_p 7": (state(top_p=some(f64(7))), r"top_p must be in \(0, 1\], got 7"),
    "temperature NaN": (state(temperature=f64(np.nan)), "temperature must be finite"),
    "an empty bad word": (state(bad_words=several([several([])])), "bad_words must be sequences of at least one token"),
    "half an order": (state(order=some(several([]))), "order must be every soft stage once"),
    "a rule in the order": (state(order=some(several([name("mask")]))), "order must be every soft stage once"),
    "a cut beside a policy": (state(mirostat=some(u32(1)), top_k=some(u64(5))), "top_k must be None beside mirostat"),
    "no vocabulary": (state(vocab_size=some(u64(0))), "vocab_size must be at least 1"),
    "an id beyond it": (state(vocab_size=some(u64(4)), suppress=several([u32(4)])), "suppress names token 4"),
    "a stop token beyond it": (state(vocab_size=some(u64(1)), stop_tokens=ONE), "stop_tokens names token 1"),
    "a memory without a policy": (state(memories=several([f64(1) + f64(1)])), "got 1 memories where there must be 0"),
    "a policy without a memory": (
        state(mirostat=some(u32(1)), output=ONE), "got 0 memories where there must be 1",
    ),
    **{
        f"mirostat remembers {first}, {second}": (
            state(mirostat=some(u32(1)), output=ONE, memories=several([f64(first) + f64(second)])),
            "got a memory of ",
        )
        for first, second in [(np.nan, 0), (np.inf, 0), (-np.inf, 0), (1, 1), (1, np.nan)]
    },
    **{
        f"adaptive-p remembers {first}, {second}": (
            state(adaptive_target=some(f64(0.5)), output=ONE, memories=several([f64(first) + f64(second)])),
            "got a memory of ",
        )
        for first, second in [(np.nan, 9), (1, np.nan), (-0.1, 9), (10, 9), (0.1, 0.5), (1, np.inf)]
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_sampler_can_be_is_refused(case: str) -> None:
    """Also where the checksum is right: with the words that the constructor has for it."""
    damaged, message = REFUSED[case]
    with pytest.raises(ParameterError, match=message):
        Sampler.from_bytes(damaged)


@pytest.mark.parametrize("params", [{"mirostat": 1}, {"mirostat": 2}], ids=str)
def test_a_policy_that_leaps_stays_finite(params: dict[str, Any]) -> None:
    """So that it can be written: eta times a surprise may be more than a float holds."""
    sampler = Sampler(SamplingParams(**params, mirostat_eta=1e308, mirostat_tau=1e-3, seed=1))
    for _ in range(20):
        sampler.sample(ROW)
        assert Sampler.from_bytes(sampler.to_bytes()).sample(ROW) in range(len(ROW))
