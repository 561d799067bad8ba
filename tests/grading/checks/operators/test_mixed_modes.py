"""Is an engine caught whose modes are right one by one, but not one over the other, and blamed for just that?"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import mixed_modes_cases, mixed_modes_scenario, second_order_scenario
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.operators.derivatives import FORWARD_MODE, MIXED_MODES, SECOND_ORDER
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.lifecycle import predict, required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, reproduce
from refgrad.scenario import Backward, Grad, Scenario, parse
from refgrad.scenario.rewrite import in_modes
from tests.native.reference import ADAPTER

AUTOGRAD = find_adapter("autograd")

CUT_OFF = """
from autograd.extend import defjvp, defvjp, primitive
from autograd.tracer import getval

@primitive
def cut_off(x):
    return np.tanh(x)

defvjp(cut_off, lambda ans, x: lambda g: g / np.cosh(x) ** 2)
defjvp(cut_off, lambda g, ans, x: g / np.cosh(getval(x)) ** 2)
"""
"""A tanh whose forward rule takes its slope for a constant."""

TWICE = """
x = leaf float64[2] {0x1p+0 0x1.8p+0} requires_grad
y = multiply x x
z = multiply y x
h = grad z x seed float64[2] {0x1p+0 0x1p+1}
backward h seed float64[2] {0x1p+0 -0x1p+0}
read grad x
read value h
"""


def verdict(engine: Engine, operator: str) -> Verdict:
    return Bench(engine, Settings("standard")).grade(MIXED_MODES.check(operator))


def modes(scenario: Scenario) -> tuple[bool, ...]:
    return tuple(step.forward for step in scenario.steps if isinstance(step, Backward | Grad))


@given(seed=st.integers(0, 2**64 - 1), name=st.sampled_from(["tanh", "multiply", "matmul", "where"]))
def test_a_scenario_is_one_of_second_order_in_other_modes(seed: int, name: str) -> None:
    scenario = mixed_modes_scenario(seed, name)
    assert any(modes(scenario))
    assert in_modes(scenario, [False]) == second_order_scenario(seed, name)
    assert parse(scenario.text) == scenario == Scenario.from_json(scenario.to_json())
    assert predict(scenario) == predict(second_order_scenario(seed, name))
    assert required_features(scenario) == required_features(second_order_scenario(seed, name)) | {"mixed_modes"}


def test_every_operand_is_differentiated_first_in_each_pair_of_modes() -> None:
    cases = mixed_modes_cases("multiply", Bench(Engine(AUTOGRAD), Settings()).profile(), weighted=True)
    tried = {(case.gradients[0].leaf, *modes(case)) for case in cases}
    assert {leaf for leaf, *_ in tried} == {"x1", "x2"}
    assert tried == {(leaf, *both) for leaf, *_ in tried for both in product((False, True), repeat=2) if any(both)}


def test_operators_with_derivatives_have_a_check() -> None:
    checked = {check.operator_name for check in all_checks() if check.chapter == "mixed_modes"}
    assert checked == {check.operator_name for check in all_checks() if check.chapter == "second_order"}


@pytest.mark.parametrize("name", ["multiply", "tanh", "matmul", "sum", "where"])
def test_an_engine_that_is_right_in_all_modes_passes(name: str) -> None:
    assert verdict(Engine(AUTOGRAD), name).verdict == "passed"


def test_a_slope_that_forward_mode_takes_for_a_constant_is_wrong_there_alone() -> None:
    operators = AUTOGRAD.operators | {"tanh": "cut_off({x})"}
    engine = Engine(replace(AUTOGRAD, name="cut off", setup=AUTOGRAD.setup + CUT_OFF, operators=operators))
    bench = Bench(engine, Settings("standard"))
    assert {bench.grade(f.check("tanh")).verdict for f in (SECOND_ORDER, FORWARD_MODE)} == {"passed"}
    found = bench.grade(MIXED_MODES.check("tanh"))
    assert found.verdict == "wrong"
    assert modes(parse(found.scenario)) == (True, False)
    assert bench.grade(MIXED_MODES.check("exp")).verdict == "passed"
    assert len(parse(found.scenario).steps) == 5


def test_an_operator_that_is_wrong_in_one_mode_is_not_judged() -> None:
    setup = AUTOGRAD.setup + CUT_OFF + "defjvp(cut_off, lambda g, ans, x: 2 * g)\n"
    operators = AUTOGRAD.operators | {"tanh": "cut_off({x})"}
    found = verdict(Engine(replace(AUTOGRAD, name="wrong", setup=setup, operators=operators)), "tanh")
    assert (found.verdict, found.message) == ("inconclusive", "forward_mode/tanh fails already")


def test_an_engine_of_one_mode_is_not_asked_for_two() -> None:
    found = verdict(Engine(ADAPTER), "tanh")
    assert (found.verdict, found.message) == ("unsupported", "the engine has no mixed_modes")


@pytest.mark.parametrize("both", list(product((False, True), repeat=2)))
def test_programs_show_what_is_right_in_each_pair_of_modes(both: tuple[bool, bool]) -> None:
    scenario, shown = in_modes(parse(TWICE), both), dict[str, object]()
    exec(reproduce(scenario, Engine(AUTOGRAD)), shown)
    gradient = next(value for name, value in shown.items() if name.startswith("gradient"))
    assert list(gradient) == [6.0, -18.0]  # type: ignore[call-overload]  # 6 x times both seeds
