"""The functions of mpmath's intervals, of which the lint asks whether a domain holds over a whole range.

A condition is True, False or, where it is both inside of the interval, None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath

from refgrad.operators.expression import column
from refgrad.operators.functions.balls import Decision, logical_and, logical_not, logical_or
from refgrad.operators.functions.rows import FUNCTIONS

NATIVE = ("exp", "log", "sqrt", "sin", "cos", "tan")
INTERVAL_ABSENT = frozenset(FUNCTIONS.keys() - {*NATIVE})
"""Domains say little: they call nothing else."""


def _equal(x: Any, y: Any) -> Decision:
    difference = mpmath.iv.mpf(x) - y
    if 0 not in difference:
        return False
    return True if difference.delta == 0 else None


INTERVAL_FUNCTIONS: Mapping[str, Any] = column(
    {name: getattr(mpmath.iv, name) for name in NATIVE},
    {
        "number": mpmath.iv.mpf,
        "pi": mpmath.iv.pi,
        "greater": lambda x, y: mpmath.iv.mpf(x) > y,
        "greater_equal": lambda x, y: mpmath.iv.mpf(x) >= y,
        "less": lambda x, y: mpmath.iv.mpf(x) < y,
        "less_equal": lambda x, y: mpmath.iv.mpf(x) <= y,
        "equal": _equal,
        "not_equal": lambda x, y: logical_not(_equal(x, y)),
        "logical_and": logical_and,
        "logical_or": logical_or,
        "logical_not": logical_not,
    },
    INTERVAL_ABSENT,
)
"""The column, with comparisons; domains do not branch."""
