"""What may a formula say, and what is said of one that says more?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refgrad.interpreter import NUMPY_FUNCTIONS
from refgrad.operators import Formula, FormulaError
from refgrad.operators.expression import is_exact
from tests.effort import each


@pytest.mark.parametrize(
    "source",
    [
        "x",
        "-x",
        "x + y * 2 - 3 / x",
        "x ** 2",
        "0.1 * x",
        "exp(x) + log1p(y)",
        "x if x > 0 else 0",
        "x if x > 0 and not y < 1 or x == y else -y",
        "pi * arctan2(y, x)",
    ],
)
def test_the_language_has(source: str) -> None:
    assert Formula(source).source == source


@each(
    ("source", "message"),
    [
        ("x +", "formula 'x +' does not parse: invalid syntax"),
        ("x = 1", "formula 'x = 1' does not parse: invalid syntax"),
        ("x\0", r"formula 'x\x00' does not parse: source code string cannot contain null bytes"),
        ("gamma(x)", "formula 'gamma(x)' calls 'gamma', which the vocabulary does not have"),
        ("exp(x, y)", "formula 'exp(x, y)' calls 'exp' with 2 arguments"),
        ("hypot(x)", "formula 'hypot(x)' calls 'hypot' with 1 arguments"),
        ("x % 2", "formula 'x % 2' uses Mod, which the language does not have"),
        ("x // 2", "formula 'x // 2' uses FloorDiv, which the language does not have"),
        ("x @ y", "formula 'x @ y' uses MatMult, which the language does not have"),
        ("x[0]", "formula 'x[0]' uses Subscript, which the language does not have"),
        ("x.real", "formula 'x.real' uses Attribute, which the language does not have"),
        ("(x, y)", "formula '(x, y)' uses Tuple, which the language does not have"),
        ("'x'", "formula \"'x'\" uses Constant, which the language does not have"),
        ("1j * x", "formula '1j * x' uses Constant, which the language does not have"),
        ("0 < x < 1", "formula '0 < x < 1' uses Compare, which the language does not have"),
        ("x is y", "formula 'x is y' uses Is, which the language does not have"),
        ("x in y", "formula 'x in y' uses In, which the language does not have"),
        ("~x", "formula '~x' uses Invert, which the language does not have"),
        ("+x", "formula '+x' uses UAdd, which the language does not have"),
        ("exp(x=1)", "formula 'exp(x=1)' uses Call, which the language does not have"),
        ("exp(*x)", "formula 'exp(*x)' uses Starred, which the language does not have"),
        ("(lambda: x)()", "formula '(lambda: x)()' uses Call, which the language does not have"),
        ("lambda: x", "formula 'lambda: x' uses Lambda, which the language does not have"),
        ("1e999 * x", "formula '1e999 * x' has a number that is not finite"),
    ],
)
def test_the_language_refuses(source: str, message: str) -> None:
    with pytest.raises(FormulaError) as error:
        Formula(source)
    assert str(error.value) == message


def test_a_formula_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(FormulaError, match="does not parse: it is nested too deep"):
        Formula("-" * 100_000 + "x")


def test_a_formula_knows_its_names_and_its_functions() -> None:
    expression = Formula("exp(x) * pi + clip_at if y > 0 else log(exp(z))")
    assert expression.names == {"x", "clip_at", "y", "z"}
    assert expression.functions == {"exp", "log"}


def test_a_name_outside_of_the_parameters_is_refused() -> None:
    message = r"^formula 'x \+ z \+ w' uses \['w', 'z'\], which is not among \['x', 'y'\]$"
    with pytest.raises(FormulaError, match=message):
        Formula("x + z + w").function(("x", "y"), NUMPY_FUNCTIONS)


def test_formulas_are_equal_when_their_texts_are() -> None:
    assert Formula("x + 1") == Formula("x + 1")
    assert hash(Formula("x + 1")) == hash(Formula("x + 1"))
    assert Formula("x + 1") != Formula("1 + x")


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("x if x > 0 else 0", "where(greater(x, 0), x, 0)"),
        ("x >= 0 and x <= 1", "logical_and(greater_equal(x, 0), less_equal(x, 1))"),
        (
            "x < 0 or not y == 2 or y != x",
            "logical_or(logical_or(less(x, 0), logical_not(equal(y, 2))), not_equal(y, x))",
        ),
        ("0.5 * x", "0.5 * x"),
        ("0.1 * x", "number('0.1') * x"),
        ("log(2) * x", "log(number(2)) * x"),
        ("exp(0.1)", "exp(number('0.1'))"),
    ],
)
def test_branches_comparisons_and_numbers_that_are_no_float_become_calls(source: str, calls: str) -> None:
    assert Formula(source).calls == calls


@pytest.mark.parametrize(("text", "exact"), [("0.5", True), ("0.1", False), ("1e22", True), ("1e23", False)])
def test_a_decimal_is_exact_when_a_float64_holds_it(text: str, exact: bool) -> None:  # noqa: FBT001
    assert is_exact(text) is exact


@given(st.floats(-10, 10), st.floats(-10, 10))
@example(8.867867210247823, 1.0)  # C's power of two and a product round otherwise
def test_a_compiled_formula_computes_its_value(x: float, y: float) -> None:
    function = Formula("maximum(x, y) * 0.1 + x ** 2 if x > y and y != 0 else -abs(y) / 4").function(
        ("x", "y"), NUMPY_FUNCTIONS
    )
    expected = max(x, y) * 0.1 + x**2 if x > y and y != 0 else -abs(y) / 4
    assert function(x, y) == pytest.approx(expected, rel=1e-15)
    assert function(np.array([x, x]), np.array([y, y])) == pytest.approx(np.repeat(expected, 2), rel=1e-15)


@pytest.mark.parametrize(
    ("source", "folded"),
    [
        ("x / sqrt(2)", f"x / {2**0.5!r}"),
        ("x * sqrt(2 / pi)", f"x * {math.sqrt(2 / math.pi)!r}"),
        ("log(2) if x > 0 else exp(x)", f"where(greater(x, 0), {math.log(2)!r}, exp(x))"),
        ("sqrt(e) + abs(2)", "sqrt(e) + abs(number(2))"),
    ],
)
def test_functions_of_plain_numbers_are_folded_for_floats(source: str, folded: str) -> None:
    assert Formula(source).folded_calls == folded


def test_a_function_of_a_plain_number_does_not_widen_a_dtype() -> None:
    half = Formula("x / sqrt(2)").function(("x",), NUMPY_FUNCTIONS)
    assert half(np.float32(3)).dtype == np.float32
