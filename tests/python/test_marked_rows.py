"""Rows that are marked: each has an exception of its own. And what is no row's: the wish to end the call."""

from __future__ import annotations

import _thread
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sortition as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = np.random.default_rng(3).normal(0, 2, (16, 50_000)).astype(np.float32)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Alone, and with helpers."""
    before = st.info()["threads"]
    st.set_num_threads(request.param)
    yield request.param
    st.set_num_threads(before)


def samplers(*processors: Any) -> list[st.Sampler]:
    return [st.Sampler(st.SamplingParams(processors=processors, seed=row), prompt=[row]) for row in range(len(ROWS))]


class OddError(Exception):
    """Takes other arguments than it hands on."""

    def __init__(self, place: int, *, what: str) -> None:
        super().__init__(f"{what} at {place}")
        self.what = what


class SlottedError(OddError):
    """Has another way to be made."""

    def __new__(cls, place: int, *, what: str) -> SlottedError:  # noqa: PYI034 - Self is not in Python 3.10
        return super().__new__(cls, place, what=what)


SHARED = [
    ValueError("one", 2),
    OddError(3, what="odd"),
    OSError(5, "no", "file"),
    UnicodeDecodeError("utf-8", b"abc", 0, 1, "odd"),
    st.LogitsError("bad", token=3),
]


@pytest.mark.parametrize("shared", SHARED, ids=lambda error: type(error).__name__)
def test_every_marked_row_has_an_exception_of_its_own(threads: int, shared: Exception) -> None:
    """Although the processors raise one object for all: of its class, with its words, and where it was raised."""

    def fail(history: np.ndarray, scores: np.ndarray) -> None:
        if history[0] % 2:
            raise shared

    draws = st.sample_batch(ROWS, samplers(fail), on_error="mark")
    again = st.sample_batch(ROWS[1:2], samplers(fail)[1:2], on_error="mark")
    assert list(draws.errors) == [row for row in range(16) if row % 2]
    assert [error.row for error in draws.errors.values()] == list(draws.errors)  # type: ignore[attr-defined]
    assert again.errors[0].row == 0  # type: ignore[attr-defined]
    for error in draws.errors.values():
        assert (type(error), error.args, str(error)) == (type(shared), shared.args, str(shared))
        assert {**vars(error), "row": None} == {**vars(shared), "row": None}
        assert error.__traceback__ is not None
    assert getattr(shared, "row", None) is None


def test_an_exception_that_cannot_be_made_again_is_the_one_that_was_raised() -> None:
    shared = SlottedError(3, what="odd")

    def fail(history: np.ndarray, scores: np.ndarray) -> None:
        raise shared

    assert list(st.sample_batch(ROWS[:2], samplers(fail)[:2], on_error="mark").errors.values()) == [shared, shared]


def test_an_exception_that_is_raised_is_the_very_one() -> None:
    shared = ValueError("one")

    def fail(history: np.ndarray, scores: np.ndarray) -> None:
        raise shared

    with pytest.raises(ValueError, match="one") as caught:
        st.sample_batch(ROWS, samplers(fail))
    assert caught.value is shared


def slow(calls: list[int], history: np.ndarray, scores: np.ndarray) -> None:
    """The first to be called presses Ctrl-C."""
    calls.append(int(history[0]))
    if len(calls) == 1:
        _thread.interrupt_main()
    time.sleep(0.01)


class Exit(BaseException):
    """What is no exception of a row."""


def leave(calls: list[int], history: np.ndarray, scores: np.ndarray) -> None:
    calls.append(int(history[0]))
    if history[0] == 0:
        raise Exit
    time.sleep(0.01)


CALLS: dict[str, Callable[[list[st.Sampler]], Any]] = {
    "raise": lambda made: st.sample_batch(ROWS, made),
    "mark": lambda made: st.sample_batch(ROWS, made, on_error="mark"),
    "logprobs": lambda made: st.sample_batch(ROWS, made, logprobs=1, on_error="mark"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("processor", "wish"), [(slow, KeyboardInterrupt), (leave, Exit)])
def test_an_interrupt_ends_a_batch_before_its_other_processors(
    threads: int, call: str, processor: Any, wish: type[BaseException]
) -> None:
    """Those under way are waited for; every sampler is as it was."""
    calls: list[int] = []
    made = samplers(partial(processor, calls))
    with pytest.raises(wish):
        CALLS[call](made)
    assert len(calls) < len(ROWS) / 2
    assert [sampler.position for sampler in made] == [0] * len(ROWS)


def test_an_interrupt_comes_before_the_errors_of_rows(threads: int) -> None:
    """Also of rows in front of it."""

    def fail(history: np.ndarray, scores: np.ndarray) -> None:
        raise KeyboardInterrupt if history[0] == 5 else ValueError

    for call in CALLS.values():
        with pytest.raises(KeyboardInterrupt):
            call(samplers(fail))


def test_rows_without_state_end_too(threads: int) -> None:
    calls: list[int] = []

    def press(history: np.ndarray, scores: np.ndarray) -> None:
        calls.append(1)
        if len(calls) == 1:
            _thread.interrupt_main()
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        st.sample(ROWS, processors=[press])
    assert len(calls) < len(ROWS) / 2
