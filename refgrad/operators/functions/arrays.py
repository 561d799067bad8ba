"""The functions on numpy arrays of real numbers, in float64 and narrower formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.expression import COMPARISONS, column


@cache
def _scipy(name: str) -> Callable[..., Any]:
    """Return a function of ``scipy.special``, which is imported at the first call: that takes a third of a second."""
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


def _in_format_of(x: Any, result: Any) -> Any:
    """Cast a result of scipy to float16 if ``x`` is float16, for which scipy returns a wider format."""
    return result.astype(np.float16) if getattr(x, "dtype", None) == np.float16 else result


def _special(name: str) -> Callable[[Any], Any]:
    return lambda x: _in_format_of(x, _scipy(name)(x))


def _polygamma(n: int, x: Any) -> Any:
    """Compute polygamma by the Hurwitz zeta function (DLMF 25.11.12); scipy's own does not keep the dtype."""
    if n == 0:
        return DIGAMMA(x)
    return _in_format_of(x, (-1.0) ** (n + 1) * math.factorial(int(n)) * _scipy("zeta")(n + 1.0, x))


def _besseli(n: float, x: Any) -> Any:
    order = int(abs(n))  # formulas pass a float
    return BESSEL[order](x) if order in BESSEL else _modified("iv", order, x)


def _besselie(n: float, x: Any) -> Any:
    """Use lower orders for large x, where scipy has no numbers (DLMF 10.29.1, whose terms do not cancel there)."""
    order = int(abs(n))
    if order in SCALED_BESSEL:
        return SCALED_BESSEL[order](x)
    result, is_far = _modified("ive", order, x), np.abs(x) > FAR
    if not np.any(is_far):
        return result
    far = _besselie(order - 2, x) - 2 * (order - 1) / np.where(is_far, x, FAR) * _besselie(order - 1, x)
    return _in_format_of(x, np.where(is_far, far, result))


def _modified(name: str, order: int, x: Any) -> Any:
    """Compute a modified Bessel function, near 0 by the first term of its series (DLMF 10.30.1)."""
    return _of_order(name, order, x, (x / 2) ** order / math.factorial(order), NEAR)


def _sphericalj(n: float, x: Any) -> Any:
    """Compute a spherical Bessel function, near 0 by the first term of its series (DLMF 10.52.1)."""
    order = int(abs(n))
    first = x**order / math.prod(range(1, 2 * order + 2, 2))
    return _of_order("spherical_jn", order, x, first, NEAR_SPHERE)


def _of_order(name: str, order: int, x: Any, first: Any, border: float) -> Any:
    """Return scipy's function of an order, but ``first``, the first term of the series, where |x| < ``border``."""
    is_near = np.abs(x) < border
    result = np.where(is_near, first, _scipy(name)(order, np.where(is_near, border, x)))
    return result.astype(np.asarray(x).dtype)[()]


def _sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e⁻ˣ) without an exponential that overflows."""
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


DIGAMMA = _special("digamma")
BESSEL = MappingProxyType({0: _special("i0"), 1: _special("i1")})
"""Functions of scipy for the orders 0 and 1, right for all numbers: its general one is 0 at 1e-181 for order 1."""
NEAR_SPHERE = math.sqrt(np.finfo(np.float64).eps) / 2
"""Size of x below which the first term of a spherical Bessel function is accurate: 1 + x² rounds to 1."""

NEAR = 2.0**-500
"""Size of x below which a higher power is negligible next to a lower one; scipy returns NaN below 1e-305."""

FAR = 2.0**20
"""Size of x above which lower orders are used: far beyond all orders, and below 2**30, where AMOS loses digits."""

SCALED_BESSEL = MappingProxyType({0: _special("i0e"), 1: _special("i1e")})

NUMPY_FUNCTIONS: Mapping[str, Any] = column(
    {
        name: getattr(np, name)
        for name in (
            *("exp", "log", "expm1", "exp2", "log1p", "log2", "log10", "sqrt", "cbrt", "hypot"),
            *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2"),
            *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
            *("sign", "floor", "trunc", "round", "maximum", "minimum"),
        )
    }
    # numpy lacks these, or (i0) is less accurate.
    | {name: _special(name) for name in ("erf", "erfc", "erfcx", "erfinv", "i0", "i1", "i0e", "i1e")}
    | {
        "abs": abs,
        "sigmoid": _sigmoid,
        "lgamma": _special("gammaln"),
        "digamma": DIGAMMA,
        "polygamma": _polygamma,
        "besseli": _besseli,
        "besselie": _besselie,
        "sphericalj": _sphericalj,
    },
    {name: getattr(np, name) for name in (*COMPARISONS.values(), "where", "logical_and", "logical_or", "logical_not")}
    | {"number": float, "pi": math.pi},
)
"""The column of numpy arrays, with comparisons, branches and numbers."""
