"""Batches among threads: processors run in several, a sampler serves one call at a time, nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sortition as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = np.random.default_rng(3).normal(0, 2, (16, 20_000)).astype(np.float32)


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = st.info()["threads"]
    st.set_num_threads(3)
    yield
    st.set_num_threads(before)


def samplers(*processors: Any) -> list[st.Sampler]:
    params = [st.SamplingParams(processors=processors, top_p=0.9, seed=r) for r in range(len(ROWS))]
    return [st.Sampler(p) for p in params]


def lower_the_last(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return scores - np.isin(np.arange(len(scores)), history).astype(np.float32)


def test_processors_run_in_the_threads_of_a_batch() -> None:
    """And give what they give alone. That more than one thread serves is seen, not assumed."""
    served = set()
    several = threading.Event()

    def note(history: np.ndarray, scores: np.ndarray) -> None:
        served.add(threading.get_ident())
        if len(served) > 1:
            several.set()
        assert several.wait(30)  # a helper that wakes late would find everything done

    together, alone = samplers(lower_the_last, note), samplers(lower_the_last)
    for _ in range(20):
        tokens = st.sample_batch(ROWS, together).tokens.tolist()
        assert tokens == [sampler.sample(row) for sampler, row in zip(alone, ROWS, strict=True)]
    assert len(served) in (2, 3)
    assert threading.get_ident() in served


def test_a_processor_may_sample_a_batch_of_its_own() -> None:
    """With other samplers; in whichever thread it is."""
    inner, alone = samplers(), samplers()
    lock = threading.Lock()
    found = []

    def nested(history: np.ndarray, scores: np.ndarray) -> None:
        with lock:
            found.append(st.sample_batch(ROWS, inner).tokens.tolist())

    st.sample_batch(ROWS, samplers(nested))
    assert found == [[s.sample(row) for s, row in zip(alone, ROWS, strict=True)] for _ in ROWS]


CALLS: dict[str, Callable[[st.Sampler], object]] = {
    "sample": lambda s: s.sample(ROWS[0]),
    "draw": lambda s: s.draw(ROWS[0]),
    "process": lambda s: s.process(ROWS[0]),
    "verify": lambda s: s.verify(ROWS[:1], []),
    "plan": lambda s: s.plan(),
    "accept": lambda s: s.accept(1),
    "rollback": lambda s: s.rollback(0),
    "fork": lambda s: s.fork(2),
    "reset": lambda s: s.reset(),
    "copy": lambda s: s.__copy__(),
    "position": lambda s: s.position,
    "stream": lambda s: s.stream,
    "output": lambda s: s.output,
    "prompt": lambda s: s.prompt,
    "sample_batch": lambda s: st.sample_batch(ROWS[:1], [s]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("outer", ["sample", "sample_batch"])
def test_a_second_call_on_a_sampler_is_refused_in_words(name: str, outer: str) -> None:
    """From its own processor, by any method; the first call goes on when the processor takes the error."""
    errors = []

    def again(history: np.ndarray, scores: np.ndarray) -> None:
        with pytest.raises(st.SamplerInUseError, match="this sampler is in use by another call") as caught:
            CALLS[name](sampler)
        errors.append(caught.value)

    sampler = st.Sampler(st.SamplingParams(processors=[again], seed=1))
    CALLS[outer](sampler)
    assert sampler.output.tolist() == [st.Sampler(st.SamplingParams(seed=1)).sample(ROWS[0])]
    assert [error.row for error in errors] == [0 if name == "sample_batch" else None]


def test_a_sampler_in_use_can_be_shown() -> None:
    """As a line of a log, or by a debugger."""
    shown = []
    sampler = st.Sampler(st.SamplingParams(processors=[lambda *_: shown.append(repr(sampler))], seed=3))
    sampler.sample(ROWS[0])
    assert shown[0].startswith("<Sampler in use by another call, seed 3, SamplingParams(")
    assert repr(sampler).startswith("<Sampler at 1, seed 3, stream 0, SamplingParams(")


def test_a_batch_with_a_sampler_of_another_thread_changes_nothing() -> None:
    """It names the row; when the other thread is done, the batch is served."""
    entered, leave = threading.Event(), threading.Event()

    def wait(history: np.ndarray, scores: np.ndarray) -> None:
        entered.set()
        assert leave.wait(30)

    made = samplers()
    made[5] = st.Sampler(st.SamplingParams(processors=[wait]))
    thread = threading.Thread(target=made[5].sample, args=(ROWS[0],))
    thread.start()
    assert entered.wait(30)
    for on_error in ("raise", "mark"):
        with pytest.raises(st.SamplerInUseError) as caught:
            st.sample_batch(ROWS, made, on_error=on_error)
        assert caught.value.row == 5
    leave.set()
    thread.join()
    assert [sampler.position for sampler in made] == [at == 5 for at in range(len(made))]
    st.sample_batch(ROWS, made)
    assert [sampler.position for sampler in made] == [1 + (at == 5) for at in range(len(made))]


def test_every_call_of_many_threads_is_served_or_refused() -> None:
    """The tokens recorded are those that were returned, in the order of the coins."""
    row = ROWS[0]
    sampler = st.Sampler(st.SamplingParams(seed=9))
    said: list[int] = []
    refused = []

    def work() -> None:
        for _ in range(300):
            try:
                said.append(sampler.sample(row))
            except st.SamplerInUseError as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) + len(refused) == 1200
    alone = st.Sampler(st.SamplingParams(seed=9))
    assert sampler.output.tolist() == [alone.sample(row) for _ in said]
    assert sorted(said) == sorted(sampler.output.tolist())


def test_two_threads_whose_processors_share_a_lock_both_come_to_an_end() -> None:
    """One holds the lock around a whole batch, while a helper of the other waits for it in a processor."""
    script = """
import threading, numpy as np, sortition as st
st.set_num_threads(2)
lock = threading.Lock()
rows = np.random.default_rng(3).normal(0, 2, (12, 20_000)).astype(np.float32)

def locked(history, scores):
    with lock:
        pass

def one():
    samplers = [st.Sampler(st.SamplingParams(processors=[locked], seed=r)) for r in range(12)]
    for _ in range(40):
        st.sample_batch(rows, samplers)

def other():
    samplers = [st.Sampler(st.SamplingParams(seed=r)) for r in range(12)]
    for _ in range(40):
        with lock:
            st.sample_batch(rows, samplers)

threads = [threading.Thread(target=work) for work in (one, other)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout == "done\n"
