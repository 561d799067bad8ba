"""A measured behaviour shows the measurement's own program, and else the one that its scenario is."""

from __future__ import annotations

import pytest

from refgrad.facts import Error
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.measurements import Reading
from refgrad.native.observation import Raised
from refgrad.native.statements import Code
from refgrad.scenario import parse
from tests.grading.broken import CHECKS, bench

SCENARIO = parse("x = leaf float64[] {0x1p+0} requires_grad\na = exp x\nbackward a\nread grad x\n")


def measured(monkeypatch: pytest.MonkeyPatch, shown: Reading) -> Verdict:
    monkeypatch.setattr("refgrad.grading.checks.behaviour_checks.take_measurement", lambda *_: shown)
    return bench().grade(CHECKS["release/training_does_not_grow"])


@pytest.mark.parametrize("scenario", [None, SCENARIO])
def test_the_program_of_a_measurement_is_shown(monkeypatch: pytest.MonkeyPatch, scenario: object) -> None:
    found = measured(monkeypatch, Reading("wrong", "it grows", "print('grown')", scenario))  # type: ignore[arg-type]
    assert (found.verdict, found.message, found.reproduction) == ("wrong", "it grows", (Code("print('grown')"),))


@pytest.mark.parametrize(("bases", "level"), [(("DeepError", "RecursionError"), "SHOULD"), (("MemoryError",), "MUST")])
def test_python_s_stack_is_no_must(monkeypatch: pytest.MonkeyPatch, bases: tuple[str, ...], level: str) -> None:
    fact = Error(error=Raised(bases[0], "", bases))
    found = measured(monkeypatch, Reading("crashed", "n = 1,562", "attempt(1562)", fact=fact))
    assert (found.verdict, found.level) == ("crashed", level)


def test_the_program_of_its_scenario_is_shown_where_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "exp" in str(measured(monkeypatch, Reading("wrong", scenario=SCENARIO)).reproduction)
