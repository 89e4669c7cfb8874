"""What holds for every integration, where no other library is installed."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pages
from sortition import MissingExtra, PieceTokenizer, Sampler, SamplingParams

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "python/sortition/integrations").glob("[a-z]*.py"))
PAGES = sorted(path.relative_to(pages.DOCS).as_posix() for path in (pages.DOCS / "integrations").glob("*.md"))
TOKENIZER = PieceTokenizer(["你", "好"])

NEEDS = {
    "llama_cpp": ("llama_cpp", "llama-cpp", lambda module: module.logits(None, 1, 4)),
    "llguidance": ("llguidance", "llguidance", lambda module: module.tokenizer(TOKENIZER, 3)),
    "outlines_core": ("outlines_core", "outlines-core", lambda module: module.vocabulary(TOKENIZER, 3)),
    "xgrammar": ("xgrammar", "xgrammar", lambda module: module.tokenizer_info(TOKENIZER, 3)),
    "mlx_lm": ("mlx", "mlx", lambda module: module.make_sampler(Sampler(SamplingParams()))),
}


@pytest.mark.parametrize("name", NEEDS)
def test_a_library_that_is_not_there_is_named_with_its_extra(name, monkeypatch):
    """And the extra is one that there is."""
    package, extra, use = NEEDS[name]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=re.escape(f'pip install "sortition[{extra}]"')):
        use(importlib.import_module(f"sortition.integrations.{name}"))
    assert re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)


def test_importing_them_loads_no_other_library():
    """They are looked for on use."""
    script = f"""
import sys, sortition
before = set(sys.modules)
for name in {MODULES}:
    __import__("sortition.integrations." + name)
print(*set(sys.modules) - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    tops = {name.split(".")[0] for name in done.stdout.split()}
    assert tops - sys.stdlib_module_names == {"sortition"}


def test_nothing_in_the_package_imports_them():
    """They know the package, not the other way round."""
    for path in (ROOT / "python/sortition").rglob("*.py"):
        if path.parent.name != "integrations":
            assert "sortition.integrations" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_of_a_page_are_short(page):
    """Under twenty lines, without the empty ones."""
    for code in pages.scripts(page):
        ast.parse(code)
        assert len([line for line in code.splitlines() if line]) < 20


def test_a_mask_of_ones_own_is_made_as_the_page_says(capsys):
    pages.run("integrations/masks.md", 3)
    assert capsys.readouterr().out == "True\n"


def test_every_integration_has_a_page():
    """Those of masks share one."""
    told = "".join((pages.DOCS / page).read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in MODULES if f"from sortition.integrations.{name} import" not in told] == []
