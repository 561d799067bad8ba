"""Tests of what counts as a difference between two reports, and as a regression."""

from __future__ import annotations

import pytest

from refgrad.grading.judging.verdict import Outcome
from refgrad.report.comparison import Kind, differences
from tests.report.example import example_report, verdict


@pytest.mark.parametrize(
    ("old", "new", "kind", "is_regression"),
    [
        ("passed", "wrong", "broken", True),
        ("passed", "unsupported", "changed", True),
        ("passed", "inconclusive", "changed", False),
        ("convention", "crashed", "broken", True),
        ("unsupported", "wrong", "changed", False),
        ("wrong", "convention", "fixed", False),
        ("wrong", "missing", "changed", False),
        ("wrong", "unsupported", "changed", False),
        ("passed", None, "gone", True),
        ("wrong", None, "gone", False),
        (None, "wrong", "new", False),
    ],
)
def test_a_check_that_held_and_fails_or_is_gone_is_a_regression(
    old: Outcome | None, new: Outcome | None, kind: Kind, *, is_regression: bool
) -> None:
    same = verdict("operators/log", "wrong")
    before, after = (example_report(same, *([verdict("operators/exp", each)] if each else [])) for each in (old, new))
    (difference,) = differences(before, after)
    assert (difference.kind, difference.outcomes) == (kind, (old, new))
    assert difference.is_regression is is_regression


@pytest.mark.parametrize("outcome", ["passed", "wrong", "unsupported"])
def test_the_same_outcome_is_no_difference(outcome: Outcome) -> None:
    report = example_report(verdict("operators/exp", outcome))
    assert differences(report, report) == []
