"""All columns of the table are the same functions, at ordinary points and at edges, and have the same derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, Final

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.operators import Formula
from refgrad.operators.functions import FUNCTIONS, balls, series
from refgrad.operators.functions.balls import series_precision
from refgrad.operators.functions.series import coefficient, series_functions
from tests.effort import each, sampled
from tests.interpreter.complex_array import ComplexArray
from tests.operators.functions.complex_arrays import COMPLEX_ABSENT, COMPLEX_FUNCTIONS
from tests.operators.functions.digits import DIGITS_FUNCTIONS
from tests.operators.functions.number_systems import BITS, DIGITS, SYSTEMS, Point, arguments, in_domain, truth

pytestmark = pytest.mark.turns(2)

CELLS = [(name, system) for name in FUNCTIONS for system in SYSTEMS if name not in SYSTEMS[system].absent]
SLOPES = [(name, p) for name, row in FUNCTIONS.items() for p in row.parameters if p not in row.integers]

HALVES = tuple(sign * half / 2 for half in range(8) for sign in (1.0, -1.0))
"""Zeros of either sign, ties between integers, integers, and the poles and borders of all domains."""

SIZES = (2.0**-600, 2.0**-40, 29.0, 800.0, 2.0**23 + 1, 2.0**52 + 1)
EDGES = (*HALVES, *SIZES, *(-x for x in SIZES))
ORDERS = (0.0, 1.0, 3.0)
STEP = 2.0**-100

MAGNIFIED: Final = 100
"""So many times a rounding of float32 reaches the fifth digit, which its column is asked for."""


@cache
def edges(name: str, numbers: tuple[float, ...]) -> list[Point]:
    """Return the points of those numbers, each with each for a function of two."""
    row = FUNCTIONS[name]
    return [*product(*(ORDERS if parameter in row.integers else numbers for parameter in row.parameters))]


@cache
def edges_inside(name: str) -> list[Point]:
    """Return the edges of the domain that lie in it."""
    return [point for point in edges(name, EDGES) if in_domain(name, point)]


@st.composite
def ordinary(draw: st.DrawFn, name: str) -> Point:
    """Return a point of the domain that floats of every format hold."""
    row = FUNCTIONS[name]
    unit = "x < 1" in row.domain or "x <= 1" in row.domain
    number = st.floats(-1, 1, width=16) if unit else st.floats(-25, 25, width=16)
    point = tuple(draw(st.sampled_from(ORDERS) if p in row.integers else number) for p in row.parameters)
    assume(in_domain(name, point))
    return point


def slope(name: str, parameter: str, point: Point) -> Any:
    """Return the derivative that the row states, or None where that has no value."""
    with mpmath.workdps(DIGITS):
        numbers = arguments(name, point, mpmath.mpf)
        out = DIGITS_FUNCTIONS[name](*numbers)
        try:
            return derivative(name, parameter)(*numbers, out)
        except (ValueError, ZeroDivisionError):
            return None


@cache
def derivative(name: str, parameter: str) -> Callable[..., Any]:
    row = FUNCTIONS[name]
    source = row.derivatives[row.parameters.index(parameter)]
    return Formula(source).function((*row.parameters, "out"), DIGITS_FUNCTIONS)


def is_singular(name: str, point: Point) -> bool:
    """Whether a function may have no series there: at a jump, at a kink, or where a slope is infinite."""
    row = FUNCTIONS[name]
    if row.nature != "analytic":
        numbers = [x for parameter, x in zip(row.parameters, point, strict=True) if parameter not in row.integers]
        return any((2 * x).is_integer() for x in numbers) or len(set(numbers)) < len(numbers)
    return any(slope(name, p, point) is None for p in row.parameters if p not in row.integers)


def magnifies(name: str, point: Point, value: Any) -> bool:
    """Whether a value changes by far more than its operands do, each by its own measure: next to a zero, mostly."""
    row = FUNCTIONS[name]
    slopes = [(x, slope(name, p, point)) for p, x in zip(row.parameters, point, strict=True) if p not in row.integers]
    return any(rate is not None and abs(x * rate) > MAGNIFIED * abs(value) for x, rate in slopes)


@each(("name", "system"), CELLS)
def test_a_column_has_the_value_of_the_function_at_edges_of_its_domain(name: str, system: str) -> None:
    column = SYSTEMS[system]
    points = [p for p in edges_inside(name) if all(map(column.takes, p))]
    assert points
    for point in points:
        value = column.value(name, point)
        unknown = system == "series" and value is None and is_singular(name, point)
        assert unknown or column.agrees(value, truth(name, point)), f"{point}: {value}, not {truth(name, point)}"


@each(("name", "system"), [cell for cell in CELLS if FUNCTIONS[cell[0]].domain != "True"])
def test_where_a_function_has_no_value_no_column_has_one(name: str, system: str) -> None:
    for point in edges(name, HALVES):
        if not in_domain(name, point) and truth(name, point) is None:
            assert SYSTEMS[system].value(name, point) is None, point


@pytest.mark.parametrize("name", sampled(FUNCTIONS, 4, turns=3))
@given(data=st.data())
def test_all_columns_have_the_value_of_the_function_at_ordinary_points(name: str, data: st.DataObject) -> None:
    point = data.draw(ordinary(name))
    expected = truth(name, point)
    for system, column in SYSTEMS.items():
        if name in column.absent or (system == "float32" and expected and magnifies(name, point, expected)):
            continue
        value = column.value(name, point)
        unknown = system == "series" and value is None and is_singular(name, point)
        assert unknown or column.agrees(value, expected), f"{system}: {value}, not {expected}"


def test_float32_is_right_next_to_a_zero_as_far_as_it_can_be() -> None:
    point = (3.0, 6.984375)
    expected = truth("sphericalj", point)
    assert magnifies("sphericalj", point, expected)
    value = SYSTEMS["float32"].value("sphericalj", point)
    assert abs(value - expected) < abs(6.984375 * slope("sphericalj", "x", point)) * 2.0**-24


@pytest.mark.parametrize(("name", "parameter"), sampled(SLOPES, 4, turns=3))
@given(data=st.data())
def test_a_derivative_is_that_of_flint_s_series(name: str, parameter: str, data: st.DataObject) -> None:
    point = data.draw(ordinary(name))
    assume(not is_singular(name, point))
    row = FUNCTIONS[name]
    with series_precision(BITS, 2):
        numbers = arguments(name, point, arb)
        index = row.parameters.index(parameter)
        numbers[index] = arb_series([numbers[index], 1])
        value = coefficient(series_functions(BITS)[name](*numbers), 1)
    with mpmath.workdps(DIGITS):
        assert value.rad() <= abs(value.mid()) * 2.0**-100
        expected = slope(name, parameter, point)
        assert abs(mpmath.mpf(value.mid().str(DIGITS, radius=False)) - expected) <= 1e-40 * abs(expected)


@pytest.mark.parametrize(("name", "parameter"), [pair for pair in SLOPES if pair[0] not in COMPLEX_ABSENT])
@given(data=st.data())
def test_a_derivative_is_that_of_the_complex_step(name: str, parameter: str, data: st.DataObject) -> None:
    point = data.draw(ordinary(name))
    assume(not is_singular(name, point))
    assert FUNCTIONS[name].parameters == (parameter,)
    (result,) = COMPLEX_FUNCTIONS[name](ComplexArray.of(np.asarray([point[0] + STEP * 1j]), None))
    assert float(result.imag) / STEP == pytest.approx(float(slope(name, parameter, point)), rel=1e-12, abs=0)


@pytest.mark.parametrize("system", [balls, series], ids=["balls", "series"])
def test_a_decided_branch_is_taken_and_of_an_open_one_nothing_narrower_is_returned(system: Any) -> None:
    then, otherwise = (arb(1), arb(2)), (arb(3), arb(5))
    taken = {decision: system.choose(decision, lambda: then, otherwise) for decision in (True, False, None)}
    assert (taken[True], taken[False]) == (then, otherwise)
    for values in (taken[None], map(system.where, (None, None), then, otherwise)):
        constants = [coefficient(value, 0) for value in values]
        hulls = map(arb.union, then, otherwise)
        assert all(x.is_nan() or x.contains(hull) for x, hull in zip(constants, hulls, strict=True))
