"""How likely the next tokens are, by the reference: what draws are held to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sortition import reference
from sortition.reference import steered
from sortition.reference.weights import probabilities

__all__ = ["TABLE", "law", "law_of_pairs"]

TABLE = np.log(np.array([0.04, 0.3, 0.16, 0.25, 0.09, 0.16])).astype(np.float32)
"""Six tokens, two of them equally likely."""


def law(row: np.ndarray, params: dict[str, Any], **state: Any) -> np.ndarray:
    """The probabilities of the next token."""
    if not params.get("xtc_probability"):
        return probabilities(reference.process(row, params, **state))
    acts = params["xtc_probability"]
    on, off = (probabilities(reference.process(row, params | {"xtc_probability": p}, **state)) for p in (1.0, 0.0))
    return acts * on + (1 - acts) * off


def remembered(row: np.ndarray, params: dict[str, Any], token: int, **state: Any) -> dict[str, Any]:
    """What the policies remember after a first token."""
    if params.get("mirostat"):
        tau, eta = params["mirostat_tau"], params["mirostat_eta"]
        probability = probabilities(reference.process(row, params, **state))[token]
        return {"mu": steered.next_mu(2 * tau, probability, tau=tau, eta=eta)}
    if params.get("adaptive_target") is not None:
        start = steered.Average.start(params["adaptive_target"], params["adaptive_decay"])
        probability = probabilities(reference.process(row, params | {"adaptive_target": None}, **state))[token]
        return {"average": steered.next_average(start, probability, params["adaptive_decay"])}
    return {}


def law_of_pairs(row: np.ndarray, params: dict[str, Any], prompt: list[int]) -> np.ndarray:
    """The probabilities of a first token and of a second, flat."""
    first = law(row, params, prompt=prompt)
    pairs = np.zeros((len(row), len(row)))
    for token in np.flatnonzero(first):
        memory = remembered(row, params, int(token), prompt=prompt)
        pairs[token] = first[token] * law(row, params, prompt=prompt, output=[int(token)], **memory)
    return pairs.ravel()
