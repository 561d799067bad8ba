"""Tests of what became of checks between two reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.facts import Entry, Evidence
from refgrad.grading.judging.verdict import Outcome
from refgrad.report.comparison import KINDS, comparison_text, differences
from refgrad.report.document import Report
from tests.report.example import VERDICTS, example_report


def changed(place: int, outcome: Outcome) -> Report:
    """Return the report in which one check has another outcome."""
    verdicts = [*VERDICTS]
    verdicts[place] = replace(verdicts[place], verdict=outcome)
    return example_report(*verdicts)


def test_a_report_does_not_differ_from_itself() -> None:
    old, new = example_report(), example_report()
    assert differences(old, new) == []
    assert "no difference in" in comparison_text(old, new, [])


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("passed", "wrong", "broken"),
        ("convention", "inaccurate", "broken"),
        ("wrong", "passed", "fixed"),
        ("missing", "convention", "fixed"),
        ("wrong", "crashed", "changed"),
        ("passed", "inconclusive", "changed"),
        ("unsupported", "wrong", "changed"),
    ],
)
def test_one_verdict_that_differs_is_the_only_difference(before: Outcome, after: Outcome, kind: str) -> None:
    old, new = changed(0, before), changed(0, after)
    name = VERDICTS[0].id
    (found,) = differences(old, new)
    assert (found.kind, found.either.id, found.outcomes) == (kind, name, (before, after))
    assert f"{kind}: {name} (" in comparison_text(old, new, [found])


def test_checks_that_one_report_has_are_new_or_gone() -> None:
    old, new = example_report(*VERDICTS[1:]), example_report(*VERDICTS[:-1])
    assert [found.kind for found in differences(old, new)] == ["new", "gone"]
    assert [found.outcomes.count(None) for found in differences(old, new)] == [1, 1]


@pytest.mark.parametrize(("factor", "told"), [(11.0, True), (1 / 11, True), (9.0, False), (1 / 9, False), (1.0, False)])
def test_an_error_that_is_another_by_a_factor_of_ten_is_told(factor: float, *, told: bool) -> None:
    failing = next(verdict for verdict in VERDICTS if verdict.failed and verdict.evidence)
    assert isinstance(failing.fact, Entry)
    old, new = (
        example_report(replace(failing, evidence=Evidence(replace(failing.fact, budgets=repr(budgets)), 4)))
        for budgets in (100.0, 100.0 * factor)
    )
    assert [found.kind for found in differences(old, new)] == ["accuracy"] * told


def test_what_broke_comes_first() -> None:
    outcomes: dict[int, Outcome] = {1: "passed", 9: "hung"}
    new = example_report(*(replace(v, verdict=outcomes.get(n, v.verdict)) for n, v in enumerate(VERDICTS)))
    old = changed(9, "passed")
    found = [difference.kind for difference in differences(old, new)]
    assert found == sorted(found, key=KINDS.index)
    assert found[0] == "broken"
