"""Beam search, and the verification of a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.reference.functions import log_softmax
from sortition.reference.pipeline import draw

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
    output: Sequence[int] = (),
    **request: Any,
) -> list[int]:
    """The tokens of as many positions as agree with the draft, and the one after.

    Every position sees the history that it would have had step by step, and throws the coin of its position.

    >>> verify([[1.0, 0.0], [0.0, 1.0]], [0], {"temperature": 0})
    [0, 1]
    >>> verify([[1.0, 0.0], [0.0, 1.0]], [1], {"temperature": 0})
    [0]
    """
    tokens: list[int] = []
    for row, drafted in zip(rows, [*draft, None], strict=True):
        tokens.append(draw(row, params, output=[*output, *tokens], **request).token)
        if tokens[-1] != drafted:
            break
    return tokens
