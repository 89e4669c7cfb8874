"""What this build is and runs on."""

from __future__ import annotations

import os
from typing import Any

from sortition import _native
from sortition.errors import ParameterError

__all__ = ["info"]

#: The number of the contract "same scores, parameters, seed and position give the same token". It changes only with the
#: major version.
REPRODUCIBILITY = 1


def info() -> dict[str, Any]:
    """The version, the instruction sets, the threads, and the number of the reproducibility contract.

    >>> sorted(info())
    ['available', 'isa', 'reproducibility', 'threads', 'version']
    """
    return {
        "version": _native.__version__,
        "isa": _native.used(),
        "available": _native.available(),
        "threads": 1,
        "reproducibility": REPRODUCIBILITY,
    }


def choose_isa() -> None:
    """Use the instruction set that ``SORTITION_ISA`` names.

    Raises:
        ParameterError: if this CPU does not have it.
    """
    name = os.environ.get("SORTITION_ISA")
    if name and not _native.select_isa(name):
        msg = f"SORTITION_ISA must be one of {', '.join(_native.available())} on this CPU, got {name!r}"
        raise ParameterError(msg)
