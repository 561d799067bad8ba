"""The columns of the table of functions: what each makes of a name and a point, a number or None for no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf
from types import MappingProxyType
from typing import Any

import mpmath
import numpy as np
import sympy
from flint import arb, arb_series

from refgrad.operators import Formula
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.functions.balls import ball_functions, precision, series_precision
from refgrad.operators.functions.rows import PYTHON_FLOATS
from refgrad.operators.functions.series import series_functions
from tests.interpreter.complex_array import ComplexArray
from tests.operators.functions.complex_arrays import COMPLEX_ABSENT, COMPLEX_FUNCTIONS
from tests.operators.functions.digits import DIGITS_FUNCTIONS
from tests.operators.functions.intervals import INTERVAL_ABSENT, INTERVAL_FUNCTIONS
from tests.operators.symbolic_derivative import SYMBOL_FUNCTIONS
from tests.oracles.cross_checks.symbolic import LARGEST_NUMBER

Point = tuple[float, ...]
Value = Any
"""A float of mpmath's, or None."""

DIGITS = 60
BITS = 256
ROOM = 5_000
"""So many values are remembered: all systems are asked at the same edges."""


@dataclass(frozen=True, slots=True)
class System:
    """A column: how it is asked, how many digits of the truth it has, and its range of numbers.

    ``digits`` tell a function from another one; how far floats round is not asked here.
    """

    value: Callable[[str, Point], Value]
    digits: int
    absent: frozenset[str] = frozenset()
    takes: Callable[[float], bool] = lambda _: True
    largest: float = inf
    smallest: float = 0.0

    def agrees(self, result: Value, truth: Value) -> bool:
        """Whether a value is the truth to the digits and in the range that the system has."""
        share = mpmath.mpf(10) ** -self.digits
        if result is None:
            return bool(abs(truth) > self.largest * (1 - share))
        return bool(abs(result - truth) <= share * abs(truth) + self.smallest)


def in_domain(name: str, point: Point) -> bool:
    """Whether formulas may call a function there."""
    return bool(_domain(name)(*map(mpmath.mpf, point)))


@cache
def _domain(name: str) -> Callable[..., Any]:
    row = FUNCTIONS[name]
    return Formula(row.domain).function(row.parameters, DIGITS_FUNCTIONS)


def arguments(name: str, point: Point, number: Callable[[float], Any]) -> list[Any]:
    """Return the point in a system's numbers; parameters that take whole numbers stay plain integers."""
    row = FUNCTIONS[name]
    named = zip(row.parameters, point, strict=True)
    return [int(x) if parameter in row.integers else number(x) for parameter, x in named]


@lru_cache(maxsize=ROOM)
def truth(name: str, point: Point) -> Value:
    """Return mpmath's value."""
    with mpmath.workdps(DIGITS):
        try:
            return _real(DIGITS_FUNCTIONS[name](*arguments(name, point, mpmath.mpf)))
        except (ValueError, ZeroDivisionError):
            return None


def _on_arrays(dtype: type[np.floating[Any]]) -> Callable[[str, Point], Value]:
    def value(name: str, point: Point) -> Value:
        with np.errstate(all="ignore"):
            result = NUMPY_FUNCTIONS[name](*arguments(name, point, lambda x: np.asarray([x], dtype)))
        assert result.dtype == dtype
        return _real(float(result[0]))

    return value


def _on_complex_arrays(name: str, point: Point) -> Value:
    with np.errstate(all="ignore"):
        (result,) = COMPLEX_FUNCTIONS[name](*(ComplexArray.of(np.asarray([x], np.complex128), None) for x in point))
    return _real(complex(result))


def _on_python_floats(name: str, point: Point) -> Value:
    try:
        return _real(PYTHON_FLOATS[name](*point))
    except (ValueError, OverflowError):
        return None


def _on_balls(name: str, point: Point) -> Value:
    with precision(BITS):
        return _middle(arb(ball_functions(BITS)[name](*arguments(name, point, arb))))


def _on_series(name: str, point: Point) -> Value:
    with series_precision(BITS, 2):
        try:
            result = series_functions(BITS)[name](*arguments(name, point, lambda x: arb_series([arb(x), 1])))
        except (ValueError, ZeroDivisionError):
            return None
        return _middle(result[0] if type(result) is arb_series else arb(result))


def _on_intervals(name: str, point: Point) -> Value:
    try:
        return _real(mpmath.mpf(INTERVAL_FUNCTIONS[name](*map(mpmath.iv.mpf, point)).mid))
    except ValueError:
        return None


def _on_symbols(name: str, point: Point) -> Value:
    try:
        result = sympy.N(SYMBOL_FUNCTIONS[name](*arguments(name, point, sympy.Rational)), DIGITS // 2)
    except ValueError:
        return None
    with mpmath.workdps(DIGITS):
        return mpmath.mpf(str(result)) if result.is_extended_real and result.is_finite else None


def _middle(ball: arb) -> Value:
    """Return the middle of a ball, which is narrow, or None if it says nothing."""
    if not ball.is_finite():
        return None
    assert ball.rad() <= abs(ball.mid()) * 2.0**-100
    with mpmath.workprec(BITS):
        return mpmath.mpf(ball.mid().str(DIGITS, radius=False))


def _real(number: Any) -> Value:
    return mpmath.mpf(number.real) if mpmath.isfinite(number) and number.imag == 0 else None


def _in_floats(
    value: Callable[[str, Point], Value],
    digits: int,
    absent: frozenset[str] = frozenset(),
    dtype: type[np.floating[Any]] = np.float64,
) -> System:
    form = np.finfo(dtype)

    def takes(x: float) -> bool:
        return abs(x) <= float(form.max) and float(dtype(x)) == x

    return System(value, digits, absent, takes, float(form.max), float(form.smallest_normal))


SYSTEMS: Mapping[str, System] = MappingProxyType({
    "float64": _in_floats(_on_arrays(np.float64), 11),
    "float32": _in_floats(_on_arrays(np.float32), 5, dtype=np.float32),
    "float16": _in_floats(_on_arrays(np.float16), 2, dtype=np.float16),
    "complex128": _in_floats(_on_complex_arrays, 11, COMPLEX_ABSENT),
    "python floats": _in_floats(_on_python_floats, 11, frozenset(FUNCTIONS.keys() - PYTHON_FLOATS.keys())),
    "balls": System(_on_balls, 40),
    "series": System(_on_series, 40),
    "intervals": System(_on_intervals, 14, INTERVAL_ABSENT),
    "symbols": System(_on_symbols, 25, takes=lambda x: abs(x) <= LARGEST_NUMBER),
})
"""All columns but ``digits``, with which they are compared."""
