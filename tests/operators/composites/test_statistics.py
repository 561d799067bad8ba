"""Do variances, norms and covariances have the values that NumPy and SciPy give them?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from tests.effort import each
from tests.operators.applying import applied, assert_close

X = np.random.default_rng(0).normal(size=(2, 3, 4))
AXES = [None, 0, -1, (0,), (1, 2), (2, 0), (-1, -3), (2, 0, 1)]


@each("keepdims", [False, True])
@each("correction", [0, 1])
@each("axis", AXES)
def test_spreads_are_those_of_numpy(axis: Any, correction: int, keepdims: bool) -> None:  # noqa: FBT001
    for name in ("var", "std"):
        expected = getattr(np, name)(X, axis=axis, ddof=correction, keepdims=keepdims)
        assert_close(applied(name, X, axis=axis, correction=correction, keepdims=keepdims), expected)


@each("keepdims", [False, True])
@each("axis", AXES)
def test_norms_are_those_of_numpy(axis: Any, keepdims: bool) -> None:  # noqa: FBT001
    orders = {"l1_norm": 1, "l2_norm": 2, "max_norm": np.inf}
    for name, order in orders.items():
        expected = np.linalg.vector_norm(X, axis=axis, ord=order, keepdims=keepdims)
        assert_close(applied(name, X, axis=axis, keepdims=keepdims), expected)
    expected = np.linalg.vector_norm(X, axis=axis, ord=2.5, keepdims=keepdims)
    assert_close(applied("vector_norm", X, axis=axis, order=2.5, keepdims=keepdims), expected)


@each("keepdims", [False, True])
@each("axis", AXES)
def test_ranges_and_sums_of_exponentials_are_those_of_numpy_and_scipy(axis: Any, keepdims: bool) -> None:  # noqa: FBT001
    assert_close(applied("ptp", X, axis=axis, keepdims=keepdims), np.ptp(X, axis=axis, keepdims=keepdims))
    assert_close(applied("logsumexp", X, axis=axis, keepdims=keepdims), logsumexp(X, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("axis", AXES)
def test_weighted_means_are_those_of_numpy(axis: Any) -> None:
    weights = np.exp(X)
    assert_close(applied("average", X, weights, axis=axis), np.average(X, axis=axis, weights=weights))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_covariances_are_those_of_numpy(rows: int) -> None:
    matrix = X[0, :rows]
    assert_close(applied("cov", matrix), np.cov(matrix))
    assert_close(applied("cov", matrix, correction=0), np.cov(matrix, ddof=0))
    assert_close(applied("corrcoef", matrix), np.corrcoef(matrix))


def test_a_number_has_norms_but_no_corrected_variance() -> None:
    assert applied("l2_norm", -3.0) == 3.0
    assert applied("max_norm", -3.0) == 3.0
    assert applied("var", 3.0) == 0.0
    with pytest.raises(ValueError, match="the variance of 1 entries"):
        applied("var", 3.0, correction=1)


def test_no_coordinates_have_the_length_0() -> None:
    assert applied("l2_norm", np.zeros((2, 0)), axis=1).tolist() == [0.0, 0.0]
    assert applied("l2_norm", np.zeros((2, 0)), axis=0).shape == (0,)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.floats(-1e3, 1e3))
def test_a_length_scales_with_its_vector(vector: list[float], factor: float) -> None:
    scaled = applied("l2_norm", factor * np.array(vector))
    assert np.allclose(scaled, abs(factor) * applied("l2_norm", vector), rtol=1e-12, atol=1e-300)
