"""The page of definitions: what every stage means, put together from the docstrings of the reference.

`python -m definitions PAGE`; `make definitions` runs it. A section says what a stage does in the words of the function
that defines it, with its examples; its parameters in the words of `SamplingParams`.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sortition import SamplingParams
from sortition.reference import cuts, penalties, philox, pipeline, profiles, rules, steered, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ABOUT_ALL", "GROUPS", "examples", "page", "stages"]

Section = tuple[str, "list[Callable[..., Any]]", list[str]]

PENALTY_PARTS = ("scope", "window", "exclude")
DRY = ["dry_multiplier", "dry_base", "dry_allowed_length", "dry_window", "dry_breakers"]

GROUPS: dict[str, tuple[str, list[Section]]] = {
    "Hard rules": (
        "Hard rules run first, in this order. No later stage brings back a token that they remove.",
        [
            ("mask", [rules.mask], []),
            ("allowed_ids", [rules.allowed_ids], ["allowed_ids"]),
            ("suppress", [rules.suppress], ["suppress"]),
            ("min_tokens", [rules.min_tokens], ["min_tokens"]),
            ("bad_words", [rules.bad_words], ["bad_words"]),
        ],
    ),
    "Changes of single scores": (
        "Each result is rounded once to float32 and kept within its finite range. What is impossible stays impossible.",
        [
            ("logit_bias", [rules.logit_bias], ["logit_bias"]),
            ("custom", [rules.custom], ["processors"]),
            *(
                (name, [apply], [f"{name}_penalty", *(f"{name}_{part}" for part in PENALTY_PARTS)])
                for name, apply in (
                    ("repetition", penalties.repetition),
                    ("frequency", penalties.frequency),
                    ("presence", penalties.presence),
                )
            ),
            ("no_repeat_ngram", [rules.no_repeat_ngram], ["no_repeat_ngram"]),
            ("dry", [penalties.dry, penalties.unbroken], DRY),
        ],
    ),
    "Temperature": (
        "Probabilities are those of the scores divided by it. Only smoothing and later changes write scores anew.",
        [
            (
                "temperature",
                [weights.written, pipeline.heat, weights.smoothed],
                ["temperature", "dynatemp_range", "dynatemp_exponent", "smoothing_factor", "smoothing_curve"],
            )
        ],
    ),
    "Cuts": (
        inspect.cleandoc(cuts.__doc__ or "").partition("\n\n")[2],
        [
            (stage, [getattr(cuts, stage)], [names] if isinstance(names, str) else names)
            for stage, names in {
                **{stage: stage for stage in profiles.CUTS},
                "typical": "typical_p",
                "xtc": ["xtc_probability", "xtc_threshold", "xtc_protect"],
            }.items()
        ],
    ),
    "Policies": (
        "A policy runs last, and remembers what was drawn.",
        [
            (
                "mirostat",
                [steered.mirostat_1, steered.mirostat_2, steered.next_mu],
                ["mirostat", "mirostat_tau", "mirostat_eta"],
            ),
            (
                "adaptive_p",
                [steered.adaptive_p, steered.adapted, steered.next_average, steered.Average.start],
                ["adaptive_target", "adaptive_decay"],
            ),
        ],
    ),
    "The draw": (
        inspect.cleandoc(weights.__doc__ or "").partition("\n\n")[2],
        [("draw", [weights.weights, weights.pick, philox.coin], ["seed"])],
    ),
}
"""The parts of the page: what is said of all stages of one, and of each the functions and the parameters."""

ABOUT_ALL = ("order", "min_keep", "readings")
"""Parameters that belong to no stage alone."""

OPENING = """\
# Definitions

This page says what each stage means. `make definitions` writes it from the docstrings of `sortition.reference`. The
tests run its examples, and check that the Rust core agrees with the same functions, token for token. Other stacks
define some stages differently; [Profiles](profiles.md) lists these differences.

The stages run in this order. First the hard rules:
{hard}.

Then the soft stages, unless `order` says otherwise:
{soft}.

A policy, if there is one, comes last, before the draw.

Probabilities are always those of the candidates left so far. Ties are never broken at random: the lower id comes first.
Scores are float32; sums and limits are float64. `None` switches a stage off, and so does an empty list of
what it bans; an empty list of `allowed_ids` allows nothing, which is an error.

{about_all}

The examples assume these imports:

```pycon
>>> import numpy as np
>>> from sortition.reference.cuts import *
>>> from sortition.reference.penalties import *
>>> from sortition.reference.philox import *
>>> from sortition.reference.pipeline import *
>>> from sortition.reference.rules import *
>>> from sortition.reference.steered import *
>>> from sortition.reference.weights import *
```
"""


def stages() -> list[str]:
    """The names of the sections."""
    return [stage for _, sections in GROUPS.values() for stage, _, _ in sections]


def described() -> dict[str, str]:
    """What `SamplingParams` says of each of its parameters."""
    attributes = inspect.cleandoc(SamplingParams.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n      .*)*)", attributes, re.MULTILINE)
    return {name: " ".join(text.split()).replace("``", "`") for name, text in entries}


def wrapped(text: str, *, indent: str = "") -> str:
    """Prose in lines of the width of this project."""
    return textwrap.fill(
        " ".join(text.split()), 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def listed(names: list[str]) -> str:
    """Parameters, one an item."""
    known = described()
    return "\n".join(wrapped(f"- `{name}`: {known[name]}", indent="  ") for name in names)


def told(function: Callable[..., Any]) -> Iterator[str]:
    """The docstring of a function: prose, and its examples as blocks."""
    for part in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        yield f"```pycon\n{part}\n```" if part.startswith(">>>") else wrapped(part)


def section(stage: str, functions: list[Callable[..., Any]], names: list[str]) -> Iterator[str]:
    """What is said of one stage."""
    yield f"### {stage}"
    if names:
        yield listed(names)
    for function in functions:
        if len(functions) > 1:
            yield f"**`{function.__qualname__}`**"
        yield from told(function)


def page() -> str:
    """All of it."""
    hard, soft = (wrapped(", ".join(f"`{stage}`" for stage in part)) for part in (profiles.HARD, profiles.SOFT))
    parts = [OPENING.format(hard=hard, soft=soft, about_all=listed(list(ABOUT_ALL))).rstrip()]
    for title, (opening, sections) in GROUPS.items():
        parts += [f"## {title}", *(wrapped(part) for part in opening.split("\n\n"))]
        for one in sections:
            parts += section(*one)
    return "\n\n".join(parts) + "\n"


def examples(text: str) -> str:
    """The examples of a page, one after the other."""
    return "\n\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))


def main() -> None:
    """Write the page."""
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
