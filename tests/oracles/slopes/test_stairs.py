"""Slopes fitted to staircases contain the slope of the function that is rounded, and stairs on purpose are doubtful."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.directions import Arrays, Directions, Sampled, Seeds
from refgrad.oracles.slopes.slopes import SCALES
from refgrad.oracles.slopes.stairs import StaircaseClaim, Stairs, fitted, stairs_of
from tests.snapshots.placement import PlainText


class Known:
    """A function of one array of float64."""

    positions: tuple[int, ...] = (0,)
    scale, precision = SCALES["float64"], "float64"

    def __init__(self, function: Callable[[Floats], npt.NDArray[np.generic]], at: Floats) -> None:
        self.function = function
        self.arrays: Arrays = (at,)
        self.here = self.values(at)
        self.outputs: Arrays = (self.here,)

    def values(self, entries: Floats) -> Floats:
        return self.function(entries).astype(np.float64)

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        raise NotImplementedError

    def moved(self, entries: Floats) -> Sampled | None:
        raise NotImplementedError


def rounded(x: Floats) -> Floats:
    """Round as bfloat16 does: with 8 bits, whatever the size of a number."""
    mantissas, exponents = np.frexp(x)
    return np.ldexp(np.round(mantissas * 256) / 256, exponents)


def stairs(function: Callable[[Floats], npt.NDArray[np.generic]]) -> Stairs | None:
    point = np.random.default_rng(0).normal(size=12)
    return stairs_of(Directions(Known(function, point), np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.sin, None),
        (np.zeros_like, None),
        (np.round, None),
        (lambda x: np.sin(x.astype(np.float32)), Stairs("float32", sure=True)),
        (
            lambda x: np.mean(np.sin(x.astype(np.float32)).astype(float), keepdims=True) / 3,
            Stairs("float32", sure=True),
        ),
        (lambda x: np.floor(x * 128) / 128, Stairs("bfloat16", sure=False)),
        (lambda x: rounded(np.frexp(x)[0] / np.tile([1, 4], 6)), Stairs("bfloat16", sure=True)),
    ],
)
def test_a_function_that_rounds_has_stairs(
    function: Callable[[Floats], npt.NDArray[np.generic]], expected: Stairs | None
) -> None:
    assert stairs(function) == expected


@given(slope=st.floats(-4, 4), cubic=st.floats(-2, 2), kink=st.floats(-1, 1), seed=st.integers(0, 1000))
def test_the_error_of_a_fit_contains_the_slopes_to_both_sides(
    slope: float, cubic: float, kink: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    distances = np.repeat(2.0 ** -np.arange(2.0, 6), 16) * random.uniform(0.5, 1, 64)
    odd, even = slope * distances + cubic * distances**3, kink * distances
    noise = 1e-3 * random.uniform(-1, 1, (2, 64))
    value, error = fitted(distances, odd + noise[0], even + noise[1])
    assert abs(value - slope) + abs(kink) <= error + 0.02
    assert error <= 2 * abs(kink) + 0.2


def test_a_function_that_does_not_move_has_no_known_slope() -> None:
    assert fitted(np.linspace(0.1, 1, 16), np.zeros(16), np.zeros(16)) == (0.0, np.inf)


def test_a_slope_is_that_of_the_outputs_with_weights() -> None:
    function = Known(lambda x: rounded(np.sin(x[[0, 1, 0]])), np.array([0.5, 1.0]))
    claim = StaircaseClaim(
        Directions(function, np.random.default_rng(1)),
        Stairs("bfloat16", sure=True),
        (),
        np.array([1.0, 3.0, 0.0]),
        np.ones(2),
    )
    value, error, moved = claim.slope(np.array([1.0, 0.0]))
    assert abs(value - np.cos(0.5)) <= error < 0.1
    assert moved.tolist() == [True, False, False]


class Claimed(Known):
    """A sine in bfloat16 whose gradient has some factor, and one entry of which is too large."""

    def __init__(self, factor: float, more: float) -> None:
        super().__init__(lambda x: rounded(np.sin(x)), np.random.default_rng(0).normal(size=6))
        self.factor, self.more = factor, more

    def gradient(self, entries: Floats, _: Seeds) -> Floats:
        return np.asarray(self.factor * np.cos(entries) + self.more * (np.arange(entries.size) == 3))


def described(each: Discrepancy) -> str:
    bounds = f"{each.lower:.4g} to {each.upper:.4g}"
    return f"{each.severity} {each.entry}: {each.observed:.4g} in {bounds}, {each.explained:.3g} times rounding"


@pytest.mark.parametrize(
    ("factor", "more", "sure"),
    [(1.0, 0.0, True), (1.0, 0.0, False), (1.2, 0.0, True), (1.0, 0.5, True), (0.0, 0.0, True)],
)
def test_claims_on_a_staircase(factor: float, more: float, sure: bool, snapshot: Any) -> None:  # noqa: FBT001 (a case)
    function = Claimed(factor, more)
    (point,) = function.arrays
    directions = Directions(function, np.random.default_rng(1))
    gradient, seeds = function.gradient(point, ()), np.linspace(0.5, 1.5, point.size)
    claim = StaircaseClaim(directions, Stairs("bfloat16", sure=sure), (seeds,), seeds, gradient * seeds)
    rows = ["right" if each is None else described(each) for each in claim.discrepancies()]
    assert "\n".join(rows) == snapshot(extension_class=PlainText)
