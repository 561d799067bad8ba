"""Tests of the profiles of the random graphs that are tried."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.grading.checks import graphs
from refgrad.grading.checks.check import Family
from refgrad.grading.checks.graphs import Usable, _of_the_graph, _profile, _random, _with_right_operators
from refgrad.grading.reliance import MEETINGS
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from tests.grading.broken import bench


@pytest.mark.parametrize(
    ("scalars_only", "several", "expected"),
    [
        (False, False, {"seeds": True, "max_backwards": 1, "accumulate": False}),
        (False, True, {"seeds": True, "max_backwards": 3, "accumulate": True}),
        (True, True, {"seeds": False, "max_backwards": 3, "accumulate": True}),
    ],
)
def test_a_graph_has_any_length_and_one_backward_or_several(
    *, scalars_only: bool, several: bool, expected: dict[str, Any]
) -> None:
    bench: Any = SimpleNamespace(
        profile=dict,
        reliance=SimpleNamespace(takes_seeds=True),
        engine=SimpleNamespace(adapter=SimpleNamespace(scalars_only=scalars_only)),
    )
    profile: Any = _profile(bench, ["exp"], several=several, dtype="float32")
    fixed = {"operators": {"exp"}, "joining": 0.5, "length": (1, 32), "dtype": "float32"}
    assert profile == {**fixed, **expected}


@pytest.mark.parametrize("several", [False, True])
def test_structured_graphs_are_tried_with_one_backward(monkeypatch: pytest.MonkeyPatch, *, several: bool) -> None:
    usable = Usable(dict.fromkeys(("add", "multiply", "tanh"), MEETINGS), "")
    monkeypatch.setattr(Usable, "of", lambda _: usable)
    monkeypatch.setattr(graphs, "_profile", lambda *_, **__: None)
    monkeypatch.setattr(graphs, "_tried", lambda *arguments: arguments[-1])
    bench: Any = SimpleNamespace(reliance=SimpleNamespace(runnable=lambda _: True))
    check: Any = None
    assert bool(_random(check, bench, several=several)) is not several


@pytest.mark.parametrize(
    ("operator", "second_order", "runs"),
    [("exp", False, True), ("log", False, True), ("exp", True, True), ("log", True, False)],
)
def test_a_regression_of_second_order_needs_operators_that_are_right_twice(
    operator: str, monkeypatch: pytest.MonkeyPatch, *, second_order: bool, runs: bool
) -> None:
    monkeypatch.setattr(graphs, "is_sound_twice", lambda _, name: name != "log")
    bench: Any = SimpleNamespace(reliance=SimpleNamespace(seeded=lambda scenario: scenario))
    text = f"x = leaf float64[] {{0x1p+0}} requires_grad\ny = {operator} x\n" + "g = grad y x\n" * second_order
    check: Any = None
    assert (_with_right_operators(check, parse(text), bench) is not None) is runs


@pytest.mark.parametrize(
    ("operator", "wrong_in_isolation", "reported"), [("exp", True, True), ("log", True, False), ("log", False, True)]
)
def test_a_failure_is_the_graphs_unless_a_doubted_operator_fails_in_isolation(
    operator: str, monkeypatch: pytest.MonkeyPatch, *, wrong_in_isolation: bool, reported: bool
) -> None:
    monkeypatch.setattr(graphs, "sound", lambda _, name: name != "log")

    def isolated(_: Scenario, doubted: list[str]) -> bool:
        assert doubted == ["log"]
        return wrong_in_isolation

    bench: Any = SimpleNamespace(reliance=SimpleNamespace(wrong_in_isolation=isolated))
    check: Any = None
    scenario = parse(f"x = leaf float64[] {{0x1p+0}} requires_grad\ny = {operator} x\n")
    assert _of_the_graph(check, scenario, check, bench) is reported


def test_a_family_reports_all_failures_and_explains_none_unless_it_says_otherwise() -> None:
    nothing: Any = None
    bench: Any = SimpleNamespace(reliance=SimpleNamespace(seeded=lambda _: "seeded"))
    family = Family("lifecycles/random", lambda *_: nothing)
    assert family.reports(family.check(), nothing, nothing, bench)
    assert not family.explains(family.check(), nothing, nothing, bench)
    met: Any = family.met(family.check(), nothing, bench)
    assert met == "seeded"
    assert family.check().draws
    assert family.is_about(operator_table()["exp"])


def test_an_operator_that_is_inaccurate_by_itself_makes_no_graph_inaccurate() -> None:
    inexact = bench(operators={"exp": "torch.exp({x}) * (1 + 1e-9)"}, only={"exp", "multiply", "sum"})
    scenario = parse("""
x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p-1}
a = exp y
b = multiply x a
backward b
read grad x
""")
    for check in (family.check() for family in graphs.GRAPHS if family.name.startswith("graphs/")):
        finding = inexact.examine(scenario, check)
        assert finding.outcome == "inaccurate"
        assert check.explains(scenario, finding, inexact)
        assert not check.explains(scenario, finding, bench(only={"exp", "multiply", "sum"}))
        assert not check.explains(scenario, replace(finding, outcome="wrong"), inexact)
