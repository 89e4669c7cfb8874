"""The loops that the Numba rival is made of.

`larger` is why they are as fast as they are: Numba compiles `max` to a branch that LLVM does not vectorise; a select
with the flags of fast arithmetic it does. That is as near to the memory as a compiled loop comes, and so also the
measure of the memory itself (`passes`).
"""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import intrinsic

FAST = {"nnan", "nsz", "arcp", "contract", "afn", "reassoc"}
compiled = numba.njit(fastmath=FAST, error_model="numpy")
inlined = numba.njit(fastmath=FAST, error_model="numpy", inline="always")

BLOCK = 256

F = np.float32
ZERO, HALF, ONE, LOWEST = F(0), F(0.5), F(1), F(-np.inf)
LOG2_E, BOTTOM = F(1.4426950408889634), F(-126)
C1, C2, C3, C4, C5 = F(0.693147182), F(0.240226463), F(0.0555032931), F(0.00961596612), F(0.00134265597)


@intrinsic
def larger(typing_context, a, b):  # noqa: ARG001 - Numba's signature
    """The larger of two float32."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001 - Numba's signature
        flags = ("nnan", "nsz", "reassoc")
        condition = builder.fcmp_ordered(">", *arguments, flags=flags)
        return builder.select(condition, *arguments, flags=flags)

    return numba.float32(numba.float32, numba.float32), generate


@inlined
def exp(x):
    """Of x <= 0, within 4e-6; nothing smaller than 2^-126."""
    t = larger(x * LOG2_E, BOTTOM)
    n = np.floor(t + HALF)
    f = t - n
    p = ((((C5 * f + C4) * f + C3) * f + C2) * f + C1) * f + ONE
    return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled
def passes(x):
    """One read of every row: its maximum."""
    total = ZERO
    for r in range(x.shape[0]):
        row = x[r]
        best = LOWEST
        for i in range(row.size):
            best = larger(best, row[i])
        total += best
    return total


@compiled
def best_of(x):
    """The largest of a slice. A loop from zero: only of that does the compiler know that no index is negative."""
    best = LOWEST
    for i in range(x.size):
        best = larger(best, x[i])
    return best


@compiled
def block_maxima(x, maxima):
    """The best of every block, and of the row."""
    best = LOWEST
    for b in range(x.size // BLOCK):
        part = x[b * BLOCK : (b + 1) * BLOCK]
        m = LOWEST
        for i in range(BLOCK):
            m = larger(m, part[i])
        maxima[b] = m
        best = larger(best, m)
    if x.size % BLOCK:
        maxima[-1] = best_of(x[x.size - x.size % BLOCK :])
        best = larger(best, maxima[-1])
    return best


@compiled
def gather(x, maxima, bound, scores, ids):
    """What reaches the bound, in order of id: how many."""
    count = 0
    for b in range(maxima.size):
        if maxima[b] >= bound:
            start = b * BLOCK
            part = x[start : start + BLOCK]
            for i in range(part.size):
                if part[i] >= bound:
                    scores[count] = part[i]
                    ids[count] = start + i
                    count += 1
    return count


@compiled
def kth_largest(values, k):
    """By selection."""
    at = values.size - min(k, values.size)
    return np.partition(values, at)[at]


@compiled
def best_first(scores, ids, count, k):
    """The best k to the front by insertion, best first, of equals the lower id: how many."""
    kept = 0
    for i in range(count):
        x, t = scores[i], ids[i]
        if kept == k and x <= scores[k - 1]:
            continue
        j = min(kept, k - 1)
        while j > 0 and scores[j - 1] < x:
            scores[j], ids[j] = scores[j - 1], ids[j - 1]
            j -= 1
        scores[j], ids[j] = x, t
        kept = min(kept + 1, k)
    return kept


@compiled
def weigh(x, best, scale, floor):
    """The sum of the weights of what reaches the floor."""
    total = ZERO
    for i in range(x.size):
        weight = exp((x[i] - best) * scale)
        total += weight if x[i] >= floor else ZERO
    return total


@compiled
def block_sums(x, best, scale, maxima, floor, sums):
    """The same for every block, and for the row; blocks below the floor are not read."""
    total = 0.0
    for b in range(maxima.size):
        s = ZERO
        if maxima[b] >= floor:
            s = weigh(x[b * BLOCK : (b + 1) * BLOCK], best, scale, floor)
        sums[b] = s
        total += s
    return total


@compiled
def pick(x, best, scale, floor, sums, target):
    """The first id whose cumulative weight exceeds the target: by the sums of the blocks, then in one block."""
    for b in range(sums.size):
        if sums[b] > target:
            break
        target -= sums[b]
    last = b * BLOCK
    for i in range(b * BLOCK, min(x.size, (b + 1) * BLOCK)):
        if x[i] >= floor:
            target -= exp((x[i] - best) * scale)
            last = i
            if target < 0:
                break
    return last
