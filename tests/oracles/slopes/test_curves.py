"""Tests of what is known of slopes: another attempt improves it, and what was known stays as it was."""

import numpy as np

from refgrad.oracles.slopes.curves import BoundedSlopes


def slopes(value: float, error: float) -> BoundedSlopes:
    return BoundedSlopes(np.full(2, value), np.full(2, error), np.full(2, error / 2), np.zeros(2, dtype=bool))


def test_what_is_better_is_taken_over_and_the_first_attempt_stays_as_it_was() -> None:
    first, second = slopes(1.0, 0.5), slopes(1.1, 0.125)
    found = first.improved(np.array([1, 0]), second)
    assert (found.value.tolist(), found.error.tolist(), found.rounding.tolist()) == (
        [1.1] * 2,
        [0.125] * 2,
        [0.0625] * 2,
    )
    assert (first.value.tolist(), first.error.tolist(), first.rounding.tolist()) == ([1.0] * 2, [0.5] * 2, [0.25] * 2)


def test_what_is_worse_is_not_taken_over() -> None:
    assert slopes(1.0, 0.125).improved(np.array([0, 1]), slopes(1.1, 0.5)).error.tolist() == [0.125, 0.125]


def test_a_slope_that_moves_by_more_than_its_error_had_too_small_a_one() -> None:
    found = slopes(1.0, 0.01).improved(np.array([0, 1]), slopes(2.0, 0.5))
    assert (found.value.tolist(), found.error.tolist()) == ([2.0, 2.0], [0.5, 0.5])


def test_a_slope_that_moves_by_as_much_as_its_error_had_a_right_one() -> None:
    """Another attempt of error 0.5 has 0.25 of it from rounding."""
    found = slopes(1.0, 0.25).improved(np.array([0, 1]), slopes(1.5, 0.5))
    assert (found.value.tolist(), found.error.tolist()) == ([1.0, 1.0], [0.25, 0.25])


def test_of_what_nothing_is_known_everything_is_taken_over() -> None:
    assert BoundedSlopes.unknown(2).improved(np.array([0, 1]), slopes(1.0, 0.5)).error.tolist() == [0.5, 0.5]
