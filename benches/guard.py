"""Counts the instructions of a token, and fails when there are more than the repository says.

python benches/guard.py           compares with benches/instructions.tsv, and fails above 3 %
python benches/guard.py --write   writes the counts of today

Time on a shared machine wavers; the number of instructions does not, so a regression shows at once. Valgrind does not
know AVX-512: counted are `avx2` and `portable`, whose loops are the same source. Counts are those of one compiler; with
another one they are shown, and nothing fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORED = ROOT / "benches" / "instructions.tsv"
ISAS = ("avx2", "portable")
ALLOWED = 1.03


def main() -> int:
    """0 if nothing costs more than it did."""
    compiler = run("rustc", "--version").strip()
    counted = dict(counts(build()))
    if "--write" in sys.argv[1:]:
        lines = [f"# {compiler}", *(f"{address}\t{count}" for address, count in counted.items())]
        STORED.write_text("\n".join(lines) + "\n", "utf-8")
        return 0
    written_by, stored = read()
    more = 0
    for address, count in counted.items():
        before = stored.get(address)
        ratio = count / before if before else float("nan")
        more += not ratio <= ALLOWED
        note = "" if ratio <= ALLOWED else "  <- more" if before else "  <- not in instructions.tsv"
        print(f"{address:32} {count:>12,} {ratio:6.3f}{note}")
    if written_by != compiler:
        print(f"instructions.tsv is of {written_by}, this is {compiler}: nothing is asserted")
        return 0
    return 1 if more else 0


def build() -> Path:
    """The example, optimised."""
    run("cargo", "build", "--quiet", "--release", "--locked", "--example", "instructions")
    return ROOT / "target" / "release" / "examples" / "instructions"


def counts(program: Path) -> list[tuple[str, int]]:
    """Instructions by address: operation / kind / instruction set."""
    names = run(str(program)).split()
    return [(f"{name}/{isa}", instructions(program, isa, name)) for name in names for isa in ISAS]


def instructions(program: Path, isa: str, name: str) -> int:
    """Of one call of `measured`."""
    counter = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"]
    done = subprocess.run([*counter, str(program), isa, name], capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None or found[1] == "0":
        sys.exit(f"{isa} {name}: nothing was counted\n{done.stderr}")
    return int(found[1])


def read() -> tuple[str, dict[str, int]]:
    """Who wrote the counts, and the counts."""
    first, *lines = STORED.read_text("utf-8").splitlines()
    return first.removeprefix("# "), {address: int(count) for address, count in (line.split("\t") for line in lines)}


def run(*command: str) -> str:
    """What it prints."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
