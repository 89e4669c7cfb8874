"""Beam search, and the verification of a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.reference import philox
from sortition.reference.functions import log_softmax
from sortition.reference.pipeline import Choice, Drawn, by_lot, draw, incoming
from sortition.reference.weights import Floats, Scores, pick, probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

__all__ = ["beam_search", "verify"]


def beam_search(
    next_logits: Callable[[Sequence[int]], ArrayLike],
    prompt: Sequence[int],
    *,
    width: int,
    max_tokens: int,
    stop_tokens: Sequence[int] = (),
    alpha: float = 1.0,
) -> list[tuple[float, list[int]]]:
    """Scores and sequences, best first; a sequence ends with its stop token, if it has one.

    The score is the sum of log-probabilities over length^alpha; the stop token counts in both, the prompt in neither.
    A finished sequence stays in the race.

    The second token always ends. ".6 and the end" holds ln .6 over two tokens:

    >>> table = np.log([[0.6, 0.4], [0.25, 0.75]])
    >>> best = beam_search(lambda tokens: table[tokens[-1]], [0], width=2, max_tokens=1, stop_tokens=[1])[0]
    >>> round(best[0], 6), best[1]
    (-0.510826, [0])
    """
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    done: list[tuple[float, list[int]]] = []
    for _ in range(max_tokens):
        grown = [
            (total + float(logprob), [*tokens, token])
            for total, tokens in live
            for token, logprob in enumerate(log_softmax(next_logits([*prompt, *tokens])))
            if logprob > -np.inf
        ]
        grown.sort(key=lambda beam: -beam[0])
        done += [beam for beam in grown[:width] if beam[1][-1] in stop_tokens]
        live = [beam for beam in grown[:width] if beam[1][-1] not in stop_tokens]
    ranked = [(total / len(tokens) ** alpha, tokens) for total, tokens in done + live]
    return sorted(ranked, key=lambda beam: -beam[0])[:width]


def verify(
    rows: Sequence[ArrayLike],
    draft: Sequence[int],
    params: Mapping[str, Any],
    *,
    draft_logits: Sequence[ArrayLike] | None = None,
    masks: Sequence[ArrayLike] | None = None,
    output: Sequence[int] = (),
    vocab_size: int | None = None,
    **request: Any,
) -> list[Drawn]:
    """The draws of as many positions as agree with the draft, and the one after.

    Every position sees the history, the mask and the memory that it would have had step by step, and throws the coins
    of its position. Without `draft_logits` it draws as it would without a draft.

    >>> [drawn.token for drawn in verify([[1.0, 0.0], [0.0, 1.0]], [0], {"temperature": 0})]
    [0, 1]
    >>> [drawn.token for drawn in verify([[1.0, 0.0], [0.0, 1.0]], [1], {"temperature": 0})]
    [0]
    """
    draws: list[Drawn] = []
    for at, row in enumerate(rows):
        drafted = draft[at] if at < len(draft) else None
        choose: Choice = by_lot
        if draft_logits is not None and drafted is not None:
            choose = or_else(drafted, probabilities(incoming(draft_logits[at], vocab_size)[:vocab_size]))
        drawn = draw(
            row,
            params,
            choose=choose,
            mask=None if masks is None else masks[at],
            output=[*output, *(earlier.token for earlier in draws)],
            vocab_size=vocab_size,
            **request,
        )
        request |= {"mu": drawn.mu, "average": drawn.average}
        draws.append(drawn)
        if drawn.token != drafted:
            break
    return draws


def or_else(drafted: int, q: Floats) -> Choice:
    """Speculative sampling: the drafted token with the probability p / q, else one drawn from what p exceeds q by.

    Token 1 was drawn by half, and has a quarter: it stands if the coin of acceptance, times a half, is below a quarter.
    Else token 0 comes, which alone has more than the draft gave it.

    >>> choose = or_else(1, np.array([0.5, 0.5]))
    >>> [choose(np.array([0.75, 0.25]), lambda purpose: coin) for coin in (0.0, 0.49, 0.5, 0.99)]
    [1, 1, 0, 0]
    """

    def choose(weight: Scores, coin: Callable[[int], float]) -> int:
        p = weight.astype(np.float64)[: len(q)] / weight.sum(dtype=np.float64)
        if coin(philox.ACCEPT) * q[drafted] < p[drafted]:
            return drafted
        excess = np.maximum(p - q, 0.0)
        return pick(excess if excess.any() else p, coin(philox.RESIDUAL))

    return choose
