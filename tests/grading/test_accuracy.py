"""Tests of the measured accuracy: what is off in a narrow range only is found, and what is right is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb

from refgrad.grading.accuracy import ACCURACY, Worst, _compared, _spread, measurable, measure
from refgrad.native.engine import Engine, start
from refgrad.operators import operator_table
from refgrad.oracles.certified.certified import Certified
from tests.native.reference import ADAPTER

SETUP = """
def off_beyond(x, start, error):
    return torch.exp(x) * (1 + torch.where(x > start, error, 0.0))
"""


def engine(template: str) -> Engine:
    """The reference engine whose ``exp`` is this."""
    return start(replace(ADAPTER, setup=ADAPTER.setup + SETUP, operators={**ADAPTER.operators, "exp": template}))


def worst(template: str) -> dict[str, Worst]:
    return {each.of: each for each in measure(engine(template), operator_table()["exp"], "float64")}


def test_what_is_right_is_off_by_a_unit_or_two() -> None:
    errors = worst("torch.exp({x})")
    assert set(errors) == {"value", "slope by x"}
    assert all(0 < each.ulps < 2 and each.budgets < 1 for each in errors.values())


@pytest.mark.parametrize(("start_of_it", "error"), [(2.7, 1e-10), (200.0, 1e-12), (-0.5, 1e-13)])
def test_an_error_in_a_range_is_reported_with_a_point_of_that_range(start_of_it: float, error: float) -> None:
    errors = worst(f"off_beyond({{x}}, {start_of_it}, {error})")
    for each in errors.values():
        assert each.ulps == pytest.approx(error / 2.0**-53, rel=0.6)
        assert each.budgets > 4
        assert each.at["x"] > start_of_it
        assert each.seen == pytest.approx(each.truth * (1 + error), rel=1e-14)


def test_points_move_towards_where_the_error_grows() -> None:
    """The error grows towards 3, where few of the first points lie."""
    errors = worst("torch.exp({x}) * (1 + 1e-13 / ((({x} - 3) * 1000) ** 2 + 1))")
    assert errors["value"].at["x"] == pytest.approx(3, abs=2e-3)
    assert errors["value"].points == 4000


def test_operators_of_real_operands_are_measured() -> None:
    names = {row.name for row in measurable(start(ADAPTER))}
    assert {"exp", "divide", "lgamma"} <= names
    assert not names & {"where", "matmul", "floor"}


def test_what_is_not_known_to_a_fraction_of_a_unit_is_not_counted() -> None:
    """Of 1 the last place is 2**-52: a truth that is known to 2**-61 counts, and one known to 2**-55 does not."""
    radii = np.array([0.0, 2.0**-63, 2.0**-55, 2.0**-45])
    balls = np.array([arb(1, radius) for radius in radii], dtype=object)
    truth = Certified(balls, lambda: balls)
    errors = _compared("value", np.arange(4.0)[:, None], np.full(4, 1 + 2.0**-52), truth)
    assert errors.points.tolist() == [[0.0], [1.0]]
    assert errors.ulps.tolist() == pytest.approx([1.0, 1.0], rel=1e-2)


def test_where_the_truth_is_not_known_to_a_thousandth_of_a_unit_nothing_is_counted() -> None:
    unit = 2.0**-52
    numbers = np.ones(3)
    balls = np.array([arb(1, float(radius)) for radius in (0.01 * unit, 1e-4 * unit, 0.0)], dtype=object)
    truth = Certified(balls, lambda: balls)
    errors = _compared("value", np.arange(3.0).reshape(3, 1), numbers, truth)
    assert errors.points.ravel().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("name", "signs"), [("exp", {-1, 1}), ("log", {1})])
def test_half_of_the_first_points_are_of_the_operator_s_range_and_half_of_all_magnitudes(
    name: str, signs: set[int]
) -> None:
    row = operator_table()[name]
    points = _spread(np.random.default_rng(0), row, "x")
    assert points.shape == (1000,)
    low, high = row.samples["x"]
    assert ((points[:500] >= low) & (points[:500] <= high)).all()
    magnitudes = np.log10(np.abs(points[500:]))
    assert magnitudes.min() < -7 < 2 < magnitudes.max()
    assert set(np.sign(points[500:]).astype(int).tolist()) == signs


@pytest.mark.parametrize(("operator", "signs"), [("sqrt", {1.0}), ("exp", {-1.0, 1.0})])
def test_points_have_the_signs_of_the_range_and_all_magnitudes(operator: str, signs: set[float]) -> None:
    points = _spread(np.random.default_rng(0), operator_table()[operator], "x")
    spread = points[ACCURACY["points"] - ACCURACY["points"] // 2 :]
    least, most = ACCURACY["magnitudes"]
    assert {*np.sign(spread)} == signs
    assert least < np.log10(np.abs(spread)).min() < least + 0.1
    assert most - 0.1 < np.log10(np.abs(spread)).max() < most
