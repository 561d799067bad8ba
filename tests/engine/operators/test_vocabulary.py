"""Tests of the functions that formulas call on tensors: one that nobody can differentiate again says so."""

import pytest

from refgrad.engine import tensor
from refgrad.engine.operators.vocabulary import _constant_function


def test_a_stepped_function_is_constant_and_another_without_a_row_is_refused() -> None:
    assert _constant_function("floor")(tensor(1.5)).item() == 1.0
    with pytest.raises(LookupError, match="no row of the operator table says how to differentiate it again"):
        _constant_function("exp")(tensor(1.5))
