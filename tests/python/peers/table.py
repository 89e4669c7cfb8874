"""The table of parity: printed, and written into the page of the profiles between its marks.

`python -m peers.table PAGE`; `make parity` runs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from peers.registry import COMBINATIONS, NAMES, counted, stages
from peers.stages import STAGES
from peers.walks import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peers.trials import Counts

__all__ = ["column", "recorded"]

BEGIN, END = "<!-- parity: written by `make parity` -->", "<!-- end of parity -->"


def cell(counts: Counts) -> str:
    """Equal, equal but for the choice among ties, set aside; and what must not be, different."""
    parts = [str(counts.equal), *(["different: " + str(len(counts.different))] if counts.different else [])]
    parts += [f"{counts.tied} t"] if counts.tied else []
    parts += [f"{counts.edge} e"] if counts.edge else []
    return " + ".join(parts)


def column(profile: str) -> dict[str, str]:
    """The cells of a profile by their stages."""
    tried = stages(profile)
    lines = (*STAGES, *POLICIES, COMBINATIONS)
    cells = {stage: cell(counted(profile, stage)) if stage in tried else "" for stage in lines}
    return cells | {"all rows": str(sum(counted(profile, stage).rows for stage in tried))}


def lines() -> Iterator[str]:
    """The table: a line for each stage, a column for each profile."""
    columns = [column(profile) for profile in NAMES]
    yield f"| stage | {' | '.join(NAMES)} |"
    yield "|---|" + "---|" * len(NAMES)
    for stage in columns[0]:
        yield f"| {stage} | {' | '.join(cells[stage] for cells in columns)} |"


def recorded(page: str, profile: str) -> dict[str, str]:
    """The same, of a page."""
    table = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {row[0]: row[heads.index(profile)] for row in rows}


def main() -> None:
    """Print the table and write it."""
    path = Path(sys.argv[1])
    table = "\n".join(lines())
    print(table)  # noqa: T201 - a command prints
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
