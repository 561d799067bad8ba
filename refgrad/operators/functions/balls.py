"""The functions on FLINT's balls.

A ball is a midpoint and a radius; every operation returns a ball that contains all results for all members of its
operands (Johansson, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic, IEEE Trans. Comput. 2017).
Inequalities return True, False or None: None where overlapping balls or an exact tie leave the branch undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from flint import arb, ctx

from refgrad.operators.functions.column import column
from refgrad.operators.functions.decisions import Decision, logical_and, logical_not, logical_or
from refgrad.operators.functions.special_balls import (
    as_integer,
    bessel,
    cube_root,
    erfcx,
    nearest_even,
    of_ball,
    polygamma,
    scaled_bessel,
    spherical_bessel_function,
    toward_zero,
)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the precision of ball arithmetic to ``bits`` bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def greater(x: Any, y: Any) -> Decision:
    """Return True if x > y; None where the balls overlap and at exact equality, where a kink lies."""
    if x > y:
        return True
    return False if x < y else None


def less(x: Any, y: Any) -> Decision:
    """Return True if x < y; None where the balls overlap and at exact equality."""
    return greater(y, x)


def equal(x: Any, y: Any) -> Decision:
    """Return True if x == y; None where the balls overlap but are not both exact."""
    difference = arb(x) - arb(y)
    if difference.is_zero():
        return True
    return None if difference.contains(0) else False


def hull(x: Any, y: Any) -> arb:
    """Return a ball that contains both; NaN if either is NaN."""
    a, b = arb(x), arb(y)
    return a + b if a.is_nan() or b.is_nan() else a.union(b)


def where(condition: Decision, x: Any, y: Any) -> Any:
    """Return x or y, or their hull if the condition is undecided."""
    if condition is None:
        return hull(x, y)
    return x if condition else y


Branch = tuple[Any, ...] | Callable[[], tuple[Any, ...]]


def choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return one branch's value and partials, or the hulls over both branches if the condition is undecided."""
    if condition is None:
        return tuple(hull(a, b) for a, b in zip(_taken(then), _taken(otherwise), strict=True))
    return _taken(then if condition else otherwise)


def _taken(branch: Branch) -> tuple[Any, ...]:
    return branch if type(branch) is tuple else branch()  # type: ignore[operator]


def _ball(number: Any) -> arb:
    return number if type(number) is arb else arb(number)


def _sign(x: Any) -> arb:
    """Return the sign, and NaN for NaN, where FLINT returns [-1, 1]."""
    ball = arb(x)
    return ball if ball.is_nan() else ball.sgn()


def _arctan2(ordinate: Any, abscissa: Any) -> arb:
    """Return the angle, and NaN if either is NaN: where both are, FLINT returns [-π, π]."""
    y, x = arb(ordinate), arb(abscissa)
    return arb.nan() if y.is_nan() or x.is_nan() else arb.atan2(y, x)


FLINT_NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "log", "expm1", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")}
    | {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
    | {name: name for name in ("floor", "erf", "erfc", "erfinv")}
)

CELLS: Mapping[str, Any] = MappingProxyType(
    {name: of_ball(getattr(arb, other)) for name, other in FLINT_NAMES.items()}
    | {
        "exp2": lambda x: arb(2) ** x,
        "log2": lambda x: _ball(x).log() / arb.const_log2(),
        "log10": lambda x: _ball(x).log() / arb.const_log10(),
        "abs": lambda x: abs(_ball(x)),
        "sign": _sign,
        "trunc": of_ball(toward_zero),
        "round": of_ball(nearest_even),
        "maximum": lambda x, y: arb(x).max(arb(y)),
        "minimum": lambda x, y: arb(x).min(arb(y)),
        "arctan2": _arctan2,
        "hypot": lambda x, y: (_ball(x) * x + _ball(y) * y).nonnegative_part().sqrt(),
        "cbrt": of_ball(cube_root),
        "erfcx": of_ball(erfcx),
        "lgamma": of_ball(lambda x: x.lgamma() if x > 0 else arb.nan()),
        "digamma": of_ball(lambda x: x.digamma() if x > 0 else arb.nan()),
        "polygamma": polygamma,
        "besseli": lambda order, x: bessel(as_integer(order))(x),
        "besselie": lambda order, x: scaled_bessel(as_integer(order))(x),
        "sphericalj": lambda order, x: spherical_bessel_function(as_integer(order))(x),
        "i0e": scaled_bessel(0),
        "i1e": scaled_bessel(1),
    }
)

GRAMMAR: Mapping[str, Any] = MappingProxyType({
    "number": arb,
    "greater": greater,
    "greater_equal": greater,
    "less": less,
    "less_equal": less,
    "equal": equal,
    "not_equal": lambda x, y: logical_not(equal(x, y)),
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_not": logical_not,
    "where": where,
    "choose": choose,
})

BALL_FUNCTIONS: Mapping[str, Any] = column("balls", CELLS, GRAMMAR)
"""The column of balls, with comparisons and branches, without pi, which depends on the precision."""


@cache
def ball_functions(bits: int) -> Mapping[str, Any]:
    """Return the column, with pi at a precision of ``bits`` bits."""
    with precision(bits):
        return {**BALL_FUNCTIONS, "pi": arb.pi()}
