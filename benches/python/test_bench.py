"""The table's rows for pytest-benchmark: this package and whatever of its rivals is installed, one vocabulary, one row.

cd benches/python; python -m pytest --benchmark-group-by=param:name

The whole table, with the memory pass and everything in one report, is `make bench`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import rivals
from check import Wrong, check
from table import KINDS, OPERATIONS, Case, Task

FOUND, _ = rivals.installed()
VOCAB = 151_936


@pytest.mark.parametrize("rival", FOUND)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(benchmark, name, kind, rival):
    """Right, and this fast."""
    task = Task.of(Case(OPERATIONS[name], VOCAB, kind, rows=1))
    call = FOUND[rival].prepare(task)
    if call is None:
        pytest.skip(f"{rival} has no {name}")
    check(task, call(), own_coin=FOUND[rival].OWN_COIN)
    benchmark(call)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_wrong_answer_is_refused(name):
    """Otherwise the checks would say nothing: the answer of another row is none."""
    task = Task.of(Case(OPERATIONS[name], 32_000, "peaked", rows=1))
    other = dataclasses.replace(task, x=np.roll(task.x, 1, axis=1))
    answer = FOUND[rivals.OURS].prepare(other)()
    with pytest.raises(Wrong):
        check(task, answer, own_coin=False)
