"""Are entries in the order that NumPy and PyTorch bring them into?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad import engine
from tests.effort import each
from tests.operators.applying import applied, assert_close

X = np.random.default_rng(2).normal(size=(3, 4, 5))
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9)


@given(NUMBERS)
def test_any_numbers_come_into_order(numbers: list[float]) -> None:
    assert applied("sort", numbers).tolist() == sorted(numbers)
    assert applied("sort", numbers, descending=True).tolist() == sorted(numbers, reverse=True)


@given(NUMBERS, st.integers(1, 3))
def test_the_first_of_an_order_are_the_most_extreme(numbers: list[float], k: int) -> None:
    ascending = sorted(numbers)
    if k > len(numbers):
        with pytest.raises(ValueError, match=f"there are no {k} entries"):
            applied("topk", numbers, k=k)
        return
    assert applied("topk", numbers, k=k).tolist() == ascending[::-1][:k]
    assert applied("topk", numbers, k=k, largest=False).tolist() == ascending[:k]
    assert applied("kthvalue", numbers, k=k) == ascending[k - 1]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axes_are_brought_into_order_one_by_one(axis: int) -> None:
    assert_close(applied("sort", X, axis=axis), np.sort(X, axis=axis))
    assert_close(applied("median", X, axis=axis), np.median(X, axis=axis))
    assert_close(applied("median", X, axis=axis, keepdims=True), np.median(X, axis=axis, keepdims=True))


@each("q", [0.0, 0.3, 0.5, 0.75, 1.0])
@each("axis", [0, 1, -1])
def test_quantiles_are_those_of_numpy(axis: int, q: float) -> None:
    assert_close(applied("quantile", X, q=q, axis=axis), np.quantile(X, q, axis=axis))
    assert_close(applied("quantile", X, q=q, axis=axis, keepdims=True), np.quantile(X, q, axis=axis, keepdims=True))


@pytest.mark.engines
def test_of_two_entries_in_the_middle_the_lower_median_is_the_smaller() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    for axis in (0, 1, -1):
        assert_close(applied("lower_median", X, axis=axis), torch.median(torch.tensor(X), dim=axis).values)
    assert applied("lower_median", [4.0, 1.0, 3.0, 2.0]) == 2.0
    assert applied("median", [4.0, 1.0, 3.0, 2.0]) == 2.5


def test_no_entries_have_no_median() -> None:
    for name in ("median", "quantile"):
        with pytest.raises(ValueError, match="no quantile"):
            applied(name, np.zeros((2, 0)))


@given(NUMBERS)
def test_of_a_tie_the_first_index_counts(numbers: list[float]) -> None:
    x = np.array(numbers) / 16  # neither their differences nor their products with a place overflow
    assert applied("times_argmax", x).tolist() == (x * np.argmax(x)).tolist()
    assert applied("times_argmin", x).tolist() == (x * np.argmin(x)).tolist()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_indices_are_counted_along_an_axis(axis: int) -> None:
    assert_close(applied("times_argmax", X, axis=axis), X * np.argmax(X, axis=axis, keepdims=True))
    assert_close(applied("times_argmin", X, axis=axis), X * np.argmin(X, axis=axis, keepdims=True))


def test_the_index_of_an_extremum_needs_entries() -> None:
    for axis in (None, 1):
        with pytest.raises(ValueError, match="no index"):
            applied("times_argmax", np.zeros((2, 0)), axis=axis)


@pytest.mark.parametrize(("name", "find"), [("times_argmax", np.argmax), ("times_argmin", np.argmin)])
def test_an_index_has_no_slope(name: str, find: Callable[..., Any]) -> None:
    x = engine.tensor(X, requires_grad=True)
    getattr(engine, name)(x, axis=1).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == np.broadcast_to(find(X, axis=1, keepdims=True), X.shape).tolist()
