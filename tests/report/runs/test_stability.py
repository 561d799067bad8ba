"""Runs with several seeds are compared check by check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.report.document import Report, ReportError
from tests.report.example import VERDICTS, example_report
from tests.report.runs.stability import Stability, page


def runs() -> list[Report]:
    """Three runs; with seed 1 the first check that fails passes."""
    failing = next(verdict for verdict in VERDICTS if verdict.verdict == "wrong")
    passed = [replace(each, verdict="passed") if each is failing else each for each in VERDICTS]
    reports = (example_report(), example_report(*passed), example_report())
    return [replace(report, seed=seed) for seed, report in enumerate(reports)]


def test_what_fails_with_some_seeds_only_is_named() -> None:
    documents = runs()
    found = Stability.of(documents)
    failed = {verdict.id for verdict in documents[0].verdicts if verdict.failed}
    (seldom,) = found.sometimes
    assert found.failing[seldom] == (0, 2)
    assert failed == {*found.always, seldom}
    told = page([found])
    assert f"- `{seldom}`: 0, 2" in told
    assert f"| {len(found.always) + 1} | {len(found.always)} |" in told


def test_runs_that_agree_have_no_list() -> None:
    same = [runs()[0], runs()[2]]
    found = Stability.of(same)
    assert found.sometimes == []
    assert "| 100% |" in page([found])


def test_runs_of_two_versions_are_refused() -> None:
    first, second, _ = runs()
    second = replace(second, engine={**second.engine, "version": "0.0"})
    with pytest.raises(ReportError, match="cannot be compared"):
        Stability.of([first, second])
