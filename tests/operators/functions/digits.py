"""The functions of mpmath's floats, of as many digits as are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import mpmath

from refgrad.operators.expression import column

MPMATH_NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "log", "expm1", "log1p", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh")}
    | {"tanh": "tanh", "sign": "sign", "floor": "floor", "hypot": "hypot", "arctan2": "atan2"}
    | {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "digamma": "digamma"}
    | {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
    # To the nearest, and of two such integers to the even one.
    | {"round": "nint"}
)


@contextmanager
def digits(count: int) -> Iterator[None]:
    """Compute with that many decimal digits inside the block."""
    with mpmath.workdps(count):
        yield


def _where(condition: Any, x: Any, y: Any) -> Any:
    """Return x or y, a plain integer as a float of mpmath's: Python would divide it in 53 bits."""
    chosen = x if condition else y
    return mpmath.mpf(chosen) if type(chosen) is int else chosen


def _cube_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _spherical_bessel(n: Any, x: Any) -> Any:
    """Of the order |n| (DLMF 10.53.1)."""
    order = abs(int(n))
    return x**order / mpmath.fac2(2 * order + 1) * mpmath.hyp0f1(order + mpmath.mpf(3) / 2, -x * x / 4)


DIGITS_FUNCTIONS: Mapping[str, Any] = column(
    {name: getattr(mpmath, other) for name, other in MPMATH_NAMES.items()}
    | {
        "cbrt": _cube_root,
        "lgamma": lambda x: mpmath.loggamma(x).real,
        "polygamma": lambda n, x: mpmath.polygamma(int(n), x),
        "besseli": lambda n, x: mpmath.besseli(int(n), x),
        "sphericalj": _spherical_bessel,
    },
    {
        "number": mpmath.mpf,
        "pi": mpmath.pi,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
        "logical_and": lambda a, b: a and b,
        "logical_or": lambda a, b: a or b,
        "logical_not": lambda a: not a,
        "where": _where,
    },
)
"""The column, with mpmath's comparisons, branches and numbers."""
