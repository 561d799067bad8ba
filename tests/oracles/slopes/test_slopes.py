"""Tests of the slopes of functions of which nothing is known: the bound of their error holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.oracles.slopes.curves import BoundedSlopes, Floats, Line
from refgrad.oracles.slopes.slopes import SCALES, Scale, noise_along, slopes_along

SCALE = SCALES["float64"]
FINER_THAN_THE_STEPS = 0.1
"""Nearer to 0 float32 is finer than where the steps lead to, so the noise found at x is not that of the slope."""

SMOOTH: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "a steep wave": (lambda x: np.sin(40 * x), lambda x: 40 * np.cos(40 * x)),
    "cancellation": (lambda x: (1e6 + x) - 1e6, np.ones_like),
    "float32 inside": (lambda x: np.float32(x).astype(float) ** 2, lambda x: 2 * x),
    "a pole nearby": (lambda x: 1 / (x - 3.001), lambda x: -1 / (x - 3.001) ** 2),
}


def slopes_at(function: Callable[[Floats], Floats], x: float) -> BoundedSlopes:
    def along(distance: float) -> Floats:
        with np.errstate(all="ignore"):
            return np.atleast_1d(np.asarray(function(np.array([x + distance])), dtype=float))

    return slopes_along(Line(along, along(0.0), noise_along(along, SCALE), SCALE.unit), SCALE.steps)


@pytest.mark.parametrize("name", SMOOTH)
@given(x=st.floats(-3, 3))
def test_the_true_slope_lies_in_the_interval(name: str, x: float) -> None:
    assume(name != "float32 inside" or abs(x) > FINER_THAN_THE_STEPS)
    function, derivative = SMOOTH[name]
    found = slopes_at(function, x)
    true = float(derivative(np.array([x]))[0])
    rounding = 2.0**-50 * abs(true)
    assert abs(found.value[0] - true) <= found.error[0] + rounding


@pytest.mark.parametrize("x", [0.3, 1.7, -2.2])
def test_the_interval_of_a_smooth_function_is_narrow(x: float) -> None:
    found = slopes_at(np.sin, x)
    assert 2 * found.error[0] < 1e-10
    assert not found.kink[0]


def test_a_kink_gives_all_slopes_between_the_two_sides() -> None:
    found = slopes_at(np.abs, 0.0)
    assert found.kink[0]
    ends = [found.value[0] - found.error[0], found.value[0] + found.error[0]]
    np.testing.assert_allclose(ends, [-1, 1], atol=1e-6)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-7])
def test_a_kink_nearby_does_not_disturb(distance: float) -> None:
    found = slopes_at(np.abs, distance)
    assert not found.kink[0]
    assert abs(found.value[0] - 1) <= found.error[0]
    assert 2 * found.error[0] < 1e-4


def test_at_the_border_of_a_domain_one_side_is_enough() -> None:
    found = slopes_at(lambda x: np.where(x >= 0, x**1.5 + 2 * x, np.nan), 0.0)
    assert abs(found.value[0] - 2) <= found.error[0]
    assert 2 * found.error[0] < 1e-2


def test_where_there_is_no_slope_nothing_is_claimed() -> None:
    found = slopes_at(np.sqrt, -1.0)
    assert np.isinf(found.error[0])


def test_noise_is_measured() -> None:
    def along(distance: float) -> Floats:
        return np.array([np.float64(np.float32(0.7 + distance)), 0.7 + distance])

    rough, fine = noise_along(along, SCALE)
    assert 1e-9 < rough < 1e-7
    assert fine < 1e-15


def test_the_bound_of_a_smooth_function_is_that_of_its_truncation_and_rounding() -> None:
    """Of 2.0e-12, two thirds for rounding: a safety a hundred times as large shows, whichever it is."""
    assert slopes_at(np.sin, 0.3).error[0] < 4e-12


@pytest.mark.parametrize("x", [0.02, 1e-3])
def test_a_pole_between_the_points_is_not_taken_for_a_slope(x: float) -> None:
    found = slopes_at(lambda x: 1 / x, x)
    assert abs(found.value[0] + x**-2) <= found.error[0]


@pytest.mark.parametrize("large", [1e8, 1e10, 1e12])
def test_the_slope_of_a_staircase_is_known_to_a_few_digits(large: float) -> None:
    found = slopes_at(lambda x: (np.exp(x) + large) - large, 0.3)
    assert abs(found.value[0] - np.exp(0.3)) <= found.error[0]


@pytest.mark.parametrize(("bend", "kink"), [(1e-9, True), (1e-10, True), (1e-13, False)])
def test_a_kink_is_told_from_rounding(bend: float, *, kink: bool) -> None:
    """Rounding of 0.3 leaves 1e-12 of a slope."""
    assert slopes_at(lambda x: 0.3 + bend * np.abs(x), 0.0).kink[0] == kink


@given(
    jump=st.floats(-100, 100),
    distance=st.one_of(st.just(0.0), st.floats(-1e-2, 1e-2), st.floats(-1e-6, 1e-6)),
    offset=st.sampled_from([0.0, 1.0, 100.0]),
    phase=st.floats(0, 6),
    side=st.sampled_from([1, -1]),
)
def test_the_true_slope_lies_in_the_interval_where_the_second_derivative_jumps(
    jump: float, distance: float, offset: float, phase: float, side: int
) -> None:
    def function(x: Floats) -> Floats:
        return offset + np.sin(x + phase) + jump * np.maximum(side * (x - distance), 0) ** 2

    found = slopes_at(function, 0.0)
    true = np.cos(phase) + 2 * jump * side * np.maximum(-side * distance, 0)
    assert abs(found.value[0] - true) <= found.error[0] + 2.0**-50 * abs(true)


@pytest.mark.parametrize("function", [lambda x: np.maximum(x, 0) ** 2, lambda x: x * np.abs(x)])
def test_the_slope_is_known_well_where_the_second_derivative_jumps(function: Callable[[Floats], Floats]) -> None:
    assert slopes_at(function, 0.0).error[0] < 1e-14
    assert slopes_at(lambda x: 1 + function(x), 0.0).error[0] < 1e-8


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_steps_are_powers_of_two_so_that_a_number_plus_a_step_is_exact(scale: Scale) -> None:
    assert {np.frexp(step)[0] for step in scale.steps} == {0.5}
    assert list(scale.steps) == sorted(scale.steps, reverse=True)
    assert scale.unit <= scale.noise_steps[0] < scale.noise_steps[1] < scale.steps[0]
