"""A measured behaviour shows the measurement's own program, and else the one that its scenario is."""

from __future__ import annotations

import pytest

from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.measurements import Shown
from refgrad.scenario import parse
from tests.grading.broken import CHECKS, bench

SCENARIO = parse("x = leaf float64[] {0x1p+0} requires_grad\na = exp x\nbackward a\nread grad x\n")


def measured(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> Verdict:
    monkeypatch.setattr("refgrad.grading.checks.statements.behaviour_checks.take_measurement", lambda *_: shown)
    return bench().grade(CHECKS["release/training_does_not_grow"])


@pytest.mark.parametrize("scenario", [None, SCENARIO])
def test_the_program_of_a_measurement_is_shown(monkeypatch: pytest.MonkeyPatch, scenario: object) -> None:
    found = measured(monkeypatch, Shown("wrong", "it grows", "print('grown')", scenario))  # type: ignore[arg-type]
    assert (found.verdict, found.message, found.reproduction) == ("wrong", "it grows", "print('grown')")


def test_the_program_of_its_scenario_is_shown_where_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "exp" in measured(monkeypatch, Shown("wrong", scenario=SCENARIO)).reproduction
