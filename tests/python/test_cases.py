"""Every case in tests/data holds, for the reference and for the package.

What cannot be run is named, with its reason, and the run prints it: a case of a stage that the package does not have
yet must fail (an unexpected pass is a failure), and the cases of stop strings have a runner of their own.
"""

from __future__ import annotations

from typing import Any

import pytest

from cases import FILES, Case, PackageSide, ReferenceSide, Side, load
from expectations import run

CASES = [case for file in FILES for case in load(file)]

ELSEWHERE = dict.fromkeys(("text", "more/characters"), "run by test_text_cases.py")
"""Files that have a runner of their own."""

NOT_YET = {
    "table": "beam_search",
}
"""Parameters and fields of a case that the package does not cover yet, and where it will."""

ONLY_THE_PACKAGE = {
    "ParameterError": "the reference is given valid parameters",
    "differs": "the reference takes no entropy",
    "json_safe": "the reference has no dictionary",
    "text": "the reference has no loop",
}
"""Expectations, by name or by value, that the reference has no say in."""


def not_yet(case: Case) -> list[str]:
    """What the case needs and the package does not have."""
    named = set(case.fields) | set(case.params)
    if "draft" in named:
        named.remove("rows")  # of one sampler, no batch
    return sorted(named & set(NOT_YET))


def parameters(side: Side, cases: list[Case]) -> list[Any]:
    """The cases of one side, each with what stands in its way."""
    result = []
    for case in cases:
        marks: list[pytest.MarkDecorator] = []
        if case.file in ELSEWHERE:
            marks.append(pytest.mark.skip(reason=ELSEWHERE[case.file]))
        elif isinstance(side, ReferenceSide):
            words = {*case.expect, *(value for value in case.expect.values() if isinstance(value, str))}
            marks += [pytest.mark.skip(reason=ONLY_THE_PACKAGE[word]) for word in sorted(words & set(ONLY_THE_PACKAGE))]
        elif missing := not_yet(case):
            reason = f"not yet in the package: {', '.join(missing)}"
            marks.append(pytest.mark.xfail(strict=True, reason=reason))
        result.append(pytest.param(side, case, marks=marks, id=f"{side.name}-{case.file}-{case.id}"))
    return result


@pytest.mark.parametrize(("side", "case"), parameters(ReferenceSide(), CASES) + parameters(PackageSide(), CASES))
def test_case(side: Side, case: Case) -> None:
    """All that the case expects comes true."""
    run(case, side)


def test_every_case_has_an_expectation_and_a_name_of_its_own() -> None:
    """A case that expects nothing, or hides behind another's name, would prove nothing."""
    assert all(case.expect for case in CASES)
    assert len({case.id for case in CASES}) == len(CASES)
