"""Tests of the scalars of series with infinitesimals."""

from __future__ import annotations

from flint import arb

from refgrad.oracles.certified.arithmetic import Arithmetic


def test_a_detached_scalar_changes_along_no_direction() -> None:
    arithmetic = Arithmetic("truth", 64).along("x", [arb(3)])
    (moving,), (constant,) = arithmetic.leaf("x", [7.0]), arithmetic.leaf("y", [5.0])
    assert [moving[0], moving[1], constant[0], constant[1]] == [7, 3, 5, 0]
    assert [arithmetic.still(moving)[power] for power in (0, 1)] == [7, 0]
