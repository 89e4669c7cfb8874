"""Optional libraries, which are imported on use: without one, the error says how to install it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sortition.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["extra"]


@contextlib.contextmanager
def extra(name: str, needs: str) -> Iterator[None]:
    """Around the import of what the extra `name` installs; `needs` says who needs which package.

    >>> with extra("cli", "the command line needs typer and rich"):
    ...     import a_library_that_is_not_there
    Traceback (most recent call last):
        ...
    sortition.errors.MissingExtra: the command line needs typer and rich: pip install "sortition[cli]"

    Raises:
        MissingExtra: the import failed.
    """
    try:
        yield
    except ImportError as error:
        msg = f'{needs}: pip install "sortition[{name}]"'
        raise MissingExtra(msg) from error
