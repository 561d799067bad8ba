"""Intervals of the numbers that do not fail, as the corpus publishes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from refgrad.oracles import Certified
from refgrad.oracles.judgement import ALLOWANCE, has_choices, undecided, vague_above


def accepted(certified: Certified) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the least and the largest number that do not fail, rounded outwards, per entry; NaN where undecided."""
    truth, radius, budget, form = certified.midpoint, certified.radius, certified.budget, certified.form
    with np.errstate(all="ignore"):
        number = radius + ALLOWANCE * (budget + form.unit * np.abs(truth)) + form.underflow
        choice = radius + np.maximum(
            vague_above(form) * np.maximum(1.0, np.abs(truth)), ALLOWANCE * np.maximum(budget - radius, 0.0)
        )
        away = np.where(has_choices(certified), choice, number)
        ends = (np.nextafter(truth + sign * away, sign * np.inf) for sign in (-1, 1))
        lower, upper = (np.where(undecided(certified), np.nan, end) for end in ends)
    return lower, upper
