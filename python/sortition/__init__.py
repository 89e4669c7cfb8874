"""Exact, reproducible token sampling for language models: from scores to tokens, in SIMD Rust, on NumPy arrays.

>>> import sortition as st
>>> st.sample([0.1, 0.9, 0.5], temperature=0)
1
"""

from __future__ import annotations

from sortition import _command  # before all others, see there
from sortition._runtime import info, set_num_threads
from sortition._runtime import read_environment as _read_environment
from sortition.batch import Draws, sample_batch
from sortition.completion import Chunk, Completion, Timings
from sortition.decode import Step, decode
from sortition.draw import Draw
from sortition.errors import (
    LogitsError,
    MissingExtra,
    ModelError,
    NoCandidateError,
    ParameterError,
    SamplerInUseError,
    SortitionError,
)
from sortition.generate import generate, stream
from sortition.kernels import argmax, entropy, log_softmax, logsumexp, softmax, top_k, top_p
from sortition.models import Model, PieceTokenizer, ScriptedModel, Tokenizer, load
from sortition.params import SamplingParams
from sortition.profiles import Profile
from sortition.sampler import Sampler, sample
from sortition.trace import Trace

__all__ = [
    "Chunk",
    "Completion",
    "Draw",
    "Draws",
    "LogitsError",
    "MissingExtra",
    "Model",
    "ModelError",
    "NoCandidateError",
    "ParameterError",
    "PieceTokenizer",
    "Profile",
    "Sampler",
    "SamplerInUseError",
    "SamplingParams",
    "ScriptedModel",
    "SortitionError",
    "Step",
    "Timings",
    "Tokenizer",
    "Trace",
    "argmax",
    "decode",
    "entropy",
    "generate",
    "info",
    "load",
    "log_softmax",
    "logsumexp",
    "sample",
    "sample_batch",
    "set_num_threads",
    "softmax",
    "stream",
    "top_k",
    "top_p",
]

with _command.one_line():
    _read_environment()
