"""Tests of what became of checks between two reports."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from refgrad.grading.judging.verdict import FAILURES
from refgrad.report.runs.comparison import KINDS, comparison_text, differences
from tests.report.example import example_document


def reports() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one report twice."""
    return copy.deepcopy(example_document()), copy.deepcopy(example_document())


def row(document: dict[str, Any], *verdicts: str) -> dict[str, Any]:
    """The first row of a report with one of these verdicts."""
    return next(row for row in document["verdicts"] if row["verdict"] in verdicts)


def test_a_report_does_not_differ_from_itself() -> None:
    old, new = reports()
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
def test_one_verdict_that_differs_is_the_only_difference(before: str, after: str, kind: str) -> None:
    old, new = reports()
    name = old["verdicts"][0]["id"]
    old["verdicts"][0]["verdict"], new["verdicts"][0]["verdict"] = before, after
    (found,) = differences(old, new)
    assert (found.kind, found.either.id, found.outcomes) == (kind, name, (before, after))
    assert f"{kind}: {name} (" in comparison_text(old, new, [found])


def test_checks_that_one_report_has_are_new_or_gone() -> None:
    old, new = reports()
    del old["verdicts"][0]
    del new["verdicts"][-1]
    assert [found.kind for found in differences(old, new)] == ["new", "gone"]
    assert [found.outcomes.count(None) for found in differences(old, new)] == [1, 1]


@pytest.mark.parametrize(("factor", "told"), [(11.0, True), (1 / 11, True), (9.0, False), (1 / 9, False), (1.0, False)])
def test_an_error_that_is_another_by_a_factor_of_ten_is_told(factor: float, *, told: bool) -> None:
    old, new = reports()
    for document, budgets in ((old, 100.0), (new, 100.0 * factor)):
        failing = next(row for row in document["verdicts"] if row["verdict"] in FAILURES and "evidence" in row)
        failing["evidence"]["fact"]["budgets"] = repr(budgets)
    assert [found.kind for found in differences(old, new)] == ["accuracy"] * told


def test_what_broke_comes_first() -> None:
    old, new = reports()
    row(new, *FAILURES)["verdict"] = "passed"
    row(new, "inconclusive")["verdict"] = "wrong"
    old["verdicts"][-1]["verdict"], new["verdicts"][-1]["verdict"] = "passed", "hung"
    found = [difference.kind for difference in differences(old, new)]
    assert found == sorted(found, key=KINDS.index)
    assert found[0] == "broken"
