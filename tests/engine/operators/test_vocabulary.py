"""Tests of the functions that formulas call on tensors: one that nobody can differentiate again says so."""

from typing import Any

import numpy as np
import pytest

from refgrad.engine import tensor
from refgrad.engine.operators.vocabulary import _constant_function, alike, where


def test_a_stepped_function_is_constant_and_another_without_a_row_is_refused() -> None:
    assert _constant_function("floor")(tensor(1.5)).item() == 1.0
    with pytest.raises(LookupError, match="no row of the operator table says how to differentiate it again"):
        _constant_function("exp")(tensor(1.5))


@pytest.mark.parametrize(
    ("condition", "values", "masked_by_bits"),
    [
        (np.array([True, False]), np.array([1.0, 2.0]), True),
        (np.array([1.0, 0.0]), np.array([1.0, 2.0]), False),
        (np.array([True, False]), np.array([1.0, 2.0], np.float32), False),
        (np.array([True]), np.array([1.0, 2.0]), False),
        (True, np.array([1.0, 2.0]), False),
    ],
)
def test_truth_values_mask_numbers_of_float64_of_their_shape(
    condition: object, values: object, *, masked_by_bits: bool
) -> None:
    assert alike(condition, values) is masked_by_bits


@pytest.mark.parametrize("otherwise", [0, 1, 0.0, 2.5, np.float64(3.0), np.array([4.0, 5.0])])
@pytest.mark.parametrize("condition", [np.array([True, False]), np.True_, np.False_])
@pytest.mark.parametrize("then", [np.array([2.0, 3.0]), np.float64(2.0)])
def test_a_choice_is_numpys(condition: Any, then: Any, otherwise: Any) -> None:
    np.testing.assert_array_equal(where(condition, then, otherwise), np.where(condition, then, otherwise))
