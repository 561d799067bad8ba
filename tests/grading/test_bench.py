"""Scenarios are run ahead of their examination where the engine has what they need."""

from __future__ import annotations

from typing import Any

import pytest

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
