"""How a test starts a process, and what an interrupt is to it."""

from __future__ import annotations

import signal
import subprocess

import pytest

# They import the other implementations, which are installed for the heavy tests alone.
collect_ignore_glob = ["peers/*"]

# What a shell starts in the background ignores Ctrl-C, and so do its children: tests of it would see nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
