"""Whether this process is the command `sortition`, and how the command ends while it is still loading.

Loading takes a moment, in which Python would show whatever happens as a traceback. That is right for a program that
imports the package; a person at the command gets an exit code and at most one line. So this module is loaded before
all others, and loads nothing itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["BAD_PARAMETER", "INTERRUPTED", "NO_READER", "complain", "loaded", "one_line"]

BAD_PARAMETER = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells count
NO_READER = 141  # 128 + SIGPIPE


def is_command() -> bool:
    """Whether it was started as `sortition` or as `python -m sortition`."""
    if not sys.argv:
        return False
    if sys.argv[0] == "-m":  # while the package of the module is being imported
        return sys.orig_argv[-len(sys.argv)] in {"sortition", "-msortition"}
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib takes as long to load as all the rest of this
    return name.removesuffix(".exe").removesuffix("-script.py") == "sortition"


def complain(message: str) -> None:
    """One line on stderr, whatever the message has; nothing where there is no stderr."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # nobody reads it
            print("sortition:", " ".join(message.split()), file=sys.stderr)


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """What is refused while the command loads is one line and exit code 2; in a program it is raised."""
    try:
        yield
    except ValueError as error:
        if not is_command():
            raise
        complain(str(error))
        sys.exit(BAD_PARAMETER)


def loaded() -> None:
    """Ctrl-C raises `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupted(_signal: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)  # an exception would be shown by whatever is being imported


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupted)
