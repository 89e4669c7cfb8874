"""How a test starts a process."""

from __future__ import annotations

import subprocess

import pytest

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
