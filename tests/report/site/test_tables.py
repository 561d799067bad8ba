"""A cell tells the worst verdict on an operator, and what was chosen at its edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.facts import Evidence
from refgrad.grading.judging.verdict import Verdict
from refgrad.report.document import read_report
from refgrad.report.pages import Graded
from refgrad.report.site.tables import Cell, conventions_of, operators_of
from tests.report.example import entry, verdict, write_example


def graded(folder: Path, *verdicts: Verdict) -> Graded:
    return Graded("example", read_report(write_example(folder, verdicts=[each.to_json() for each in verdicts])))


def test_an_operator_shows_its_worst_verdict_of_what_is_offered(tmp_path: Path) -> None:
    exp = [verdict("operators/exp", "passed"), verdict("edges/exp", "wrong", shown=True)]
    log = [verdict("operators/log", "passed"), verdict("edges/log", "unsupported")]
    sort = [verdict("operators/sort", "unsupported")]
    rows = operators_of([graded(tmp_path, *exp, *log, *sort)])
    assert [(row.name, row.cells[0].outcome, row.cells[0].failed, row.states) for row in rows] == [
        ("exp", "wrong", 1, "bad"),
        ("log", "passed", 0, "good"),
        ("sort", "unsupported", 0, "none"),
    ]


def test_an_engine_that_was_not_graded_on_an_operator_has_an_empty_cell(tmp_path: Path) -> None:
    first = graded(tmp_path, verdict("operators/exp", "passed"))
    (row,) = operators_of([first, graded(tmp_path, verdict("leaves/unused", "passed"))])
    assert row.cells[1] == Cell(None, 0, "")
    assert row.states == "good none"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("0.0", "lower end: 0 of [0, 2]"),
        ("2.0", "upper end: 2 of [0, 2]"),
        ("1.0", "in between: 1 of [0, 2]"),
        ("nan", "not a number: nan of [0, 2]"),
    ],
)
def test_a_convention_shows_which_end_was_chosen(tmp_path: Path, seen: str, told: str) -> None:
    fact = replace(entry(seen), lower="0", upper="2", qualifier="choice")
    row = replace(verdict("edges/relu", "convention"), evidence=Evidence(fact, 0))
    (found,) = conventions_of([graded(tmp_path, row), graded(tmp_path, verdict("edges/relu", "passed"))])
    assert found.summary == "x == 0"
    assert [cell.text for cell in found.cells] == [told, "passed"]
