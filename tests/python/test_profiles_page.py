"""The page of the profiles: its script runs, and its table of the five says what they are."""

from __future__ import annotations

import re

import pytest

import pages
from sortition import Profile

PAGE = (pages.DOCS / "profiles.md").read_text(encoding="utf-8")
FIVE = re.findall(r"^\| `([\w.]+)` \| ([\w, ]+) \| [\w ]+ \| (.*) \|$", PAGE, re.MULTILINE)


def test_the_script_prints_the_order_of_transformers(capsys):
    names = pages.run("profiles.md")
    assert names["params"].min_p == 0.05
    assert capsys.readouterr().out.strip() == str(Profile.named("transformers").order)


def test_the_table_has_the_five():
    assert [name for name, *_ in FIVE] == ["sortition", "transformers", "vllm", "openai", "llama.cpp"]


@pytest.mark.parametrize(("name", "cuts", "readings"), FIVE)
def test_the_table_says_the_order_of_the_cuts_and_the_readings(name, cuts, readings):
    """A stack's cuts are those of the profile that it has itself, in their order."""
    profile, listed = Profile.named(name), cuts.split(", ")
    assert [stage for stage in profile.order if stage in listed] == listed
    assert set(re.findall(r"`(\w+)`", readings)) == set(profile.readings)
