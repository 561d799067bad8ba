"""Is an engine caught whose first and second derivatives are right, but not the third?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from refgrad.generation import (
    double_backward_scenario,
    operator_scenario,
    second_order_scenario,
    third_order_scenario,
)
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.operators.derivatives import THIRD_ORDER
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.engine_names import registered_engines
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from tests.effort import sampled
from tests.generation.scenario_audit import has_stress_values
from tests.generation.triple_backward import triple_backward_scenario
from tests.grading.broken import bench, verdict
from tests.native.reference import ADAPTER

pytestmark = pytest.mark.turns(2)

WITHOUT_A_TERM = """
import refgrad.engine as torch

def without_a_term(value, term, x):  # the right value, gradient and second derivative, but the third lacks this term
    step = x - x.detach()
    return value - step * step * step * term.detach() / 6
"""

FAULTS = {
    "exp": "without_a_term(torch.exp({x}), torch.exp({x}), {x})",
    "sin": "without_a_term(torch.sin({x}), -2 * torch.cos({x}), {x})",
    "tanh": "without_a_term(torch.tanh({x}), torch.cosh({x}) * 1e-3, {x})",
    "log": "without_a_term(torch.log({x}), 2e-6 / ({x} * {x} * {x}), {x})",
}
"""Operators whose third derivative is gone, of the wrong sign, off by a thousandth, and off by a millionth of it."""

SEEDS = range(15)
FAILED = {"wrong", "inaccurate"}

DIFFERENTIABLE = [name for name, operator in operator_table().items() if operator.differentiable_arguments]

CUBE = """
x = leaf float64[] {0x1.8p+0} requires_grad
s = multiply x x
l = multiply s x
h = grad l x
g = grad h x
backward g
read grad x
read value h
read value g
"""


def faulty(operator: str) -> Engine:
    spelled = {**ADAPTER.operators, operator: FAULTS[operator]}
    return Engine(replace(ADAPTER, name="faulty", setup=WITHOUT_A_TERM, operators=spelled))


@pytest.mark.parametrize("operator", FAULTS)
def test_a_third_derivative_that_is_wrong_is_caught(operator: str) -> None:
    engine = faulty(operator)
    outcomes = [examine(third_order_scenario(seed, operator), engine).outcome for seed in SEEDS]
    assert set(outcomes) <= {"passed", *FAILED}
    assert sum(outcome in FAILED for outcome in outcomes) >= len(SEEDS) // 3


def test_the_check_reports_it() -> None:
    assert verdict(Bench(faulty("exp"), Settings("smoke")), "third_order/exp").verdict in FAILED


@pytest.mark.parametrize("operator", FAULTS)
def test_nothing_but_the_third_derivative_is_wrong_in_it(operator: str) -> None:
    engine = faulty(operator)
    for seed in SEEDS:
        for scenario in (operator_scenario(seed, operator), second_order_scenario(seed, operator)):
            if not has_stress_values(scenario):  # what makes the fault overflows there
                assert examine(scenario, engine).outcome == "passed"


def test_the_check_draws_first_gradients_with_and_without_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a weight of the first gradient the second one reaches a rule by two ways; without, zeros stay visible."""
    engine, drawn = bench(), list[Scenario]()
    assert verdict(engine, "second_order/exp").verdict == verdict(engine, "second_order/multiply").verdict == "passed"

    def searched(self: Bench, check: Check, make: Callable[[int], Scenario], _examples: int, **_fields: Any) -> Verdict:
        drawn.extend(map(make, range(60)))
        return self.verdict(check, "passed")

    monkeypatch.setattr(Bench, "search", searched)
    assert verdict(engine, "third_order/exp").verdict == "passed"
    weighted = sum("v" in scenario.definitions for scenario in drawn)
    assert 30 < weighted < 60


@pytest.mark.parametrize("operator", sampled(DIFFERENTIABLE, 6, turns=3))
def test_the_reference_engine_passes(operator: str) -> None:
    for seed in range(3):
        assert examine(third_order_scenario(seed, operator), start(ADAPTER)).outcome in {"passed", "inconclusive"}


def test_the_reference_engine_passes_on_graphs() -> None:
    outcomes = [examine(triple_backward_scenario(seed), start(ADAPTER)).outcome for seed in range(60)]
    assert set(outcomes) <= {"passed", "inconclusive"}
    assert outcomes.count("passed") > 55


@pytest.mark.engines
@pytest.mark.parametrize("name", ["refgrad", "torch", "autograd"])
def test_a_gradient_of_a_gradient_is_recorded_again(name: str) -> None:
    if name != "refgrad":
        pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    assert name in registered_engines()
    engine = start(find_adapter(name))
    assert examine(parse(CUBE), engine).outcome == "passed"
    plain = ["exp", "tanh", "multiply", "divide", "matmul"]
    for operator in plain if name == "autograd" else [*plain, "prod"]:  # HIPS autograd's prod fails at zeros by itself
        for seed in SEEDS:
            scenario = third_order_scenario(seed, operator)
            if not has_stress_values(scenario):  # at 800 HIPS autograd's tanh has no second derivative
                assert examine(scenario, engine).outcome == "passed"


def test_what_follows_from_a_gradient_that_need_not_be_recorded_is_open() -> None:
    text = (
        "x = leaf float64[] {0x1p+0} requires_grad\nl = relu x\nh = grad l x\ng = grad h x\nbackward g\nread grad x\n"
    )
    silent = start(replace(ADAPTER, name="silent", gradient="None"))
    assert examine(parse(text), start(ADAPTER)).outcome == "passed"
    assert examine(parse(text), silent).outcome == "passed"


def fails(scenario: Scenario, engine: Engine) -> bool:
    return examine(scenario, engine).outcome in FAILED


def test_graphs_find_it_too() -> None:
    engine = faulty("exp")
    with_exp = [s for s in map(triple_backward_scenario, range(150)) if "exp" in s.operators]
    assert any(fails(scenario, engine) for scenario in with_exp)
    twice = [s for s in map(double_backward_scenario, range(150)) if "exp" in s.operators]
    assert not any(fails(scenario, engine) for scenario in twice)


def test_two_gradients_of_one_tensor_are_of_second_order() -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\nl = exp x\ng = grad l x\nh = grad l x\nbackward h\n"
    scenario, engine = parse(text), faulty("exp")
    finding = examine(scenario, engine)
    assert not THIRD_ORDER.check("exp").reports(scenario, finding, Bench(engine, Settings("smoke")))
