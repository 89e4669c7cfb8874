"""Loops written by hand and compiled by Numba: what an expert writes for the one chain of his one model.

Every trick that a loop allows: one pass of block maxima, whose k-th bounds the k-th score; blocks below a threshold are
not read again; an exponential that the compiler vectorises; sums by block, and the draw redoes one block; the nucleus
from its head, or by eight pivots a pass. It does less than a sampler does: it trusts that no score is NaN, sums a block
in float32, and changes the caller's scores for the time of a call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from rivals.numba_loops import (
    BLOCK,
    LOWEST,
    ONE,
    ZERO,
    F,
    best_first,
    block_maxima,
    block_sums,
    compiled,
    exp,
    gather,
    kth_largest,
    pick,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Task

VERSION = f"numba {numba.__version__}"
OWN_COIN = False

HEADS = (32, 512)  # so many blocks reach the bound of the first tries at a nucleus
FEW = 1024  # so many scores are sorted
PIVOTS = 8
SAMPLE = 1024
PANEL = 4096  # so many weights are summed in float32


@compiled
def argmax_rows(x, out, maxima):
    for r in range(x.shape[0]):
        row = x[r]
        best = block_maxima(row, maxima)
        for b in range(maxima.size):
            if maxima[b] == best:
                break
        for i in range(b * BLOCK, row.size):
            if row[i] == best:
                break
        out[r] = i


@compiled
def weights_of(x, best, out):
    total = ZERO
    for i in range(x.size):
        weight = exp(x[i] - best)
        out[i] = weight
        total += weight
    return total


@compiled
def softmax_rows(x, out, maxima):
    for r in range(x.shape[0]):
        row, to = x[r], out[r]
        best = block_maxima(row, maxima)
        total = 0.0
        for start in range(0, row.size, PANEL):
            total += weights_of(row[start : start + PANEL], best, to[start : start + PANEL])
        factor = F(1 / total)
        for i in range(row.size):
            to[i] *= factor


@compiled
def top_k_rows(x, k, values, out, maxima, scores, ids):
    for r in range(x.shape[0]):
        row = x[r]
        block_maxima(row, maxima)
        count = gather(row, maxima, kth_largest(maxima, k), scores, ids)
        best_first(scores, ids, count, k)
        for i in range(k):
            values[r, i] = scores[i]
            out[r, i] = ids[i]


@compiled
def temperature_rows(x, temperature, coins, out, maxima, sums):
    scale = F(1 / temperature)
    for r in range(x.shape[0]):
        row = x[r]
        best = block_maxima(row, maxima)
        total = block_sums(row, best, scale, maxima, LOWEST, sums)
        out[r] = pick(row, best, scale, LOWEST, sums, coins[r] * total)


@compiled
def min_p_rows(x, log_share, coins, out, maxima, sums):
    for r in range(x.shape[0]):
        row = x[r]
        best = block_maxima(row, maxima)
        floor = F(best + log_share)
        total = block_sums(row, best, ONE, maxima, floor, sums)
        out[r] = pick(row, best, ONE, floor, sums, coins[r] * total)


@compiled
def cut_and_draw(scores, ids, kept, scale, p, log_share, coin):
    """Of a sorted list: the nucleus, min-p, and the draw in order of id."""
    weights = np.empty(kept, np.float32)
    total = 0.0
    for i in range(kept):
        weights[i] = exp((scores[i] - scores[0]) * scale)
        total += weights[i]
    mass, left = 0.0, 0
    while left < kept and mass < p * total:
        mass += weights[left]
        left += 1
    while left > 1 and (scores[left - 1] - scores[0]) * scale < log_share:
        left -= 1
        mass -= weights[left]
    order = np.argsort(ids[:left])
    target = coin * mass
    for j in range(left):
        target -= weights[order[j]]
        if target < 0:
            break
    return ids[order[j]]


@compiled
def top_k_top_p_rows(x, k, p, temperature, coins, out, maxima, scores, ids):
    scale = F(1 / temperature)
    for r in range(x.shape[0]):
        row = x[r]
        block_maxima(row, maxima)
        count = gather(row, maxima, kth_largest(maxima, k), scores, ids)
        kept = best_first(scores, ids, count, k)
        out[r] = cut_and_draw(scores, ids, kept, scale, p, -np.inf, coins[r])


@compiled
def chain_rows(x, seen, penalty, k, p, log_share, temperature, coins, out, maxima, scores, ids, old):
    scale, times, over = F(1 / temperature), F(penalty), F(1 / penalty)
    for r in range(x.shape[0]):
        row = x[r]
        for i in range(seen.size):
            v = row[seen[i]]
            old[i] = v
            row[seen[i]] = v * times if v < ZERO else v * over
        block_maxima(row, maxima)
        count = gather(row, maxima, kth_largest(maxima, k), scores, ids)
        kept = best_first(scores, ids, count, k)
        out[r] = cut_and_draw(scores, ids, kept, scale, p, log_share, coins[r])
        for i in range(seen.size):
            row[seen[i]] = old[i]


@compiled
def pivot_sums(x, best, pivots, sums):
    p0, p1, p2, p3, p4, p5, p6, p7 = (
        pivots[0],
        pivots[1],
        pivots[2],
        pivots[3],
        pivots[4],
        pivots[5],
        pivots[6],
        pivots[7],
    )
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = ZERO
    for i in range(x.size):
        v = x[i]
        w = exp(v - best)
        s0 += w if v >= p0 else ZERO
        s1 += w if v >= p1 else ZERO
        s2 += w if v >= p2 else ZERO
        s3 += w if v >= p3 else ZERO
        s4 += w if v >= p4 else ZERO
        s5 += w if v >= p5 else ZERO
        s6 += w if v >= p6 else ZERO
        s7 += w if v >= p7 else ZERO
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    sums[5] += s5
    sums[6] += s6
    sums[7] += s7


@compiled
def count_between(x, low, high):
    inside = np.int32(0)
    for i in range(x.size):
        inside += np.int32(x[i] >= low) - np.int32(x[i] >= high)
    return inside


@compiled
def gather_between(x, low, high, scores):
    """Without a branch, as none could be foreseen: every score is stored, and what is outside is stored over."""
    count = 0
    for i in range(x.size):
        scores[count] = x[i]
        count += np.int64(x[i] >= low) & np.int64(x[i] < high)
    return count


@compiled
def sampled_range(row, best, part):
    """Two scores between which the share `part` of the mass is very likely reached, by a sample of about a thousand."""
    sample = np.sort(row[:: max(1, row.size // SAMPLE)])[::-1].copy()
    weights = np.empty(sample.size, np.float32)
    total = weights_of(sample, best, weights)
    squares = ZERO
    for i in range(sample.size):
        squares += weights[i] * weights[i]
    error = 3.5 * math.sqrt(part * (1 - part) * squares)
    mass, high, low = 0.0, sample[0], sample[-1]
    for i in range(sample.size):
        mass += weights[i]
        if mass <= part * total - error:
            high = sample[i]
        if mass >= part * total + error:
            low = sample[i]
            break
    return low, high


@compiled
def pivoted(row, best, needed, total, low, high, above):
    """Two scores, the last of the nucleus and few others between them, and the mass from the upper one."""
    pivots, sums = np.empty(PIVOTS, np.float32), np.empty(PIVOTS, np.float64)
    bottom, top = sampled_range(row, best, needed / total)
    for _ in range(12):
        for j in range(PIVOTS):
            pivots[j] = top - (top - bottom) * F(j) / F(PIVOTS - 1)
        sums[:] = 0
        for start in range(0, row.size, PANEL):
            pivot_sums(row[start : start + PANEL], best, pivots, sums)
        for j in range(PIVOTS):
            if sums[j] >= needed:
                low = max(low, pivots[j])
                break
            high, above = pivots[j], sums[j]
        if count_between(row, low, high) <= FEW:
            break
        bottom, top = low + (high - low) / F(PIVOTS + 1), high - (high - low) / F(PIVOTS + 1)
    return low, high, above


@compiled
def nucleus_floor(row, best, needed, total, maxima, scores, ids):
    """The score of the last token of the nucleus: from the head if it is heavy enough, else by pivots."""
    low, high, above, count = LOWEST, best, 0.0, 0
    for head in HEADS:
        if head >= maxima.size:
            break
        bound = kth_largest(maxima, head)
        count = gather(row, maxima, bound, scores, ids)
        mass = 0.0
        for i in range(count):
            mass += exp(scores[i] - best)
        if mass >= needed:
            low = bound
            break
        high, above = bound, mass
        if mass < needed / 50:
            break
    if low == LOWEST:
        low, high, above = pivoted(row, best, needed, total, F(best - 20), high, above)
        count = gather_between(row, low, high, scores)
    else:
        above = 0.0
    ordered = np.sort(scores[:count])
    for i in range(count - 1, -1, -1):
        above += exp(ordered[i] - best)
        if above >= needed:
            return ordered[i]
    return low


@compiled
def top_p_rows(x, p, coins, out, maxima, sums, scores, ids):
    for r in range(x.shape[0]):
        row = x[r]
        best = block_maxima(row, maxima)
        total = block_sums(row, best, ONE, maxima, LOWEST, sums)
        floor = nucleus_floor(row, best, p * total, total, maxima, scores, ids)
        total = block_sums(row, best, ONE, maxima, floor, sums)
        out[r] = pick(row, best, ONE, floor, sums, coins[r] * total)


def prepare(task: Task) -> Callable[[], Any]:
    """A call that does the work, and returns the answer. All buffers are made here."""
    x, coins, params = task.x, task.coins, task.params
    maxima, sums = (np.empty(-(-task.vocab // BLOCK), dtype) for dtype in (np.float32, np.float64))
    scores, ids = np.empty(task.vocab + 1, np.float32), np.empty(task.vocab, np.int64)
    out = np.empty(task.rows, np.int64)
    temperature, p = params.get("temperature", 1.0), params.get("top_p", 1.0)
    share = math.log(params.get("min_p", 1.0))

    def returning(answer: Any, loop: Callable[..., None], *arguments: Any) -> Callable[[], Any]:
        def call() -> Any:
            loop(*arguments)
            return answer

        return call

    match task.operation.name:
        case "argmax":
            return returning(out, argmax_rows, x, out, maxima)
        case "softmax":
            probabilities = np.empty_like(x)
            return returning(probabilities, softmax_rows, x, probabilities, maxima)
        case "top_k=50":
            best = np.empty((task.rows, 50), np.float32), np.empty((task.rows, 50), np.int64)
            return returning(best, top_k_rows, x, 50, *best, maxima, scores, ids)
        case "temperature=0.8":
            return returning(out, temperature_rows, x, temperature, coins, out, maxima, sums)
        case "min_p=0.05":
            return returning(out, min_p_rows, x, share, coins, out, maxima, sums)
        case "top_p=0.95":
            return returning(out, top_p_rows, x, p, coins, out, maxima, sums, scores, ids)
        case "chain":
            x = x.copy()  # changed for the time of a call
            old = np.empty(task.seen.size, np.float32)
            cuts = (params["repetition_penalty"], params["top_k"], p, share, temperature)
            return returning(out, chain_rows, x, task.seen, *cuts, coins, out, maxima, scores, ids, old)
        case _:
            k = params["top_k"]
            return returning(out, top_k_top_p_rows, x, k, p, temperature, coins, out, maxima, scores, ids)
