"""Do running sums, products and extrema, and differences, have the values that NumPy gives them?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import each
from tests.operators.applying import applied, assert_close

X = np.random.default_rng(1).normal(size=(2, 3, 4))


@each("axis", [0, 1, -1])
@each(
    ("name", "expected"),
    [
        ("cumsum", np.cumsum),
        ("cumprod", np.cumprod),
        ("cummax", np.maximum.accumulate),
        ("cummin", np.minimum.accumulate),
        ("logcumsumexp", np.logaddexp.accumulate),
    ],
)
def test_scans_are_those_of_numpy(name: str, expected: np.ufunc, axis: int) -> None:
    assert_close(applied(name, X, axis=axis), expected(X, axis=axis))
    assert applied(name, X[:, :0], axis=1).shape == (2, 0, 4)
    assert applied(name, X[:0], axis=axis).shape == (0, 3, 4)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_differences_are_those_of_numpy(axis: int, n: int) -> None:
    assert_close(applied("diff", X, n=n, axis=axis), np.diff(X, n, axis=axis))
    assert applied("diff", X[:, :1], n=n, axis=1).shape == (2, 0, 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_integrals_are_those_of_numpy(axis: int) -> None:
    assert_close(applied("trapezoid", X, X**2, axis=axis), np.trapezoid(X, X**2, axis=axis))


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8))
def test_differences_undo_sums(numbers: list[int]) -> None:
    array = np.array(numbers, dtype=np.float64)
    assert applied("diff", applied("cumsum", array)).tolist() == array[1:].tolist()
