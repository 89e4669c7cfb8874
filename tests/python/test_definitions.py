"""The page of definitions is what the reference says, it leaves nothing out, and its examples are right."""

from __future__ import annotations

import doctest
from dataclasses import fields
from pathlib import Path

import pytest

import definitions
from sortition import SamplingParams
from sortition.reference import profiles

PAGE = Path(__file__).parents[2] / "docs" / "definitions.md"


def test_the_page_is_current():
    """`make definitions` writes it."""
    assert PAGE.read_text(encoding="utf-8") == definitions.page()


def test_every_stage_has_a_section():
    """In the default order, and after them the policies and the draw."""
    assert definitions.stages() == [*profiles.HARD, *profiles.SOFT, "mirostat", "adaptive_p", "draw"]


def test_every_parameter_stands_in_one_place():
    """Beside its stage, or among those of all stages."""
    sections = [section for _, group in definitions.GROUPS.values() for section in group]
    named = [*definitions.ABOUT_ALL, *(name for _, _, names in sections for name in names)]
    assert sorted(named) == sorted(item.name for item in fields(SamplingParams) if item.init)


@pytest.mark.parametrize("stage", definitions.stages())
def test_every_section_has_an_example(stage):
    """Which is run with all others."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n### {stage}\n")[2].partition("\n###")[0]
    assert definitions.examples(section)


def test_the_examples_give_what_the_page_says():
    """One after the other, from the imports of the page on."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    examples = definitions.examples(PAGE.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(examples, {}, PAGE.name, None, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(test)
    assert result.attempted > len(definitions.stages())
    assert result.failed == 0
