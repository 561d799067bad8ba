"""The functions of numpy's arrays of complex numbers: those that are analytic and right to a few bits in both parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refgrad.operators.expression import COMPARISONS, column
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.functions.rows import FUNCTIONS

COMPLEX_ABSENT = frozenset(name for name, row in FUNCTIONS.items() if row.nature != "analytic") | {
    *("arctan2", "hypot", "cbrt", "sigmoid"),  # numpy's own, and ours, take real numbers alone
    *("erf", "erfc", "erfcx", "erfinv", "lgamma", "polygamma", "digamma", "besseli", "sphericalj", "i0", "i1"),
}
"""Functions that are not complex differentiable, or not right to a few bits for complex numbers."""

COMPLEX_FUNCTIONS: Mapping[str, Any] = column(
    {name: NUMPY_FUNCTIONS[name] for name in FUNCTIONS if name not in COMPLEX_ABSENT},
    {name: NUMPY_FUNCTIONS[name] for name in (*COMPARISONS.values(), "where", "number", "pi")}
    | {name: NUMPY_FUNCTIONS[name] for name in ("logical_and", "logical_or", "logical_not")},
    COMPLEX_ABSENT,
)
"""The column: numpy's functions are of complex numbers too, but for those that it declares absent."""
