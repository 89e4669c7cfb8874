"""Rows in parallel: the number of threads changes nothing but the time."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import sortition as st

ROWS = np.random.default_rng(1).normal(0, 3, (64, 20_000)).astype(np.float32)


@pytest.fixture(autouse=True)
def as_before() -> object:
    before = st.info()["threads"]
    yield
    st.set_num_threads(before)


def results() -> list[np.ndarray]:
    """What every function of rows says of the table."""
    drawn = [
        st.sample(ROWS, seed=5, temperature=0.9),
        st.sample(ROWS, seed=5, top_k=40, top_p=0.9),
        st.sample(ROWS, seed=5, top_p=0.95),
    ]
    return [*drawn, st.softmax(ROWS), st.log_softmax(ROWS), st.entropy(ROWS), *st.top_k(ROWS, 20)]


def test_any_number_of_threads_gives_equal_bits() -> None:
    st.set_num_threads(1)
    expected = [array.tobytes() for array in results()]
    for threads in (2, 3, 7):
        st.set_num_threads(threads)
        assert expected == [array.tobytes() for array in results()]


def test_a_row_draws_in_a_batch_what_it_draws_alone() -> None:
    st.set_num_threads(2)
    params = st.SamplingParams(seed=5, temperature=0.9, top_p=0.9)
    alone = [st.Sampler(params, stream=r).sample(row) for r, row in enumerate(ROWS)]
    assert alone == st.sample(ROWS, params).tolist()


def test_the_error_is_that_of_the_first_bad_row() -> None:
    rows = ROWS.copy()
    rows[17, 3] = rows[9, 4] = np.nan
    st.set_num_threads(2)
    with pytest.raises(st.LogitsError, match="row 9: token 4") as caught:
        st.sample(rows)
    assert (caught.value.row, caught.value.token) == (9, 4)


@pytest.mark.parametrize("threads", [0, -1, 1025, 2.0, True, "2", None])
def test_a_number_of_threads_out_of_range_is_refused(threads: object) -> None:
    with pytest.raises(st.ParameterError, match=r"^threads must be an integer in \[1, 1024\], got "):
        st.set_num_threads(threads)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("3", "3"),
        ("00008", "8"),
        ("0" * 5000 + "5", "5"),
        *(
            (bad, "ParameterError: SORTITION_NUM_THREADS must be")
            for bad in ("0", "0" * 5, "1025", "two", "+4", "9" * 5000)
        ),
    ],
    ids=lambda text: text[:8],
)
def test_the_environment_bounds_the_threads(value: str, said: str) -> None:
    code = "import sortition; print(sortition.info()['threads'])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SORTITION_NUM_THREADS": value},
        capture_output=True,
        text=True,
        check=False,
    )
    last = (run.stdout + run.stderr).splitlines()[-1]
    assert last == said or (said in last and run.returncode != 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_threads_of_its_own() -> None:
    """The threads of the parent are not in the child; waiting for them would take forever."""
    code = """
import os, signal, numpy as np, sortition as st
st.set_num_threads(2)
rows = np.random.default_rng(1).normal(size=(8, 40_000)).astype(np.float32)
expected = st.sample(rows, seed=1).tolist()
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if st.sample(rows, seed=1).tolist() == expected else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"
