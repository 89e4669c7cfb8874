"""What this build is and runs on."""

from __future__ import annotations

import os
from typing import Any

from sortition import _native
from sortition._checks import integer, shown, utf8
from sortition.errors import ParameterError

__all__ = ["info", "set_num_threads"]

#: The number of the contract "same scores, parameters, seed and position give the same token". It changes only with the
#: major version.
REPRODUCIBILITY = 1

MOST_THREADS = 1024


def info() -> dict[str, Any]:
    """The version, the instruction sets, the threads, and the number of the reproducibility contract.

    >>> sorted(info())
    ['available', 'isa', 'reproducibility', 'threads', 'version']
    """
    return {
        "version": _native.__version__,
        "isa": _native.used(),
        "available": _native.available(),
        "threads": _native.num_threads(),
        "reproducibility": REPRODUCIBILITY,
    }


def set_num_threads(threads: int) -> None:
    """Spread the rows of one call over at most so many threads, in [1, 1024]; the default is one for every core.

    ``SORTITION_NUM_THREADS`` says the same for the whole run. No result depends on it.

    >>> before = info()["threads"]
    >>> set_num_threads(1)
    >>> info()["threads"]
    1
    >>> set_num_threads(before)

    Raises:
        ParameterError: ``threads`` is not an integer in [1, 1024].
    """
    _native.set_num_threads(integer("threads", threads, least=1, most=MOST_THREADS))


def read_environment() -> None:
    """Use the instruction set that ``SORTITION_ISA`` names, and as many threads as ``SORTITION_NUM_THREADS`` says.

    Raises:
        ParameterError: this CPU does not have that instruction set, or the number is not an integer in [1, 1024].
    """
    threads = os.environ.get("SORTITION_NUM_THREADS")
    if threads:
        # More digits than any legal number has may be more than Python converts; zeros in front are none of them.
        digits = threads.lstrip("0")
        legal = digits.isascii() and digits.isdigit() and len(digits) <= len(str(MOST_THREADS))
        if not (legal and int(digits) <= MOST_THREADS):
            msg = f"SORTITION_NUM_THREADS must be an integer in [1, {MOST_THREADS}], got {shown(threads)}"
            raise ParameterError(msg)
        set_num_threads(int(digits))
    name = os.environ.get("SORTITION_ISA")
    if name and not _native.select_isa(utf8(name)):
        msg = f"SORTITION_ISA must be one of {', '.join(_native.available())} on this CPU, got {shown(name)}"
        raise ParameterError(msg)
