"""Entries are moved together with those that contribute about as much, and only they move towards 0."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.oracles.slopes.directions import TERMS, Directions, _alike
from refgrad.oracles.slopes.slopes import SCALES
from refgrad.scenario.formats import FORMATS
from tests.oracles.slopes.test_judgements import Differentiated


def test_entries_that_contribute_less_than_a_thousandth_are_moved_by_themselves() -> None:
    contributions = np.array([1e-4, 1.0, 2e-3, 0.0, 1e-6, 1e-9])
    assert [members.tolist() for members in _alike(contributions)] == [[1, 2], [0, 4], [5], [3]]


def test_a_saturated_output_has_the_error_of_its_steepest_slope_on_the_way_to_0() -> None:
    function = Differentiated(np.tanh, lambda x: 1 - np.tanh(x) ** 2, np.array([8.0, 6.0]), "float32")
    function.scale = SCALES["float64"]
    directions = Directions(function, np.random.default_rng(0))
    along = np.array([8.0, 0.0])
    assert directions.saturation(along) == pytest.approx([8 * TERMS * FORMATS["float32"].unit, 0.0], rel=1e-3)
    function.scale = directions.scale = SCALES["float32"]
    assert directions.saturation(along).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("method", "directions"), [("differences", 2), ("directions", 4)])
def test_an_entry_by_itself_has_one_direction_and_several_have_more(method: str, directions: int) -> None:
    judge = Directions(Differentiated(np.sin, np.cos, np.ones(3)), np.random.default_rng(0))
    judge.method = method
    assert list(map(len, judge.groups(np.array([1.0, 1.0, 1e-9])))) == [directions, 1]
