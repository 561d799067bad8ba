"""Tests of values that are the same but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.checking.libraries.nearness import near


@pytest.mark.parametrize(
    ("small", "error", "expected"),
    [
        (1e-2, 2e-4, False),
        (1e-2, 5e-5, True),
        (1e-4, 5e-4, True),
        (1e-4, 2e-3, False),
    ],
)
def test_an_entry_is_compared_with_itself_unless_cancellation_made_it_small(
    small: float, error: float, *, expected: bool
) -> None:
    """What is smaller than a thousandth of the largest entry is compared with that thousandth."""
    output, value = np.array([1.0, small]), np.array([1.0, small * (1 + error)])
    assert near(output, value, 1e-4) == expected


def test_truth_values_are_the_same_or_not() -> None:
    assert near(np.array([True, False]), np.array([True, False]), 1e-4)
    assert not near(np.array([True, False]), np.array([True, True]), 1e-4)


def test_what_is_not_finite_is_not_compared() -> None:
    assert near(np.array([np.inf, 1.0]), np.array([np.nan, 1.0]), 1e-4)
