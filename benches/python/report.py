"""The results as tables. Where this package is not the fastest comes first."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import bars
from machine import machine
from reasons import reason
from rivals import OURS
from table import KINDS, OPERATIONS, ROWS, SHOWN, VOCABULARIES, Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = Path(__file__).parents[1]
BEGIN, END = "<!-- numbers: written by `make bench` -->\n", "<!-- /numbers -->\n"
NOISE = 1.03  # two numbers this near are equal


@dataclass
class Report:
    """What was measured: seconds a row, by case and rival."""

    versions: dict[str, str]
    missing: dict[str, str]
    seconds: dict[Case, dict[str, float]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    overheads: list[tuple[str, str, str]] = field(default_factory=list)
    halves: list[tuple[str, dict[str, tuple[float, float]], float | None]] = field(default_factory=list)
    instruction_sets: list[tuple[Case, dict[str, float]]] = field(default_factory=list)

    def add(self, case: Case, name: str, seconds: float) -> None:
        """One result."""
        self.seconds.setdefault(case, {})[name] = seconds

    def strongest(self, case: Case) -> str | None:
        """The fastest of the others."""
        others = {name: s for name, s in self.seconds[case].items() if name not in {OURS, "pass"}}
        return min(others, key=lambda name: others[name]) if others else None

    def ratio(self, case: Case) -> float | None:
        """Our time over that of the strongest rival."""
        strongest = self.strongest(case)
        if strongest is None or OURS not in self.seconds[case]:
            return None
        return self.seconds[case][OURS] / self.seconds[case][strongest]

    def line(self, case: Case) -> str:
        """One case, for the terminal."""
        times = "  ".join(f"{name} {1e6 * s:.1f}" for name, s in self.seconds[case].items())
        ratio = self.ratio(case)
        return f"{case.address('*')}: {times}" + (f"  [{ratio:.2f}]" if ratio else "")

    def markdown(self) -> str:
        """All of it."""
        sections = [
            self._losses(),
            self._table(),
            self._vocabularies(),
            self._halves(),
            self._instruction_sets(),
            self._rest(),
            self._machine(),
        ]
        return "\n".join(line for section in sections for line in [*section, ""])

    def tsv(self) -> str:
        """Every number under its address."""
        lines = [
            f"{case.address(name)}\t{1e6 * s:.3f}" for case, times in self.seconds.items() for name, s in times.items()
        ]
        return "\n".join(["address\tmicroseconds a row", *lines]) + "\n"

    def _losses(self) -> Iterator[str]:
        lost: dict[tuple[str, str], list[Case]] = {}
        for case in self.seconds:
            if (self.ratio(case) or 0.0) > NOISE:
                lost.setdefault((case.operation.name, case.state), []).append(case)
        compared = sum(self.ratio(case) is not None for case in self.seconds)
        yield "### Where another is faster"
        yield ""
        yield f"{sum(map(len, lost.values()))} of {compared} cases, the worst of each operation; within 3 % is equal."
        yield ""
        yield from _header(["address", "cases", "µs", "faster", "µs", "ratio", "why"])
        rows = [(max(cases, key=self._ratio), len(cases)) for cases in lost.values()]
        for case, count in sorted(rows, key=lambda row: -self._ratio(row[0])):
            name = self.strongest(case) or ""
            ours, theirs = (_us(self.seconds[case][n]) for n in (OURS, name))
            cells = [
                f"`{case.address(OURS)}`",
                str(count),
                ours,
                name,
                theirs,
                f"{self._ratio(case):.2f}",
                reason(case),
            ]
            yield _row(cells)
        for address, message in self.wrong.items():
            yield f"- `{address}` is not timed, as its answer is wrong: {message}."

    def _ratio(self, case: Case) -> float:
        return self.ratio(case) or 0.0

    def _table(self) -> Iterator[str]:
        yield f"### One row of {SHOWN:,} scores"
        yield ""
        yield "Microseconds a row. Hot: one row again and again. Cold: 64 rows in turn."
        yield "×pass: ours over the memory pass; goal: what it should be."
        names = [name for name in self.versions if name != OURS]
        for rows, state in ((1, "hot"), (64, "cold")):
            yield ""
            yield from _header([f"{state}", "scores", "pass", OURS, "×pass", "goal", *names])
            for case in self._cases([SHOWN], [rows]):
                times = self.seconds[case]
                goal = case.operation.goals[0 if rows == 1 else 1]
                ours = [_us(times.get(OURS)), f"{times[OURS] / times['pass']:.1f}" if OURS in times else "", f"{goal}"]
                others = [_us(times.get(name)) for name in names]
                yield _row([case.operation.title, case.kind, _us(times["pass"]), *ours, *others])

    def _vocabularies(self) -> Iterator[str]:
        yield "### Every vocabulary"
        yield ""
        yield "Our time over that of the strongest rival, the worst of the three kinds of scores; below 1 we are"
        yield "faster. Columns: vocabulary × rows."
        yield ""
        measured = [(vocab, rows) for rows in ROWS for vocab in VOCABULARIES if list(self._cases([vocab], [rows]))]
        yield from _header(["", *(f"{vocab:,} × {rows}" for vocab, rows in measured)])
        for operation in OPERATIONS.values():
            cells = []
            for vocab, rows in measured:
                ratios = [self.ratio(c) for c in self._cases([vocab], [rows]) if c.operation is operation]
                cells.append(f"{max(r or 0.0 for r in ratios):.2f}" if ratios else "")
            yield _row([operation.title, *cells])

    def _halves(self) -> Iterator[str]:
        if self.halves:
            yield "### Half precision"
            yield ""
            yield f"64 rows of {SHOWN:,} real scores in turn: microseconds a row, beside the same numbers as float32."
            yield ""
            names = self.halves[0][1]
            yield from _header(
                ["cold", "goal", *(part for name in names for part in (name, "float32", f"{name} / float32"))]
            )
            for title, seconds, goal in self.halves:
                cells = [
                    part
                    for single, half in seconds.values()
                    for part in (_us(half), _us(single), f"{half / single:.2f}")
                ]
                yield _row([title, "" if goal is None else f"{goal}", *cells])

    def _instruction_sets(self) -> Iterator[str]:
        if self.instruction_sets:
            first, *others = self.instruction_sets[0][1]
            yield "### Instruction sets"
            yield ""
            yield f"One row of {SHOWN:,} scores: microseconds on {first}, and how many times as long others take."
            if first == "avx512" and "avx2" in others:
                yield "The goal of avx2 is 1.6 hot and 1.0 cold."
            for state in ("hot", "cold"):
                yield ""
                yield from _header([state, "scores", first, *(f"{name} / {first}" for name in others)])
                for case, seconds in self.instruction_sets:
                    if case.state == state:
                        ratios = (f"{seconds[name] / seconds[first]:.2f}" for name in others)
                        yield _row([case.operation.title, case.kind, _us(seconds[first]), *ratios])

    def _rest(self) -> Iterator[str]:
        if self.overheads:
            yield "### Beside the rows"
            yield ""
            yield from _header(["", "measured", "goal"])
            yield from (_row(row) for row in self.overheads)

    def _machine(self) -> Iterator[str]:
        yield "### Measured on"
        yield ""
        yield from (f"- {name}: {value}" for name, value in machine().items())
        yield f"- versions: {', '.join(dict.fromkeys(self.versions.values()))}"
        for name, why in self.missing.items():
            yield f"- not measured: {name} ({why})"

    def _cases(self, vocabularies: Iterable[int], rows: Iterable[int]) -> Iterator[Case]:
        for operation in OPERATIONS.values():
            for kind in KINDS:
                for vocab in vocabularies:
                    for count in rows:
                        if (case := Case(operation, vocab, kind, count)) in self.seconds:
                            yield case


def write(report: Report) -> None:
    """Into the folder: the tables between their markers, every number, the picture."""
    page = FOLDER / "README.md"
    before, rest = page.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n" + report.markdown() + "\n" + END + after, "utf-8")
    (FOLDER / "results.tsv").write_text(report.tsv(), "utf-8")
    shown = [case for case in report.seconds if (case.vocab, case.kind, case.rows) == (SHOWN, "real", 1)]
    groups = {case.operation.title: report.seconds[case] for case in shown}
    title = f"One row of {SHOWN:,} real scores, one thread, microseconds (log scale)"
    (FOLDER / "bars.svg").write_text(bars.draw(groups, title), "utf-8")


def _us(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{1e6 * seconds:.1f}" if seconds < 1e-4 else f"{1e6 * seconds:,.0f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _header(names: list[str]) -> Iterator[str]:
    yield _row(names)
    yield _row("---" if i == 0 else "--:" for i in range(len(names)))
