"""Are the special functions right in balls and in power series, and unknown where they jump?"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series
from refgrad.operators.exact import DIGITS_FUNCTIONS
from refgrad.oracles.special_balls import SPECIAL_BALLS
from refgrad.oracles.special_series import SPECIAL_SERIES

from refgrad.operators.functions.balls import BALL_FUNCTIONS, precision
from refgrad.operators.functions.series import series_precision

STEPS = ("trunc", "round")
SMOOTH = sorted(SPECIAL_BALLS.keys() - {*STEPS, "polygamma", "besseli"})
POINTS: dict[str, tuple[float, ...]] = {**dict.fromkeys(SMOOTH, (0.375, 2.75)), "erfinv": (0.375, -0.625)}
POINTS |= dict.fromkeys(("erf", "erfc", "erfcx", "i0", "i1"), (-0.75, 0.0, 2.75))
POINTS |= dict.fromkeys(("cbrt", "i0e", "i1e"), (-0.75, 2.75))
LENGTH = 5


def coefficients(function: Any, point: float) -> list[Any]:
    """By mpmath: of the function of point + 2 t - t²."""
    with mpmath.workdps(60):
        found = mpmath.taylor(lambda t: function(point + 2 * t - t * t), 0, LENGTH - 1)
        return [mpmath.nstr(c, 50) for c in found]


def test_they_are_the_same_functions_in_balls_and_in_series() -> None:
    assert SPECIAL_BALLS.keys() == SPECIAL_SERIES.keys()
    assert SPECIAL_BALLS.keys() <= BALL_FUNCTIONS.keys()


@pytest.mark.parametrize(("name", "point"), [(name, point) for name in SMOOTH for point in POINTS[name]])
def test_a_series_has_the_coefficients_that_mpmath_finds(name: str, point: float) -> None:
    expected = coefficients(DIGITS_FUNCTIONS[name], point)
    with series_precision(160, LENGTH):
        found = SPECIAL_SERIES[name](arb_series([point, 2, -1]))
        assert SPECIAL_BALLS[name](arb(point)).overlaps(found[0])
        for order, number in enumerate(expected):
            assert abs(found[order] - arb(number)) < arb("1e-25")
            assert float(found[order].rad()) < 1e-30


@pytest.mark.parametrize("n", [0, 1, 3])
def test_polygamma_has_the_coefficients_that_mpmath_finds(n: int) -> None:
    expected = coefficients(lambda x: mpmath.polygamma(n, x), 1.375)
    with series_precision(160, LENGTH):
        found = SPECIAL_SERIES["polygamma"](arb(n), arb_series([1.375, 2, -1]))
        assert all(abs(found[order] - arb(number)) < arb("1e-20") for order, number in enumerate(expected))


@pytest.mark.parametrize("name", SMOOTH)
def test_a_ball_encloses_what_its_members_have(name: str) -> None:
    random = np.random.default_rng(0)
    low, high = (0.1, 0.9) if name == "erfinv" else (0.1, 4.0)
    for _ in range(20):
        middle, radius = random.uniform(low, high), 10.0 ** random.uniform(-12, -2)
        with precision(80):
            enclosure = SPECIAL_BALLS[name](arb(middle, radius))
            for share in (-0.99, 0.0, 0.99):
                assert enclosure.overlaps(SPECIAL_BALLS[name](arb(middle + share * radius)))


@pytest.mark.parametrize("name", SMOOTH)
def test_plain_numbers_are_taken_as_balls(name: str) -> None:
    assert SPECIAL_BALLS[name](0.5).overlaps(SPECIAL_BALLS[name](arb(0.5)))


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_the_gamma_function_is_of_positive_numbers(name: str) -> None:
    assert SPECIAL_BALLS[name](arb(-1.5)).is_nan()


@pytest.mark.parametrize(
    ("x", "integer"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (2.25, 2), (-2.75, -3)]
)
def test_a_ball_is_rounded_to_the_even_neighbour(x: float, integer: int) -> None:
    assert SPECIAL_BALLS["round"](arb(x)) == integer


@pytest.mark.parametrize(("name", "x"), [("trunc", 2.0), ("trunc", -1.0), ("round", 0.5), ("round", -1.5)])
def test_nothing_is_known_of_a_series_at_a_jump(name: str, x: float) -> None:
    with series_precision(80, 2):
        assert SPECIAL_SERIES[name](arb_series([x, 1]))[0].is_nan()
        assert SPECIAL_SERIES[name](arb_series([x + 0.25, 1])) == SPECIAL_BALLS[name](arb(x + 0.25))
    assert SPECIAL_BALLS[name](arb(x, 0.125)).rad() >= 0.5  # both neighbours


def test_no_fraction_is_left_around_zero() -> None:
    with series_precision(80, 2):
        assert SPECIAL_SERIES["trunc"](arb_series([0, 1])) == 0
