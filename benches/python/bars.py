"""Bars by operation on a logarithmic scale, as SVG: short is fast."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from rivals import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDTH, LEFT, RIGHT, TOP = 900, 130, 70, 58
BAR, GAP, HEADING = 14, 4, 26
INK, FAINT, GRID = "#24292f", "#57606a", "#d0d7de"
COLOURS = {OURS: "#0969da", "pass": "#8c959f"}
OTHERS = "#d4a72c"


def draw(groups: Mapping[str, Mapping[str, float]], title: str) -> str:
    """The picture; `groups` has seconds by rival by operation."""
    spans = [1e6 * seconds for times in groups.values() for seconds in times.values()] or [1.0, 10.0]
    low, high = (math.floor(math.log10(min(spans))), math.ceil(math.log10(max(spans))))
    bottom = TOP + sum(HEADING + len(times) * (BAR + GAP) for times in groups.values())
    return "\n".join([*_frame(title, low, high, bottom), *_groups(groups, low, high), "</svg>", ""])


def _x(us: float, low: int, high: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(us) - low) / (high - low)


def _frame(title: str, low: int, high: int, bottom: int) -> Iterator[str]:
    size = f'width="{WIDTH}" height="{bottom + 20}" viewBox="0 0 {WIDTH} {bottom + 20}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">'
    yield f"<title>{escape(title)}</title>"
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    yield f'<text x="12" y="24" font-size="16" font-weight="bold" fill="{INK}">{escape(title)}</text>'
    for power in range(low, high + 1):
        x = _x(10.0**power, low, high)
        yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="{GRID}"/>'
        yield f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle" fill="{FAINT}">{10**power:,} µs</text>'


def _groups(groups: Mapping[str, Mapping[str, float]], low: int, high: int) -> Iterator[str]:
    y = TOP
    for heading, times in groups.items():
        yield f'<text x="12" y="{y + 18}" font-weight="bold" fill="{INK}">{escape(heading)}</text>'
        y += HEADING
        for name in sorted(times, key=lambda name: (name != "pass", times[name])):
            yield from _bar(name, 1e6 * times[name], y, low, high)
            y += BAR + GAP


def _bar(name: str, us: float, y: int, low: int, high: int) -> Iterator[str]:
    end = _x(us, low, high)
    weight = ' font-weight="bold"' if name == OURS else ""
    label = "memory pass" if name == "pass" else name
    base = y + BAR - 3
    yield f'<text x="{LEFT - 8}" y="{base}" text-anchor="end" fill="{INK}"{weight}>{escape(label)}</text>'
    colour = COLOURS.get(name, OTHERS)
    yield f'<rect x="{LEFT}" y="{y}" width="{max(1.0, end - LEFT):.1f}" height="{BAR}" fill="{colour}"/>'
    number = f"{us:,.0f}" if us >= 100 else f"{us:.1f}"
    yield f'<text x="{end + 5:.1f}" y="{base}" fill="{FAINT}"{weight}>{number}</text>'
