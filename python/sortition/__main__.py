"""`python -m sortition`, and the command `sortition`."""

from __future__ import annotations

import sys

from sortition import _command
from sortition.errors import MissingExtra

__all__ = ["main"]


def main() -> int:
    """Run the command line; without its libraries, say how to get them."""
    try:
        from sortition import cli
    except MissingExtra as error:
        _command.complain(str(error))
        return 1
    _command.loaded()
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
