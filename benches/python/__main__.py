"""Runs the table, and writes it into `benches/README.md`, `benches/results.tsv` and `benches/bars.svg`.

python benches/python --help
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # a foreign core's kernels are slower
    os.environ.pop(_name, None)
for _name in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "SORTITION_NUM_THREADS",
):
    os.environ[_name] = "1"

import argparse  # noqa: E402 - after the environment that libraries read when they are imported
import sys  # noqa: E402
from itertools import product  # noqa: E402
from typing import TYPE_CHECKING  # noqa: E402

import rivals  # noqa: E402
from batches import batches  # noqa: E402
from check import Wrong, check  # noqa: E402
from halves import halves  # noqa: E402
from instruction_sets import instruction_sets  # noqa: E402
from measure import race  # noqa: E402
from overheads import overheads  # noqa: E402
from report import Report, write  # noqa: E402
from table import KINDS, OPERATIONS, ROWS, VOCABULARIES, Case, Task  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def main() -> None:
    """Measures the cases that were asked for. Only a run of all of them is written into the repository."""
    asked = arguments()
    found, missing = rivals.installed()
    if asked.rivals:
        found = {name: module for name, module in found.items() if name in asked.rivals}
    report = Report({name: module.VERSION for name, module in found.items()}, missing)
    for case in asked_cases(asked):
        measure(case, found, report, asked.rounds)
    if asked.write:
        report.halves = list(halves(asked.rounds))
        report.instruction_sets = list(instruction_sets(asked.rounds))
        report.overheads = [*overheads(), *batches()]
        write(report)
    print(report.markdown())


def measure(case: Case, found: dict[str, ModuleType], report: Report, rounds: int) -> None:
    """One case: every answer is checked, then all are timed beside each other and beside the pass."""
    task = Task.of(case)
    calls = {"pass": rivals.passes(task.x)}
    for name, module in found.items():
        call = module.prepare(task)
        if call is None:
            continue
        try:
            check(task, call(), own_coin=module.OWN_COIN)
        except Wrong as wrong:
            report.wrong[case.address(name)] = str(wrong)
            continue
        calls[name] = call
    for name, seconds in race(calls, rounds).items():
        report.add(case, name, seconds / task.rows)
    print(report.line(case), file=sys.stderr, flush=True)


def asked_cases(asked: argparse.Namespace) -> Iterator[Case]:
    """In an order in which the same rows serve all operations."""
    for vocab, rows, kind, name in product(asked.vocab, asked.rows, asked.kind, asked.operation):
        yield Case(OPERATIONS[name], vocab, kind, rows)


def arguments() -> argparse.Namespace:
    """What to measure; by default everything."""
    parser = argparse.ArgumentParser(prog="python benches/python", description=__doc__)
    parser.add_argument("--operation", nargs="+", choices=OPERATIONS, default=list(OPERATIONS))
    parser.add_argument("--vocab", nargs="+", type=int, default=VOCABULARIES)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rivals", nargs="+", choices=rivals.MODULES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="write the report into benches/")
    return parser.parse_args()


main()
