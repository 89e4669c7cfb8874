"""Who may know whom: the rooms of the code, held by reading its imports.

Rust is read by its paths (`crate::…`, `super::…`), Python by its syntax tree. What stands in comments, in strings and
in the test modules of Rust does not count.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from types import ModuleType

import pytest

import sortition

ROOT = Path(__file__).parents[2]
RUST = sorted((ROOT / "src").rglob("*.rs"))
PYTHON = sorted((ROOT / "python" / "sortition").rglob("*.py"))

# The rooms from the top of the house to its ground. A room knows those below it.
FLOORS = [
    {"py"},
    {"batch"},
    {"functions", "sampler"},
    {"trace"},
    {"stages"},
    {"candidates"},
    {"kernels"},
    {"kernels::arch"},
    {"kernels::generic"},
]
# Plain values: whoever wants may know them, and they know only each other.
VALUES = {"error", "history", "math", "params", "processor", "profile", "rng", "scores", "stage", "state", "threads"}
# What `kernels` hands down: the types that its table and its loops speak in.
HANDED_DOWN = {
    f"kernels::{name}" for name in ("Band", "Base", "Block", "Bracket", "Kernels", "Near", "Part", "Readers")
}

BELOW = {room: set().union(*FLOORS[floor + 1 :]) for floor, rooms in enumerate(FLOORS) for room in rooms}


def code(path: Path) -> str:
    """The Rust of a file without comments, strings and its test module."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    return re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{", text)[0]


def module(path: Path) -> list[str]:
    """The path of a file's module inside the crate."""
    parts = list(path.relative_to(ROOT / "src").with_suffix("").parts)
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def room(parts: list[str]) -> str:
    """The room that a module or a name is in: the longest that is one."""
    known = set(BELOW) | VALUES
    paths = accumulate(parts, "{}::{}".format)
    return max((path for path in paths if path in known), key=len, default="")


def flattened(tree: str) -> list[str]:
    """`a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`."""
    opening = tree.find("{")
    if opening < 0:
        return [tree.partition(" as ")[0].strip()]
    depths = accumulate((c == "{") - (c == "}") for c in tree[opening:-1])
    inner = "".join(
        "\n" if c == "," and depth == 1 else c for c, depth in zip(tree[opening:-1], depths, strict=True)
    ).removeprefix("{")
    return [
        tree[:opening].strip() + leaf
        for branch in inner.split("\n")
        if branch.strip()
        for leaf in flattened(branch.strip())
    ]


def names_used(path: Path) -> set[tuple[str, ...]]:
    """Every name of this crate that a file speaks of, from the root of the crate."""
    here = module(path)
    found = set()
    rust = code(path)
    uses = re.findall(r"\buse\s+(\$?\w+\s*::[^;]*|\w+);", rust)
    inline = re.findall(r"(?<![\w:])(?:\$?crate|super|self)(?:::\w+)+", re.sub(r"\buse\s+[^;]*;", "", rust))
    for name in [leaf for use in uses for leaf in flattened(" ".join(use.split()))] + inline:
        parts = name.lstrip("$").split("::")
        at = list(here)
        if parts[0] not in ("crate", "super", "self"):
            continue
        if parts[0] == "crate":
            at, parts = [], parts[1:]
        while parts and parts[0] in ("super", "self"):
            at = at[:-1] if parts[0] == "super" else at
            parts = parts[1:]
        found.add((*at, *parts))
    return found


def imports(path: Path, *, for_types: bool = True) -> set[str]:
    """The modules that a file of Python imports; without those behind `TYPE_CHECKING`, if so asked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    if not for_types:
        guards = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
        skipped = {id(inner) for guard in guards for inner in ast.walk(guard)}
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            # `from sortition import _native` names a module as well as a member
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", RUST, ids=name_of)
def test_a_room_knows_only_those_below_it(path):
    """`py → batch → sampler, functions → trace → stages → candidates → kernels → arch → generic`, and plain values."""
    here = room(module(path))
    if not here:
        assert module(path) == [], f"{name_of(path)} is in no room"
        return
    allowed = {here} | VALUES | (set() if here in VALUES else BELOW[here])
    for name in names_used(path):
        there = room(list(name))
        known = HANDED_DOWN if here.startswith("kernels::") else set()
        public = here == "py" and not there  # by its name at the root
        assert there in allowed or "::".join(name) in known or public, f"{here} knows {'::'.join(name)}"


@pytest.mark.parametrize("path", [p for p in RUST if "py" not in module(p)], ids=name_of)
def test_only_the_binding_names_python(path):
    """`lib.rs` says that the binding is there, and no more."""
    assert re.findall(r"\b(?:pyo3|numpy|Py[A-Z]\w*)\b", code(path)) == []
    assert re.findall(r"\bpy\b", code(path)) == (["py"] if path.name == "lib.rs" else [])


# Instruction sets, foreign memory, and what is lent to other threads.
UNSAFE = (["kernels", "arch"], ["py", "dlpack"], ["threads", "gate"])
SAFE = [p for p in RUST if module(p)[:2] not in UNSAFE]


@pytest.mark.parametrize("path", SAFE, ids=name_of)
def test_only_a_few_places_are_unsafe(path):
    """Everything else is checked by the compiler."""
    assert re.findall(r"\bunsafe\b", code(path)) == []
    assert re.findall(r"(?:allow|expect|warn)\(unsafe_code", code(path)) == []


def test_kernels_are_written_without_instructions():
    """`generic` forbids unsafe code, and names no instruction set and no architecture."""
    files = [p for p in RUST if module(p)[:2] == ["kernels", "generic"]]
    assert "#![forbid(unsafe_code)]" in (ROOT / "src/kernels/generic/mod.rs").read_text(encoding="utf-8")
    for path in files:
        assert re.findall(r"\b(?:avx\w*|neon|sse\w*|_mm\w*|std::arch|target_\w+)\b", code(path), re.IGNORECASE) == []


@pytest.mark.parametrize("path", RUST, ids=name_of)
def test_architectures_are_chosen_in_one_place(path):
    """`cfg(target_arch)` stands where the instruction sets are listed."""
    if name_of(path) != "src/kernels/arch/mod.rs":
        assert "target_arch" not in code(path)


def test_the_loop_is_given_what_it_works_with():
    """`decode.py` imports neither the compiled module nor an adapter; even protocols are for the type checker."""
    loop = ROOT / "python/sortition/decode.py"
    known = {name for name in imports(loop) if name.startswith("sortition.")}
    assert not any(name.startswith(("sortition._native", "sortition.sampler", "sortition.kernels")) for name in known)
    adapters = {name for name in known if name.startswith("sortition.models")}
    assert all(name.startswith("sortition.models.protocol") for name in adapters)
    assert not any(name.startswith("sortition.models") for name in imports(loop, for_types=False))


@pytest.mark.parametrize("path", [p for p in PYTHON if "reference" in p.parts], ids=name_of)
def test_the_reference_stands_on_numpy_alone(path):
    """An error in the package cannot hide in the reference if the reference does not use the package."""
    for name in imports(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names | {"numpy", "__future__"} or name.startswith("sortition.reference"), name


@pytest.mark.parametrize("path", [p for p in PYTHON if "reference" not in p.parts], ids=name_of)
def test_nothing_in_the_package_uses_the_reference(path):
    """It is for tests and benchmarks."""
    assert not {name for name in imports(path) if name.startswith("sortition.reference")}


def test_only_the_wrappers_know_the_compiled_module():
    """Models, the loop, text and the command line do without."""
    knowing = {name_of(p) for p in PYTHON if any(name.startswith("sortition._native") for name in imports(p))}
    assert knowing == {
        f"python/sortition/{name}.py"
        for name in ("_arrays", "_runtime", "batch", "kernels", "params", "profiles", "sampler")
    }


def test_import_loads_numpy_and_nothing_else():
    """Every other library is imported on use, and so is what few programs need."""
    script = "import sys; import numpy; before = set(sys.modules); import sortition; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    tops = {name.split(".")[0] for name in done.stdout.split()}
    assert tops - sys.stdlib_module_names - {"numpy", "sortition"} == set()
    later = {"difflib", "hashlib", "json", "numpy.ma", "numpy.typing", "pathlib", "random", "sortition._requests"}
    assert later & set(done.stdout.split()) == set()


def test_public_names_are_listed_and_sorted():
    """`__all__` is what one sees, in order; modules do not count."""
    visible = {name for name, value in vars(sortition).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    assert set(sortition.__all__) == visible - {"annotations"}
    assert sortition.__all__ == sorted(sortition.__all__)


FILES = [*RUST, *PYTHON, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "tests").rglob("*.rs"))]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_file_is_longer_than_400_lines(path):
    """One idea a file."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
