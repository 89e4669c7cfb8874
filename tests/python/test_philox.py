"""The generator is Philox4x32-10 as it was published, and a coin is where the contract puts it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sortition import Sampler, SamplingParams, reference
from sortition.reference.philox import DRAW, XTC, coin, philox4x32

# From the known-answer vectors of Random123: counter, key, result.
VECTORS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]

PINNED = [13, 14, 11, 15, 13, 11, 15, 13, 13, 10, 12, 11, 9, 10, 11, 14]
"""From the reference, at the time of the first contract."""


def hexadecimal(text: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "result"), VECTORS)
def test_the_published_vectors(counter: str, key: str, result: str) -> None:
    """All zeros, all ones, and the digits of pi."""
    assert philox4x32(hexadecimal(counter), hexadecimal(key)) == hexadecimal(result)  # type: ignore[arg-type]


def drawn_interval(coin_expected: float, **state: int) -> bool:
    """Whether the package throws this coin: of two tokens, parted just below and just above it, the right ones come.

    The token is the first whose cumulative weight exceeds the coin, so a first token a little below the coin is passed,
    and one a little above it is taken.
    """
    below, above = coin_expected * (1 - 1e-5), coin_expected * (1 + 1e-5)
    tokens = []
    for first in (below, above):
        sampler = Sampler(SamplingParams(seed=state["seed"]), stream=state["stream"])
        for _ in range(state["position"]):
            sampler.accept(0)
        tokens.append(sampler.sample(np.array([math.log(first), math.log1p(-first)], np.float64)))
    return tokens == [1, 0]


@pytest.mark.parametrize(
    ("seed", "stream", "position"),
    [(0, 0, 0), (2**64 - 1, 2**32 - 1, 0), (1 << 32, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (7, 3, 1000)],
)
def test_rust_throws_the_coin_of_seed_stream_and_position(seed: int, stream: int, position: int) -> None:
    """Found out by drawing: the first of the published vectors is the coin of (0, 0, 0)."""
    expected = coin(seed, stream, position)
    assert drawn_interval(expected, seed=seed, stream=stream, position=position)
    if (seed, stream, position) == (0, 0, 0):
        assert expected == (0x6627E8D5E169C58D >> 11) * 2.0**-53


def test_each_part_of_the_address_has_its_place() -> None:
    """Seed low and high are the key; stream, position low and high, and purpose are the counter."""
    seed, stream, position = 0x89ABCDEF01234567, 0x13579BDF, 0xFEDCBA9876543210
    words = philox4x32((stream, 0x76543210, 0xFEDCBA98, XTC), (0x01234567, 0x89ABCDEF))
    assert coin(seed, stream, position, XTC) == ((words[0] << 32 | words[1]) >> 11) * 2.0**-53
    assert coin(seed, stream, position, DRAW) != coin(seed, stream, position, XTC)


def test_pinned_tokens_do_not_change_within_a_contract() -> None:
    """The reproducibility contract: these tokens come out of every release of this major version."""
    row = np.arange(16, dtype=np.float32) / 4
    sampler = Sampler(SamplingParams(seed=2026, temperature=0.9, top_p=0.95))
    tokens = [sampler.sample(row) for _ in range(16)]
    own: list[int] = []
    for _ in range(16):
        own.append(reference.draw(row, {"temperature": 0.9, "top_p": 0.95}, seed=2026, output=own).token)
    assert tokens == own == PINNED
