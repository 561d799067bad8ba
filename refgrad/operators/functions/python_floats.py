"""The functions of Python's own floats, with which formulas compute their constants: those that ``math`` has."""

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
"""What a formula does not compute of its constants beforehand, but with everything else."""

PYTHON_FLOATS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(math, name) for name in FUNCTIONS if name not in PYTHON_ABSENT} | {"pi": math.pi}
)
"""The column; a row that it lacks and does not declare is an error of the import."""
