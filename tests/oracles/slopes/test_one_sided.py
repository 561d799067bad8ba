"""Tests of slopes on one side: they are extrapolated where they converge, as far as rounding lets one see."""

import numpy as np
import pytest

from refgrad.oracles.slopes.curves import Floats, Line, Positions, Samples
from refgrad.oracles.slopes.one_sided import HALVINGS, WEIGHTS, _levels, one_sided


class Slow(Line):
    """x ** 1.02 to the right of 0 and nothing to the left, with some noise: its slopes shrink by 1.4 % a halving."""

    def __init__(self, noise: float) -> None:
        super().__init__(lambda x: np.array([x**1.02 if x >= 0 else np.nan]), np.zeros(1), np.zeros(1), 2.0**-53)
        self.deviations = noise

    def noise(self, indices: Positions, samples: Samples) -> Floats:
        del indices
        return np.full(samples.values.shape, self.deviations)


@pytest.mark.parametrize(("noise", "known"), [(1e-9, False), (1e-7, True), (1e-4, False)])
def test_slopes_are_unknown_that_do_not_converge_or_of_which_noise_leaves_nothing(noise: float, *, known: bool) -> None:
    found = one_sided(Slow(noise), np.arange(1), np.array([2.0**-7]))
    assert np.isfinite(found.error[0]) == known


def test_weights_are_those_of_each_slope_in_the_last_extrapolation() -> None:
    slopes = np.random.default_rng(0).normal(size=(HALVINGS, 1))
    assert _levels(slopes)[-1][-1] == pytest.approx(WEIGHTS @ slopes)
