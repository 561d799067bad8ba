"""A spelling's constants are fitted by equal numbers of the same kind alone."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from refgrad.checking.tracing.spellings import _fits


@pytest.mark.parametrize(
    ("written", "value", "fits"),
    [("2", 2, True), ("2", 3, False), ("2", 2.0, True), ("None", None, True), ("2", np.array([2, 2]), False)],
)
def test_a_constant_is_fitted_by_what_equals_it(written: str, value: Any, *, fits: bool) -> None:
    expression = ast.parse(written, mode="eval").body
    assert _fits(expression, value, {}, []) is fits
