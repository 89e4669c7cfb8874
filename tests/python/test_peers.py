"""A profile leaves what its stack leaves: on random rows, each stage alone and many together, beside the stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers.registry import NAMES, counted, stages
from peers.table import column, recorded

pytestmark = pytest.mark.heavy

PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"
TRIALS = [(profile, stage) for profile in NAMES for stage in stages(profile)]


@pytest.mark.parametrize(("profile", "stage"), TRIALS)
def test_a_profile_leaves_the_tokens_and_the_probabilities_that_its_stack_leaves(profile, stage):
    """No row differs but those where rounding decides, which are found before the stack is asked, and are few."""
    counts = counted(profile, stage)
    assert counts.different == []
    assert counts.edge <= counts.rows // 8


@pytest.mark.parametrize("profile", NAMES)
def test_the_table_of_the_page_is_what_a_run_gives(profile):
    """`make parity` writes it."""
    assert recorded(PAGE.read_text(encoding="utf-8"), profile) == column(profile)
