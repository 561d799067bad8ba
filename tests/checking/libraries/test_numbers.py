"""Arrays come back in the dtype of the tensors that they stand for, if that has derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.checking.libraries.trees import Kind, from_real, near


@pytest.mark.parametrize(
    ("given", "kind", "due"),
    [
        ("float64", "float32", "float32"),
        ("float64", "float64", "float64"),
        ("int64", "int64", "int64"),
        ("bool", "bool", "bool"),
        ("uint8", "int32", "uint8"),
    ],
)
def test_floating_arrays_are_rounded_to_the_dtype_and_others_are_as_they_were(given: str, kind: str, due: str) -> None:
    assert from_real(np.ones(2, given), Kind(kind)).dtype == due


def test_pairs_are_complex_numbers_again() -> None:
    found = from_real(np.array([[1.5, -2.0]]), Kind("complex64"))
    assert found.dtype == "complex64"
    assert found.tolist() == [1.5 - 2j]


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
