"""Is an engine caught whose modes are right one by one, but not one over the other, and blamed for just that?"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.generation import mixed_modes_cases, mixed_modes_scenario, second_order_scenario
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.operators import derivatives
from refgrad.grading.checks.operators.derivatives import FORWARD_MODE, MIXED_MODES, SECOND_ORDER, _in_mixed_modes
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.lifecycle import predict, required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, reproduce
from refgrad.scenario import Backward, Grad, Scenario, parse
from refgrad.scenario.rewrite import in_modes
from tests.effort import sampled
from tests.native.reference import ADAPTER

pytestmark = pytest.mark.turns(2)

AUTOGRAD = find_adapter("autograd")

SPELLED = """
from autograd.extend import defjvp, defvjp, primitive
from autograd.tracer import getval, isbox

@primitive
def bent(x):
    return np.tanh(x)

def still(x, mode):  # x is a constant for the outer derivative, if that is in this mode
    return getval(x) if isbox(x) and type(x._node).__name__ == mode else x

def slope(x):
    return 1 / np.cosh(x) ** 2

def pull(x):
    return slope(x)

def push(x):
    return slope(x)

defvjp(bent, lambda ans, x: lambda g: g * pull(x))
defjvp(bent, lambda g, ans, x: g * push(x))
"""
"""A tanh with a rule for each mode."""

FAULTS = {
    (False, True): "def pull(x): return slope(still(x, 'JVPNode'))",
    (True, False): "def push(x): return slope(still(x, 'VJPNode'))",
    (True, True): "def push(x): return slope(still(x, 'JVPNode'))",
}
"""A rule that takes its slope for a constant, by the only modes in which that is wrong."""

PRODUCTS = """
@primitive
def times(x, y):
    return np.multiply(x, y)

defvjp(times, lambda ans, x, y: lambda g: np.sum(g * y), lambda ans, x, y: lambda g: np.sum(g * x))
defjvp(times, lambda g, ans, x, y: g * still(y, "VJPNode"), lambda g, ans, x, y: g * still(x, "VJPNode"))
"""
"""A product of scalars that is wrong in reverse mode over forward mode."""

TWICE = """
x = leaf float64[2] {0x1p+0 0x1.8p+0} requires_grad
y = multiply x x
z = multiply y x
h = grad z x seed float64[2] {0x1p+0 0x1p+1}
backward h seed float64[2] {0x1p+0 -0x1p+0}
read grad x
read value h
"""


def bench(*setup: str, profile: str = "standard", **operators: str) -> Bench:
    text, spelled = "\n".join((AUTOGRAD.setup, SPELLED, *setup)), {**AUTOGRAD.operators, **operators}
    return Bench(Engine(replace(AUTOGRAD, name="changed", setup=text, operators=spelled)), Settings(profile))


def verdict(bench: Bench, operator: str) -> Verdict:
    return bench.grade(MIXED_MODES.check(operator))


def modes(scenario: Scenario) -> tuple[bool, ...]:
    return tuple(step.forward for step in scenario.steps if isinstance(step, Backward | Grad))


@settings(max_examples=30)
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


def test_an_engine_that_is_right_in_all_modes_passes() -> None:
    right = Bench(Engine(AUTOGRAD), Settings("smoke"))
    assert {verdict(right, name).verdict for name in ("multiply", "exp", "matmul", "sum", "divide")} == {"passed"}


def test_a_rule_that_is_right_in_all_modes_passes() -> None:
    assert verdict(bench(tanh="bent({x})"), "tanh").verdict == "passed"


@pytest.mark.parametrize("both", sampled(((pair,) for pair in FAULTS), 3))
def test_a_slope_that_is_a_constant_only_in_one_pair_of_modes_is_wrong_there_alone(both: tuple[bool, bool]) -> None:
    changed = bench(FAULTS[both], tanh="bent({x})")
    found = verdict(changed, "tanh")
    assert found.verdict == "wrong"
    assert modes(parse(found.scenario)) == both
    assert len(parse(found.scenario).steps) == 5
    assert changed.grade(FORWARD_MODE.check("tanh")).verdict == "passed"
    assert verdict(changed, "exp").verdict == "passed"


def test_a_point_that_is_wrong_in_reverse_mode_hides_nothing() -> None:
    changed = bench(FAULTS[True, False], tanh="bent({x})")
    second = changed.grade(SECOND_ORDER.check("tanh"))
    assert (second.verdict, second.message.count("is nan")) == ("wrong", 1)  # cosh overflows
    assert (verdict(changed, "tanh").verdict, verdict(changed, "tanh").cause) == ("wrong", second.id)


def test_an_inaccuracy_of_one_mode_explains_that_of_two() -> None:
    changed = bench("def push(x): return slope(x) * (1 + 1e-9)", tanh="bent({x})")
    assert changed.grade(FORWARD_MODE.check("tanh")).verdict == "inaccurate"
    assert verdict(changed, "tanh").verdict == "passed"


@pytest.mark.parametrize(
    ("rule", "outcome", "cause"),
    [
        ("defjvp(bent, lambda g, ans, x: 2 * g)", "wrong", "forward_mode/tanh"),
        ("defjvp(bent, lambda g, ans, x: g * mispelt)", "unexpected-error", "forward_mode/tanh"),
        ("del autograd.core.primitive_jvps[bent]", "unsupported", ""),
    ],
)
def test_a_fault_of_forward_mode_is_reported_once(rule: str, outcome: str, cause: str) -> None:
    changed = bench(rule, profile="smoke", tanh="bent({x})")
    assert changed.grade(FORWARD_MODE.check("tanh")).verdict == outcome
    found = verdict(changed, "tanh")
    assert (found.failed, found.cause) == (False, cause)
    assert (found.verdict == "unsupported") is (outcome == "unsupported")


def test_a_product_that_is_wrong_is_blamed_on_no_other_operator() -> None:
    changed = bench(PRODUCTS, multiply="times({x}, {y}) if np.ndim({x}) == np.ndim({y}) == 0 else {x} * {y}")
    found = {name: verdict(changed, name).verdict for name in ("multiply", "sin", "exp")}
    assert found == {"multiply": "wrong", "sin": "passed", "exp": "passed"}


def test_an_engine_of_one_mode_is_not_asked_for_two() -> None:
    found = verdict(Bench(Engine(ADAPTER), Settings("smoke")), "tanh")
    assert (found.verdict, found.message) == ("unsupported", "the engine has no mixed_modes")


@pytest.mark.parametrize("both", list(product((False, True), repeat=2)))
def test_programs_show_what_is_right_in_each_pair_of_modes(both: tuple[bool, bool]) -> None:
    scenario, shown = in_modes(parse(TWICE), both), dict[str, object]()
    exec(reproduce(scenario, Engine(AUTOGRAD)), shown)
    gradient = next(value for name, value in shown.items() if name.startswith("gradient"))
    assert list(gradient) == [6.0, -18.0]  # type: ignore[call-overload]  # 6 x times both seeds


@pytest.mark.parametrize(
    ("operator", "products_fail", "weighted"), [("tanh", False, True), ("tanh", True, False), ("multiply", True, True)]
)
def test_outputs_are_multiplied_only_if_products_are_right_in_mixed_modes(
    operator: str, monkeypatch: pytest.MonkeyPatch, *, products_fail: bool, weighted: bool
) -> None:
    seen: list[bool] = []
    bench: Any = SimpleNamespace(grade=lambda _: SimpleNamespace(failed=products_fail))
    monkeypatch.setattr(derivatives, "_modes", lambda *_: [])
    monkeypatch.setattr(derivatives, "_undecided", lambda *_: None)
    monkeypatch.setattr(derivatives, "_weighted", lambda *_: True)
    passed = Verdict("modes", "", "", "MUST", "passed")

    def tried(*_: Any, weighted: bool, **__: Any) -> Verdict:
        seen.append(weighted)
        return passed

    monkeypatch.setattr(derivatives, "_tried", tried)
    _in_mixed_modes(MIXED_MODES.check(operator), bench)
    assert seen == [weighted]
