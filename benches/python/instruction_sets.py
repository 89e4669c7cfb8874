"""The same work on each instruction set of this processor.

A process uses one of them, so there is one for each. They take turns: while one works, the others wait for a line.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import sortition
from check import check
from measure import turn
from rivals import sortition_ as ours
from table import KINDS, OPERATIONS, SHOWN, Case, Task

if TYPE_CHECKING:
    from collections.abc import Iterator


def instruction_sets(rounds: int) -> Iterator[tuple[Case, dict[str, float]]]:
    """A case; by instruction set, the widest first, seconds of a row."""
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(contextlib.closing(Worker(name))) for name in sortition.info()["available"]
        }
        for rows in (1, 64):
            for name, operation in OPERATIONS.items():
                for kind in KINDS:
                    for worker in workers.values():
                        worker.ask([name, kind, rows])
                    turns = [{isa: worker.ask(None) for isa, worker in workers.items()} for _ in range(rounds)]
                    medians = {isa: statistics.median(one[isa] for one in turns) / rows for isa in workers}
                    yield Case(operation, SHOWN, kind, rows), medians


class Worker:
    """A process on one instruction set."""

    def __init__(self, isa: str) -> None:
        """Starts it."""
        self._isa = isa
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__)],
            env={**os.environ, "SORTITION_ISA": isa},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """It ends with its input."""
        self._process.communicate()

    def ask(self, question: list[object] | None) -> float:
        """Seconds of a call: one turn of the case that is named, or of the last one."""
        lines, answers = self._process.stdin, self._process.stdout
        assert lines is not None
        assert answers is not None
        lines.write(json.dumps(question) + "\n")
        lines.flush()
        if not (answer := answers.readline()):
            msg = f"the worker on {self._isa} ended"
            raise RuntimeError(msg)
        return float(answer)


def serve(questions: IO[str]) -> None:
    """Answers until there are no more. What a case gives is checked."""
    call = None
    for line in questions:
        if question := json.loads(line):
            name, kind, rows = question
            task = Task.of(Case(OPERATIONS[name], SHOWN, kind, rows))
            call = ours.prepare(task)
            check(task, call(), own_coin=False)
        print(turn(call), flush=True)


if __name__ == "__main__":
    serve(sys.stdin)
