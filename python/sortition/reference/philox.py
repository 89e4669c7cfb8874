"""Philox4x32-10 (Salmon et al., SC11), and the coin that a position throws.

The generator is a function of a key and a counter and keeps no state, so a coin depends on nothing but the seed, the
stream, the position, and what it is thrown for.
"""

from __future__ import annotations

__all__ = ["ACCEPT", "DRAW", "RESIDUAL", "XTC", "coin", "philox4x32"]

DRAW, XTC, ACCEPT, RESIDUAL = range(4)
"""What a coin is thrown for: the pick of a token, whether XTC acts, whether a drafted token stands, and the pick of the
token in the place of one that does not."""

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # the key grows by these: the golden ratio, and the square root of 3 less 1
WORD = 0xFFFFFFFF


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four words of 32 bits from a counter of four and a key of two, in ten rounds.

    The first of the vectors that Random123 publishes:

    >>> [f"{word:08x}" for word in philox4x32((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & WORD, (p0 >> 32) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def coin(seed: int, stream: int = 0, position: int = 0, purpose: int = DRAW) -> float:
    """A number in [0, 1) on the grid of 2^-53.

    The words 6627e8d5 and e169c58d side by side, over 2^64:

    >>> coin(0) == (0x6627E8D5E169C58D >> 11) / 2**53
    True
    """
    counter = (stream, position & WORD, position >> 32, purpose)
    w0, w1, _, _ = philox4x32(counter, (seed & WORD, seed >> 32))
    return float((w0 << 32 | w1) >> 11) * 2.0**-53
