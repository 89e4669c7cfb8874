"""What holds for every test.

One BLAS thread, set before NumPy is imported: two that spin on two busy cores take a hundred times as long as one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch

# They import the other implementations, which are installed for the heavy tests alone.
collect_ignore_glob = ["peers/*"]
