"""The mechanical derivative of a formula is the one that SymPy finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.operators import Formula
from refgrad.operators.differentiation import _smooth_names, differentiate, differentiate_along, value_and_partials
from tests.effort import each
from tests.operators.functions.digits import DIGITS_FUNCTIONS
from tests.operators.symbolic_derivative import derivative

ARGUMENTS = ("x", "y")


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """Take a branch, given as a tuple or as a function that makes one."""
    branch = then if condition else otherwise
    return branch if isinstance(branch, tuple) else branch()


SYSTEM = {**DIGITS_FUNCTIONS, "choose": choose}

LARGEST = 1e30
"""Size of numbers above which functions of forty digits take seconds: they need as many digits of pi as it has."""


def of_moderate_size(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of one number, which gives up an example whose number is too large."""

    def limited(x: Any) -> Any:
        assume(abs(x) < LARGEST)
        return function(x)

    return limited


LIMITED = {**SYSTEM, **{name: of_moderate_size(DIGITS_FUNCTIONS[name]) for name in ("exp", "expm1", "sin", "cos")}}

atoms = st.sampled_from(["x", "y", "pi", "2", "0.5", "0.1", "3"])
UNARY = (
    *("-({})", "exp({})", "sin({})", "cos({})", "tanh({})", "arctan({})", "arcsinh({})", "expm1({})", "abs({})"),
    *("log(1.5 + ({}) ** 2)", "sqrt(2 + ({}) ** 2)", "({}) ** 3", "1 / (3 + sin({}))"),
)
BINARY = (
    *("({}) + ({})", "({}) - ({})", "({}) * ({})", "({}) / (4 + cos({}))", "(2 + sin({})) ** ({})"),
    *("maximum({}, {})", "minimum({}, {})", "arctan2({}, 3 + cos({}))", "hypot({}, 2 + ({}))"),
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Formulas made of smaller ones."""
    return (
        st.builds(str.format, st.sampled_from(UNARY), inner)
        | st.builds(str.format, st.sampled_from(BINARY), inner, inner)
        | st.builds("({}) if ({}) > ({}) else ({})".format, inner, inner, inner, inner)
    )


formulas = st.recursive(atoms, compound, max_leaves=6)
numbers = st.integers(-40, 40).map(lambda n: mpmath.mpf(n) / 16 + mpmath.mpf(1) / 37)


@given(formulas, numbers, numbers)
def test_value_and_partials_are_those_of_sympy(source: str, x: Any, y: Any) -> None:
    formula = Formula(source)
    with mpmath.workdps(40):
        value, *partials = differentiate(formula, ARGUMENTS, (), LIMITED)(x, y)
        assume(mpmath.isfinite(value) and abs(value) < LARGEST)
        assert agree(value, formula.function(ARGUMENTS, DIGITS_FUNCTIONS)(x, y))
        for name, partial in zip(ARGUMENTS, partials, strict=True):
            expected = derivative(formula, ARGUMENTS, name)(x, y)
            assert agree(partial, expected), f"{source} by {name}: {partial}, not {expected}"


def agree(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= 1e-25 * max(1, abs(a), abs(b)))


@given(formulas, numbers, numbers, numbers)
def test_the_speed_along_a_line_is_the_sum_of_the_partials(source: str, x: Any, y: Any, slope: Any) -> None:
    formula = Formula(source)
    with mpmath.workdps(40):
        _, by_x, by_y = differentiate(formula, ARGUMENTS, (), SYSTEM)(x, y)
        _, speed = differentiate_along(formula, ARGUMENTS, ARGUMENTS, SYSTEM)(x, y, x_speed=slope, y_speed=2)
        assert agree(speed, slope * by_x + 2 * by_y)


@each(
    ("source", "expected"),
    [
        ("3", (3, 0, 0)),
        ("x", (5, 1, 0)),
        ("x + y", (7, 1, 1)),
        ("x - y", (3, 1, -1)),
        ("x * y", (10, 2, 5)),
        ("-y", (-2, 0, -1)),
        ("x / y", (2.5, 0.5, -1.25)),
        ("x ** 2", (25, 10, 0)),
        ("2 ** x", (32, pytest.approx(22.180709777918249), 0)),
        ("x ** 0", (1, 0, 0)),
        ("maximum(x, y)", (5, 1, 0)),
        ("x if x < y else y", (2, 0, 1)),
        ("a * x", (15, 3, 0)),
    ],
)
def test_simple_rules_keep_integers(source: str, expected: tuple[object, ...]) -> None:
    function = differentiate(Formula(source), ARGUMENTS, ("a",), SYSTEM)
    assert function(5, 2, 3) == expected


def test_a_branch_is_computed_only_when_it_is_taken() -> None:
    function = differentiate(Formula("log(x) if x > 0 else -exp(x)"), ("x",), (), {**SYSTEM, "log": forbidden})
    assert function(mpmath.mpf(-1)) == (-mpmath.exp(-1), -mpmath.exp(-1))


def forbidden(_x: Any) -> Any:
    raise AssertionError("this branch is not taken")


def test_an_open_branch_is_handed_over_with_both_sides() -> None:
    sides: list[Any] = []

    def joined(condition: Any, then: Any, otherwise: Any) -> Any:
        sides.extend([condition, *(side if isinstance(side, tuple) else side() for side in (then, otherwise))])
        return sides[1]

    system = {**SYSTEM, "greater": lambda _x, _y: None, "choose": joined}
    differentiate(Formula("x * y if x > 0 else 0"), ARGUMENTS, (), system)(3, 4)
    assert sides == [None, (12, 4, 3), (0, 0, 0)]


@pytest.mark.parametrize(
    "source",
    ["exp(1) * x", "sqrt(2) * x", "hypot(3, 4) * x", "exp(x if x > 9 else 0)", "exp(sin(0) + x)", "log(2 * 3) * x"],
)
def test_a_function_never_receives_a_plain_number(source: str) -> None:
    """python-flint ends the whole process on arb.exp(1)."""
    function = differentiate(Formula(source), ("x",), (), {**SYSTEM, **strict_functions()})
    assert mpmath.isfinite(function(mpmath.mpf(2))[0])


def strict_functions() -> dict[str, Callable[..., Any]]:
    """The functions, which refuse what is not of their own number type."""

    def strict(function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*operands: Any) -> Any:
            assert all(isinstance(operand, mpmath.mpf) for operand in operands), operands
            return function(*operands)

        return checked

    return {name: strict(DIGITS_FUNCTIONS[name]) for name in ("exp", "sqrt", "hypot", "sin")}


def test_the_source_is_that_of_a_function() -> None:
    assert value_and_partials(Formula("x * x + a"), ("x",), ("a",)) == (
        "def derivative(x, a):\n    a = number(a)\n"
        "    t1 = (x) * (x)\n    t2 = (x) + (x)\n    t3 = (t1) + (a)\n    return t3, t2,\n"
    )


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("x * y + 1", "xy"),
        ("-x", "x"),
        ("x if z > 0 else y", "xy"),
        ("x if y > 0 and z > 0 else 2", "x"),
        ("exp(x) * floor(y)", "x"),
        ("maximum(x, sin(y))", "xy"),
    ],
)
def test_names_that_a_formula_depends_on_other_than_by_branches_and_steps(formula: str, names: str) -> None:
    assert _smooth_names(Formula(formula).tree) == set(names)
