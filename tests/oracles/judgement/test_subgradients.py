"""Tests of what counts as zero among the slopes on either side of kinks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb

from refgrad.oracles import CertifiedOracle
from refgrad.oracles.judgement import smooth_directions, violation
from tests.oracles.programs import program


@pytest.mark.parametrize(("factor", "columns"), [(1e-8, 0), (1e-12, 1)])
def test_a_kink_is_one_however_little_it_bends_unless_that_is_rounding(factor: float, columns: int) -> None:
    lines = ["a = multiply x c", "b = relu a", "l = sum b"]
    scenario = program({"x": [0.0], "c": factor}, lines)
    found = smooth_directions(scenario, (("l", None),), np.arange(1), {"x": (1,)})
    assert found.shape == (1, columns)


TIE = program({"x": 1.5, "y": 1.5}, ["l = maximum x y"])
"""The slopes of x and y are any two numbers from 0 to 1 that sum to 1."""


def breaks_the_tie(excess: float, further: float = 0.0) -> bool:
    """Whether slopes that sum to more are a violation, where rounding goes so much further than the tie."""
    oracle = CertifiedOracle(TIE)
    certified = {name: oracle.gradient(name, (("l", None),)) for name in "xy"}
    wider = {
        name: replace(each, rounding=lambda: np.array(arb(0.5, 0.5 + further), dtype=object))
        for name, each in certified.items()
    }
    observed = {"x": np.array(0.25), "y": np.array(0.75 + excess)}
    return violation(TIE, (("l", None),), observed, wider) is not None


@pytest.mark.parametrize(("excess", "found"), [(1.8e-6, False), (2.2e-6, True), (-1.8e-6, False), (-2.2e-6, True)])
def test_the_choices_of_a_tie_sum_to_one_to_six_digits_each(excess: float, *, found: bool) -> None:
    assert breaks_the_tie(excess) is found


@pytest.mark.parametrize(("excess", "found"), [(7.9e-3, False), (8.1e-3, True)])
def test_rounding_beyond_a_tie_leaves_four_times_its_room(excess: float, *, found: bool) -> None:
    assert breaks_the_tie(excess, further=1e-3) is found
