"""The whole specification again, in NumPy that is meant to be read.

Each stage is defined here in as few lines as possible, and the Rust core must agree with it, token for token. Only
tests and benchmarks import this package. It imports NumPy and nothing of `sortition` outside itself, so that an error
there cannot hide here.

Every stage works on a pair (scores, temperature): `scores` is a float32 row in which -inf marks a token that is no
longer possible, and `temperature` divides the scores wherever probabilities are needed. Read in this order:

============  ======================================================================
`philox`      the generator, and the coin of one position
`weights`     the weight of a candidate, to the bit; the pick among weights
`rules`       which tokens are impossible: mask, lists of ids, bad words, min_tokens
`penalties`   what the history does to the scores
`cuts`        which candidates stay
`steered`     mirostat in the place of the cuts, and adaptive-p behind them
`profiles`    the order of the stages, and the switches of named stacks
`pipeline`    a row through all stages: `process`, `draw`
`functions`   the functions that take a row: softmax, top_k, …
`search`      beam search, and verification of a draft
============  ======================================================================

Parameters are a mapping from the names of `sortition.SamplingParams` to valid values; None, or no entry, is off.

>>> import numpy as np
>>> from sortition import reference
>>> row = np.log([0.5, 0.3, 0.15, 0.05])
>>> np.flatnonzero(np.isfinite(reference.process(row, {"top_p": 0.75})))
array([0, 1])
>>> reference.draw(row, {"temperature": 0}).token
0
"""

from __future__ import annotations

from sortition.reference.functions import argmax, entropy, log_softmax, logsumexp, softmax, top_k, top_p
from sortition.reference.pipeline import BadScoresError, Drawn, EmptyRowError, draw, process
from sortition.reference.profiles import ORDER, PROFILES, Profile
from sortition.reference.search import beam_search, verify

__all__ = [
    "ORDER",
    "PROFILES",
    "BadScoresError",
    "Drawn",
    "EmptyRowError",
    "Profile",
    "argmax",
    "beam_search",
    "draw",
    "entropy",
    "log_softmax",
    "logsumexp",
    "process",
    "softmax",
    "top_k",
    "top_p",
    "verify",
]
