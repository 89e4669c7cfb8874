"""One file a rival. Each has `VERSION`, `OWN_COIN` (whether it throws its own), and `prepare(task)`.

`prepare` returns a call that does the work on the task's rows and returns the answer, or None where the rival has no
such operation. What it builds before is not timed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

OURS = "sortition"
MODULES = {
    OURS: "sortition_",
    "numba": "numba_fused",
    "numpy": "numpy_careful",
    "numpy-naive": "numpy_naive",
    "torch": "torch_",
    "transformers": "transformers_",
    "onnxruntime": "onnxruntime_",
    "llama.cpp": "llama_cpp_",
}


def installed() -> tuple[dict[str, ModuleType], dict[str, str]]:
    """The rivals that can be measured, and why the others cannot."""
    found: dict[str, ModuleType] = {}
    missing: dict[str, str] = {}
    for name, module in MODULES.items():
        try:
            found[name] = importlib.import_module(f"rivals.{module}")
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def passes(x: Any) -> Any:
    """A call that reads every score once and keeps the largest: the fastest that is at hand."""
    try:
        from rivals.numba_loops import passes as loop
    except ImportError:
        return lambda: x.max(axis=1)
    return lambda: loop(x)
