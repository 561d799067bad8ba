"""The functions of mpmath's intervals, of which the lint asks whether a domain holds over a whole range.

A condition is True, False or, where it is both inside of the interval, None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath

from refgrad.operators.functions.column import column
from refgrad.operators.functions.rows import FUNCTIONS

NATIVE = ("exp", "log", "sqrt", "sin", "cos", "tan")
INTERVAL_ABSENT = frozenset(FUNCTIONS) - {*NATIVE}
"""Domains say little: they call nothing else."""


def _both(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001 (Kleene's conjunction)
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:  # noqa: FBT001 (Kleene's negation)
    return None if a is None else not a


def _equal(x: Any, y: Any) -> bool | None:
    difference = mpmath.iv.mpf(x) - y
    if 0 not in difference:
        return False
    return True if difference.delta == 0 else None


INTERVAL_FUNCTIONS: Mapping[str, Any] = column(
    "intervals",
    {name: getattr(mpmath.iv, name) for name in NATIVE},
    {
        "number": mpmath.iv.mpf,
        "pi": mpmath.iv.pi,
        "greater": lambda x, y: mpmath.iv.mpf(x) > y,
        "greater_equal": lambda x, y: mpmath.iv.mpf(x) >= y,
        "less": lambda x, y: mpmath.iv.mpf(x) < y,
        "less_equal": lambda x, y: mpmath.iv.mpf(x) <= y,
        "equal": _equal,
        "not_equal": lambda x, y: _not(_equal(x, y)),
        "logical_and": _both,
        "logical_or": lambda a, b: _not(_both(_not(a), _not(b))),
        "logical_not": _not,
    },
    INTERVAL_ABSENT,
)
"""The column, with comparisons; domains do not branch."""
