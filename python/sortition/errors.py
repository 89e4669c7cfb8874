"""What can go wrong, drawn as a tree.

SortitionError
├── ParameterError (ValueError)      a parameter outside its range, or two that exclude each other: .row
├── LogitsError (ValueError)         scores that cannot be sampled from: .row .token .stage
│   └── NoCandidateError             every token is impossible; .stage is the stage that removed the last
├── SamplerInUseError (RuntimeError) two calls on one sampler at once: .row
├── ModelError                       a model breaks its protocol, or its file cannot be used
└── MissingExtra (ImportError)       an optional library is not installed; the message says how to get it
"""

from __future__ import annotations

from copy import copy
from typing import Any

__all__ = [
    "LogitsError",
    "MissingExtra",
    "ModelError",
    "NoCandidateError",
    "ParameterError",
    "SamplerInUseError",
    "SortitionError",
]


class SortitionError(Exception):
    """The root: catch this to catch everything that this package raises on purpose."""


class ParameterError(SortitionError, ValueError):
    """A parameter is outside its range. The message gives its name, the legal range and the value seen.

    Attributes:
        row: which row of the batch, or ``None`` where it is not one row's.
    """

    row: int | None = None


class LogitsError(SortitionError, ValueError):
    """A row of scores cannot be sampled from.

    Attributes:
        row: which row of the batch, or ``None`` for a single row.
        token: the first token id with a bad score, or ``None``.
        stage: the stage at which the row was found bad, or ``None`` when it came in bad.
    """

    def __init__(
        self, message: str, *, row: int | None = None, token: int | None = None, stage: str | None = None
    ) -> None:
        super().__init__(message)
        self.row = row
        self.token = token
        self.stage = stage

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), str(self), self.row, self.token, self.stage)


class NoCandidateError(LogitsError):
    """No token is possible: the row came in as -inf throughout, or a stage removed its last candidate."""


class SamplerInUseError(SortitionError, RuntimeError):
    """A sampler was called while another call, of another thread or around its own processor, is at work on it.

    Attributes:
        row: which row of the batch, or ``None`` outside a batch.
    """

    row: int | None = None


class ModelError(SortitionError):
    """A model cannot be loaded, or does not do what the protocol asks."""


class MissingExtra(SortitionError, ImportError):  # noqa: N818 - the name is part of the public surface
    """An optional library is not installed. The message names the extra to install."""


def twin(error: Exception) -> Exception:
    """An exception like this one: of several rows each has its own, whatever one object their processors raise.

    What cannot be made again is the same object.
    """
    kind: Any = type(error)
    plain: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    try:
        if kind.__init__ is plain.__init__:
            other: Exception = copy(error)
        else:  # a class's own may take other arguments than it hands on, with which a copy would be made
            other = kind.__new__(kind, *error.args)
            plain.__init__(other, *error.args)
            other.__dict__.update(error.__dict__)
    except Exception:  # noqa: BLE001 - whatever such a class does
        return error
    other.__cause__, other.__context__ = error.__cause__, error.__context__
    other.__suppress_context__ = error.__suppress_context__
    return other.with_traceback(error.__traceback__)


def _rebuild(
    kind: type[LogitsError], message: str, row: int | None, token: int | None, stage: str | None
) -> LogitsError:
    """Unpickle: keyword-only arguments need a function of their own."""
    return kind(message, row=row, token=token, stage=stage)
