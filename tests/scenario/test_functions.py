"""Functions of the user's own: are their rules the derivatives that they say, and what do calls become?"""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.interpreter import float64_values
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import Apply, Constant, Leaf, Scenario, ScenarioError, Step, parse
from refgrad.scenario.functions import COTANGENT, ScenarioFunction, scenario_functions
from refgrad.scenario.rewrite import inlined, renamed
from tests.effort import each

FUNCTIONS = scenario_functions()


def leaves(function: ScenarioFunction) -> list[Step]:
    """Return leaves with the names of the arguments and of the cotangent."""
    numbers = np.array([[0.7, -1.3, 0.4], [-0.6, 0.9, 1.2], [1.1, -0.8, 0.5]])
    names = (*function.arguments, COTANGENT)
    return [Leaf(name, Constant.of(n), requires_grad=True) for name, n in zip(names, numbers, strict=False)]


@each("function", FUNCTIONS.values())
def test_a_rule_is_the_derivative_of_its_slopes(function: ScenarioFunction) -> None:
    given = leaves(function)
    oracle = CertifiedOracle(Scenario((*given, *function.slopes)))
    forward = renamed(
        function.forward, {step.defines or "": f"forward_{step.defines}" for step in function.forward[:-1]}
    )
    values = float64_values(Scenario((*given, *forward, *function.backward)))
    seed = next(step.value for step in given if isinstance(step, Leaf) and step.name == COTANGENT)
    for argument in function.arguments:
        gradient, output = function.gradient(argument), function.slopes[-1].defines or ""
        truth = oracle.gradient(argument, ((output, seed),))
        found = 0 * values[argument] if gradient is None else values[gradient]
        assert judge(found, truth).outcome == "passed", argument


@each("function", FUNCTIONS.values())
def test_the_derivative_of_the_forward_differs_unless_the_summary_says_so(function: ScenarioFunction) -> None:
    given = leaves(function)
    value, slopes = (float64_values(Scenario((*given, *steps))) for steps in (function.forward, function.slopes))
    same = (value[function.result] == slopes[function.slopes[-1].defines or ""]).all()
    assert same == (function.name in {"own_square", "sigmoid_by_its_result"})


def test_there_are_functions_to_draw_and_their_slopes_save_arguments() -> None:
    drawn = [function for function in FUNCTIONS.values() if function.can_be_drawn]
    assert {"own_square", "square_with_slope_of_sin"} <= {function.name for function in drawn}
    assert all(isinstance(function.slopes[0], Apply) for function in drawn)


LEAVES = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\nz = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"


def test_calls_become_operators_and_recorded_gradients() -> None:
    lines = {
        "rule": "y = call rule square_with_slope_of_sin x\n",
        "loop": "y = call loop own_square x\n",
        "nested": "y = call jacrev_of_checkpoint own_square x\n",
        "mapped": "y = call vmap own_square x\n",
    }
    written = {name: inlined(parse(LEAVES + line)).text.removeprefix(LEAVES) for name, line in lines.items()}
    assert written == {
        "rule": (
            "y_value = multiply x x\ny_slope = sin x\ny_off = subtract y_value y_slope\ny_fixed = detach y_off\n"
            "y = add y_slope y_fixed\n"
        ),
        "loop": "y_carry = multiply x x\ny_carry_2 = multiply y_carry y_carry\ny = multiply y_carry_2 y_carry_2\n",
        "nested": (
            "y_output = multiply x x\ny_row = grad y_output x seed float64[2] {0x1p+0 0x0p+0}\n"
            "y_row_2 = grad y_output x seed float64[2] {0x0p+0 0x1p+0}\ny_stacked = stack y_row y_row_2 axis=0\n"
            "y = reshape y_stacked shape=(2, 2)\n"
        ),
        "mapped": (
            "y_row_of_x = index x index=(0,)\ny_row = multiply y_row_of_x y_row_of_x\n"
            "y_row_of_x_2 = index x index=(1,)\ny_row_2 = multiply y_row_of_x_2 y_row_of_x_2\n"
            "y = stack y_row y_row_2 axis=0\n"
        ),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = call rule own_sqare x", "unknown function 'own_sqare', did you mean 'own_square'?"),
        ("y = call ruled own_square x", "'ruled' is no way to call a function"),
        ("y = call rule_of_vmap own_square x", "rule_of_vmap is nested in an order that has no meaning"),
        ("y = call vmap_of_jacrev own_square x", "vmap_of_jacrev is nested in an order that has no meaning"),
        ("y = call rule own_square x z", "function 'own_square' takes 1 arguments, not 2"),
        ("a = exp x\ny = call jacrev own_square a", "jacrev is called with leaves only"),
        ("c = leaf float64[2] {0x1p+0 0x1p+1}\ny = call jacrev own_square c", "'c' is not a leaf that requires grad"),
        ("y = call jacrev scaled_with_exchanged_slopes x x", "'x' is given twice"),
        ("y = call rule own_square w", "'w' is not defined"),
    ],
)
def test_an_invalid_call_is_refused(line: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message.replace("?", r"\?")):
        parse(LEAVES + line)
