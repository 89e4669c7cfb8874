"""What holds for every test, those in docstrings too, before the first module is collected.

One BLAS thread, set before NumPy is imported: two that spin on two busy cores take a hundred times as long as one.

The package, whole: otherwise pytest imports a module of it on its own, a second time and over the function of the same
name, so that `sortition.decode` is a module to all tests that follow.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch

import sortition  # noqa: F401 - after that
