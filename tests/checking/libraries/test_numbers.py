"""Arrays come back in the dtype of the tensors that they stand for, if that has derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.checking.libraries.numbers import Kind, as_given


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
    assert as_given(np.ones(2, given), Kind(kind)).dtype == due


def test_pairs_are_complex_numbers_again() -> None:
    found = as_given(np.array([[1.5, -2.0]]), Kind("complex64"))
    assert found.dtype == "complex64"
    assert found.tolist() == [1.5 - 2j]
