"""Runs with several seeds are compared check by check."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from refgrad.grading.judging.verdict import FAILURES
from refgrad.report.document import ReportError
from tests.report.example import example_document
from tests.report.runs.stability import Stability, page


def runs() -> list[dict[str, Any]]:
    """Three runs; with seed 1 the first check that fails passes."""
    documents = [copy.deepcopy(example_document()) for _ in range(3)]
    for seed, document in enumerate(documents):
        document["seed"] = seed
    failing = next(row for row in documents[1]["verdicts"] if row["verdict"] == "wrong")
    failing["verdict"] = "passed"
    return documents


def test_what_fails_with_some_seeds_only_is_named() -> None:
    documents = runs()
    found = Stability.of(documents)
    failed = {row["id"] for row in documents[0]["verdicts"] if row["verdict"] in FAILURES}
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
    second["engine"]["version"] = "0.0"
    with pytest.raises(ReportError, match="cannot be compared"):
        Stability.of([first, second])
