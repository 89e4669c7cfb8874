"""What holds for every test, and how a test starts a process.

One BLAS thread, set before NumPy is imported: two that spin on two busy cores take a hundred times as long as one.
"""

from __future__ import annotations

import os
import subprocess

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch

# They import the other implementations, which are installed for the heavy tests alone.
collect_ignore_glob = ["peers/*"]


@pytest.fixture
def start():
    """Start a process that is gone after the test, whatever became of it."""
    started = []

    def popen(command, **options):
        started.append(subprocess.Popen(command, stdin=-1, stderr=-1, **options))
        return started[-1]

    yield popen
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
