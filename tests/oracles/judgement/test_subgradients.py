"""Tests of what counts as zero among the slopes on either side of kinks."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.oracles.judgement.subgradients import smooth_directions
from tests.oracles.programs import program


@pytest.mark.parametrize(("factor", "columns"), [(1e-8, 0), (1e-12, 1)])
def test_a_kink_is_one_however_little_it_bends_unless_that_is_rounding(factor: float, columns: int) -> None:
    lines = ["a = multiply x c", "b = relu a", "l = sum b"]
    scenario = program({"x": [0.0], "c": factor}, lines)
    found = smooth_directions(scenario, (("l", None),), np.arange(1), {"x": (1,)})
    assert found.shape == (1, columns)
