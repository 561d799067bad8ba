"""Tests of plain programs: a wrong gradient is described in one line, with the operator if it can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from refgrad.grading.trials import WITH_KEPT_GRADIENTS, sends_kept_gradients_again, suspected_faults
from refgrad.lifecycle import Policy
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine
from tests.grading import scalar_tape

ADAPTER = TapeAdapter(
    name="scalar",
    setup=scalar_tape.SOURCE,
    leaf="Value({scalar})",
    value="{x}.data",
    backward="{output}.backward()",
    gradient="{leaf}.grad",
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}", "tanh": "{x}.tanh()"},
    policy=Policy(frees="never", keeps="all"),
    scalars_only=True,
)


HALF = "2.0000000000000000 (relative error 5.0e-01, 4.5e+15 times what rounding explains)"
TWO = "backward from `x + y`, then from `y + x` at x = 1.5, y = 2.25: the gradient of x is"


def lines(setup: str, *operators: str, policy: Policy = ADAPTER.policy) -> list[str]:
    """Return the lines on the faults of an engine that has some operators, or all."""
    spelled = {name: ADAPTER.operators[name] for name in operators or ADAPTER.operators}
    engine = Engine(replace(ADAPTER, setup=setup, operators=spelled, policy=policy))
    return suspected_faults(engine)


def test_an_engine_with_right_gradients_has_no_suspected_fault() -> None:
    assert lines(scalar_tape.SOURCE) == lines(scalar_tape.SOURCE, "multiply") == []


@pytest.mark.parametrize(
    ("setup", "where", "gradient", "truth"),
    [
        (
            scalar_tape.PRODUCT_ASSIGNS,
            "multiply: backward from `(x * y) * x` at x = 1.5, y = 2.25",
            "3.375",
            "6.7500000000000000 (relative error 5.0e-01, 1.5e+15 times what rounding explains)",
        ),
        (
            scalar_tape.SECOND_FACTOR_ASSIGNS,
            "multiply: backward from `x * x` at x = 1.5",
            "1.5",
            "3.0000000000000000 (relative error 5.0e-01, 2.25e+15 times what rounding explains)",
        ),
        (scalar_tape.SUM_ASSIGNS, "add: backward from `(x + y) + x` at x = 1.5, y = 2.25", "1.0", HALF),
        (
            scalar_tape.TANH_ASSIGNS,
            "tanh: backward from `tanh(x) + x` at x = 1.5",
            "0.18070663892364858",
            "1.1807066389236485 (relative error 8.5e-01, 1.84e+15 times what rounding explains)",
        ),
        (
            scalar_tape.WRONG_PRODUCT,
            "multiply: backward from `x * y` at x = 1.5, y = 2.25",
            "1.5",
            "2.2500000000000000 (relative error 3.3e-01, 1.5e+15 times what rounding explains)",
        ),
    ],
)
def test_a_wrong_gradient_is_traced_to_its_operator(setup: str, where: str, gradient: str, truth: str) -> None:
    assert lines(setup) == [f"suspected fault in {where}: the gradient of x is {gradient}, but the truth is {truth}"]


@pytest.mark.parametrize(
    ("setup", "fault"),
    [
        (scalar_tape.ALL_ASSIGN, "backward from `x + x` at x = 1.5: the gradient of x is 1.0"),
        (scalar_tape.EARLY_PARENTS, "backward from `(x + y) + x` at x = 1.5, y = 2.25: the gradient of x is 1.0"),
        (scalar_tape.DOUBLES, f"{TWO} 3.0"),
    ],
)
def test_a_fault_of_the_backward_pass_names_no_operator(setup: str, fault: str) -> None:
    assert lines(setup) == [f"suspected fault: {fault}, but the truth is {HALF}"]


def test_a_declared_policy_is_no_fault() -> None:
    declared = replace(ADAPTER.policy, accumulates="overwrites")
    assert lines(scalar_tape.OVERWRITES, policy=declared) == []
    assert lines(scalar_tape.OVERWRITES) == [f"suspected fault: {TWO} 1.0, but the truth is {HALF}"]


def test_templates_that_give_no_right_gradient_are_not_blamed_on_the_engine() -> None:
    negated = scalar_tape.SOURCE.replace("self.grad = 1.0", "self.grad = -1.0")
    assert lines(negated) == []


@pytest.mark.parametrize(
    ("setup", "again"),
    [
        (scalar_tape.SOURCE, True),
        (scalar_tape.KEEPS_SEED, True),
        (scalar_tape.FORGETS, False),
        (scalar_tape.OVERWRITES, False),
        (scalar_tape.DOUBLES, False),
        (scalar_tape.PRODUCT_ASSIGNS, False),
        (scalar_tape.SUM_ASSIGNS, False),
        (scalar_tape.EARLY_PARENTS, False),
    ],
)
def test_kept_gradients_are_distinguished_from_faults(setup: str, *, again: bool) -> None:
    assert sends_kept_gradients_again(Engine(replace(ADAPTER, setup=setup))) is again


@pytest.mark.parametrize(("name", "slopes"), [("add", lambda _x, _y: (1.0, 1.0)), ("multiply", lambda x, y: (y, x))])
@pytest.mark.parametrize("seed_is_kept", [False, True])
def test_two_backwards_with_kept_gradients_add_up_to_the_numbers_of_the_table(
    name: str, slopes: Callable[[float, float], tuple[float, float]], *, seed_is_kept: bool
) -> None:
    x, y = 1.5, 2.25
    a = x + y if name == "add" else x * y
    gradients = dict.fromkeys("abxy", 0.0)
    for _ in range(2):
        gradients["b"] = gradients["b"] * seed_is_kept + 1.0
        by_a, by_x = slopes(a, x)
        gradients["a"] += by_a * gradients["b"]
        gradients["x"] += by_x * gradients["b"]
        by_x, by_y = slopes(x, y)
        gradients["x"] += by_x * gradients["a"]
        gradients["y"] += by_y * gradients["a"]
    assert WITH_KEPT_GRADIENTS[name][seed_is_kept] == (gradients["x"], gradients["y"])
