"""Functions of balls enclose what their members have, and functions of series have mpmath's coefficients."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series

from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.balls import BALL_FUNCTIONS, precision, series_precision
from refgrad.operators.functions.series import SERIES_FUNCTIONS
from tests.effort import each
from tests.operators.functions.digits import DIGITS_FUNCTIONS

OF_ONE = sorted(name for name, row in FUNCTIONS.items() if row.parameters == ("x",))
SMOOTH = [name for name in OF_ONE if FUNCTIONS[name].nature != "stepped"]
ABOVE_ONE, INSIDE_ONE = {"arccosh"}, {"arcsin", "arccos", "arctanh", "erfinv"}
POSITIVE = {"log", "log2", "log10", "sqrt", "lgamma", "digamma"}
POINTS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(SMOOTH, (-0.75, 0.375, 2.75)),
    **dict.fromkeys(POSITIVE, (0.375, 2.75)),
    **dict.fromkeys(INSIDE_ONE, (-0.625, 0.375)),
    **dict.fromkeys(ABOVE_ONE, (1.375, 2.75)),
}
LENGTH = 5


def coefficients(function: Any, point: float) -> list[Any]:
    """By mpmath: of the function of point + 2 t - t²."""
    with mpmath.workdps(60):
        result = mpmath.taylor(lambda t: function(point + 2 * t - t * t), 0, LENGTH - 1)
        return [mpmath.nstr(c, 50) for c in result]


@each(("name", "point"), [(name, point) for name in SMOOTH for point in POINTS[name]])
def test_a_series_has_the_coefficients_that_mpmath_finds(name: str, point: float) -> None:
    expected = coefficients(DIGITS_FUNCTIONS[name], point)
    with series_precision(160, LENGTH):
        actual = SERIES_FUNCTIONS[name](arb_series([point, 2, -1]))
        assert BALL_FUNCTIONS[name](arb(point)).overlaps(actual[0])
        for order, number in enumerate(expected):
            assert abs(actual[order] - arb(number)) < arb("1e-25")
            assert float(actual[order].rad()) < 1e-30


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", ["polygamma", "besseli", "besselie", "sphericalj"])
def test_a_series_of_an_order_has_the_coefficients_that_mpmath_finds(name: str, n: int) -> None:
    expected = coefficients(lambda x: DIGITS_FUNCTIONS[name](n, x), 1.375)
    with series_precision(160, LENGTH):
        actual = SERIES_FUNCTIONS[name](arb(n), arb_series([1.375, 2, -1]))
        assert all(abs(actual[order] - arb(number)) < arb("1e-20") for order, number in enumerate(expected))


@each("name", ["expm1", "log1p", "sinh", "tanh", "arcsinh", "arctanh", "arctan", "arcsin", "sin", "tan"])
def test_a_series_is_accurate_near_zero(name: str) -> None:
    with series_precision(128, 3):
        value = SERIES_FUNCTIONS[name](arb_series([arb("1e-60"), 1]))
        assert abs(float(value[0]) * 1e60 - 1) < 1e-15
        assert float(value[0].rad()) < 1e-90
        assert float(value[1].rad()) < 1e-30


@each("name", OF_ONE)
def test_a_ball_encloses_what_its_members_have(name: str) -> None:
    random = np.random.default_rng(0)
    low, high = (0.1, 0.9) if name in INSIDE_ONE else (1.1, 4.0) if name in ABOVE_ONE else (0.1, 4.0)
    for _ in range(20):
        middle, radius = random.uniform(low, high), 10.0 ** random.uniform(-12, -2)
        with precision(80):
            enclosure = BALL_FUNCTIONS[name](arb(middle, radius))
            for share in (-0.99, 0.0, 0.99):
                assert enclosure.overlaps(BALL_FUNCTIONS[name](arb(middle + share * radius)))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_monotone_function_has_no_wider_ball_than_its_values(order: int) -> None:
    low, high = (BALL_FUNCTIONS["polygamma"](order, arb(x)) for x in (0.25, 0.75))
    enclosure = BALL_FUNCTIONS["polygamma"](order, arb(0.5, 0.25))
    assert float(enclosure.rad()) <= 0.51 * abs(float((high - low).mid()))


@each("name", OF_ONE)
def test_plain_numbers_are_taken_as_balls(name: str) -> None:
    plain = BALL_FUNCTIONS[name](1.25 if name in ABOVE_ONE else 0.25)
    assert plain.overlaps(BALL_FUNCTIONS[name](arb(1.25 if name in ABOVE_ONE else 0.25)))


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_the_gamma_function_is_of_positive_numbers(name: str) -> None:
    assert BALL_FUNCTIONS[name](arb(-1.5)).is_nan()


@pytest.mark.parametrize(("name", "x"), [("trunc", 2.0), ("trunc", -1.0), ("floor", 0.0), ("round", 0.5)])
def test_nothing_is_known_of_a_series_at_a_jump(name: str, x: float) -> None:
    with series_precision(80, 2):
        assert SERIES_FUNCTIONS[name](arb_series([x, 1]))[0].is_nan()
        assert SERIES_FUNCTIONS[name](arb_series([x + 0.25, 1])) == BALL_FUNCTIONS[name](arb(x + 0.25))
    assert BALL_FUNCTIONS[name](arb(x, 0.125)).rad() >= 0.5  # both neighbours


def test_no_fraction_is_left_around_zero() -> None:
    with series_precision(80, 2):
        assert SERIES_FUNCTIONS["trunc"](arb_series([0, 1])) == 0
