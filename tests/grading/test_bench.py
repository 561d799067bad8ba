"""Scenarios are run ahead of their examination where the engine has what they need."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.facts import Absent, Blocked, Died, Evidence, Fact, Subject
from refgrad.grading.bench import statements_of
from refgrad.grading.judging.verdict import Finding
from refgrad.native.adapter import find_adapter
from refgrad.native.statements import Call, LocalFunction
from refgrad.scenario import Scenario, parse
from tests.grading.broken import CHECKS, bench


def of(operator: str) -> Scenario:
    return parse(f"x = leaf float64[] {{0x1p+0}} requires_grad\na = {operator} x\nbackward a\nread grad x\n")


def test_what_the_engine_has_is_run_ahead_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Scenario] = []

    def noted(scenarios: list[Scenario], _engine: Any, *, seeds: bool) -> None:
        del seeds
        prepared.extend(scenarios)

    monkeypatch.setattr("refgrad.grading.bench.prepare", noted)
    bench(only={"exp"}).prepare([of("sin"), of("exp")], CHECKS["operators/exp"])
    assert prepared == [of("exp")]


def test_what_has_an_operator_whose_check_hung_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[Scenario] = []
    monkeypatch.setattr("refgrad.grading.bench.prepare", lambda scenarios, *_, **__: prepared.extend(scenarios))
    hung, scenario = bench(), of("sin")
    monkeypatch.setattr(hung, "_hung", {"operators/sin", "operators/tanh"})
    other, own = CHECKS["operators/exp"], CHECKS["operators/sin"]
    assert hung.examine(scenario, other) == Finding("inconclusive", Blocked(cause="operators/sin"))
    assert hung.examine(scenario, own).outcome == "passed"
    hung.prepare([scenario, of("exp")], other)
    hung.prepare([scenario], own)
    assert prepared == [of("exp"), scenario]


@pytest.mark.parametrize(
    ("fact", "shown"), [(Died(detail="signal 6"), True), (Absent(subject=Subject("gradient", "x")), False)]
)
def test_a_crash_is_shown_by_all_that_ran(fact: Fact, shown: bool) -> None:  # noqa: FBT001 (a column of the table)
    text = of("exp").text.replace("backward", "b = sin x\nbackward")
    statements = statements_of(parse(text), find_adapter("boost"), lambda *_: "f({x})", Evidence(fact, 5))
    assert any("b" in each.targets for each in statements if isinstance(each, Call)) == shown
    assert any(isinstance(each, LocalFunction) for each in statements) == shown
