"""The scripts on the pages of the documentation, and what they need."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["DOCS", "needs", "run", "scripts"]

DOCS = Path(__file__).parents[2] / "docs"


def needs(*packages: str) -> None:
    """Skip the test where one of the packages is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: make test-peers does it, llama_cpp where there is a C++ compiler")


def scripts(page: str) -> list[str]:
    """The scripts of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def run(page: str, number: int = 0) -> dict[str, Any]:
    """Run a script of a page as a user would; the names that it left."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries' own
        exec(compile(scripts(page)[number], page, "exec"), names)  # noqa: S102 - that it runs is the promise
    return names
