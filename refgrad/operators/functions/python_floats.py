"""The functions on Python floats, from ``math``, with which formulas compute their constants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from refgrad.operators.functions.rows import FUNCTIONS

PYTHON_ABSENT = frozenset({
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "sigmoid", "erfcx", "erfinv"),
    *("abs", "sign", "floor", "trunc", "round", "maximum", "minimum"),
    *("polygamma", "digamma", "besseli", "besselie", "sphericalj", "i0", "i1", "i0e", "i1e"),
})
"""Functions that are not applied to constants in advance, but evaluated with the rest of the formula."""

PYTHON_FLOATS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(math, name) for name in FUNCTIONS if name not in PYTHON_ABSENT} | {"pi": math.pi}
)
"""The column of Python floats. The import fails if ``math`` lacks a function that is not declared absent."""
