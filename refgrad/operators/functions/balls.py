"""The functions on balls (certified intervals), with three-valued comparisons.

A ball is a midpoint and a radius; every operation returns a ball that contains all results for all members of its
operands (Johansson, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic, IEEE Trans. Comput. 2017).
Inequalities return True, False or None: None where overlapping balls or an exact tie leave the branch undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from math import factorial, prod
from types import MappingProxyType
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators.expression import column

Decision = bool | None


def logical_not(a: Decision) -> Decision:
    """Return Kleene's negation."""
    return None if a is None else not a


def logical_and(a: Decision, b: Decision) -> Decision:
    """Return Kleene's conjunction."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def logical_or(a: Decision, b: Decision) -> Decision:
    """Return Kleene's disjunction."""
    return logical_not(logical_and(logical_not(a), logical_not(b)))


HALF = 1 / 2


def precision(bits: int) -> AbstractContextManager[None]:
    """Set the precision of ball arithmetic to ``bits`` bits inside the block."""
    return ctx.workprec(bits)  # type: ignore[no-any-return]


@contextmanager
def series_precision(bits: int, length: int) -> Iterator[None]:
    """Compute with series of ``length`` coefficients, of ``bits`` bits each, inside the block."""
    before = ctx.cap
    ctx.cap = length
    try:
        with precision(bits):
            yield
    finally:
        ctx.cap = before


def of_ball(function: Callable[[arb], arb]) -> Callable[[Any], arb]:
    """Wrap a function of balls to accept plain numbers too: FLINT would take the address of one for that of a ball."""
    return lambda x: function(x if type(x) is arb else arb(x))


def as_integer(number: Any) -> int:
    """Convert a plain integer, or one that is a ball or a constant series, to ``int``."""
    if type(number) is int:
        return number
    return int(arb(number[0] if type(number) is arb_series else number).unique_fmpz())


def monotone(function: Callable[[arb], arb], x: arb) -> arb:
    """Return the image of a ball under a function that is monotone on it: the hull of its values at both ends.

    If the function were evaluated on the ball itself, the radius could grow far beyond that of the values. The
    precision is doubled, since the steps of a function may amplify their own rounding errors.
    """
    if not x.is_finite():
        return arb.nan()
    with precision(2 * ctx.prec):
        result = function(x) if x.is_exact() else function(x.lower()).union(function(x.upper()))
    return +result


def erfcx(x: arb) -> arb:
    """Return exp(x²) erfc(x), which decreases."""
    return monotone(lambda exact: (exact * exact).exp() * exact.erfc(), x)


def cube_root(x: arb) -> arb:
    """Return the real cube root, with the sign of x."""
    return x.sgn() * abs(x).root(3)


def toward_zero(x: arb) -> arb:
    """Return x without its fraction."""
    return x.sgn() * abs(x).floor()


def nearest_even(x: arb) -> arb:
    """Return the nearest integer; ties go to the even one."""
    moved = x + HALF
    nearest = moved.floor()
    ties = moved.is_exact() and nearest.is_exact() and bool(moved == nearest)
    return nearest - 1 if ties and as_integer(nearest) % 2 else nearest


def log_gamma_coefficients(x: Any, length: int) -> list[arb]:
    """Return the Taylor coefficients of log Γ at x > 0; NaN elsewhere."""
    with series_precision(ctx.prec, length):
        series = arb_series([arb(x), 1]).lgamma()
        return [series[k] for k in range(length)]


def polygamma(order: Any, x: Any) -> arb:
    """Return the derivative of log Γ of order ``order`` + 1 (DLMF 5.15), which is monotone for x > 0."""
    above = as_integer(order) + 1

    def derivative(x: arb) -> arb:
        return log_gamma_coefficients(x, above + 1)[above] * factorial(above)

    ball = arb(x)
    return monotone(derivative, ball) if bool(ball > 0) else derivative(ball)


def bessel(order: int) -> Callable[[Any], arb]:
    """Return the modified Bessel function of the first kind."""
    return of_ball(lambda x: x.bessel_i(arb(order)))


def spherical_bessel_function(order: int) -> Callable[[Any], arb]:
    """Return the spherical Bessel function of order |n|.

    It is computed by its series (DLMF 10.53.1), or where the terms would cancel, from lower orders (DLMF 10.51.1).
    """
    n = abs(order)

    def at(x: arb) -> arb:
        if not bool(abs(x) > n + 1):
            return x**n / prod(range(1, 2 * n + 2, 2)) * (-x * x / 4).hypgeom_0f1(arb(n) + arb(3) / 2)
        below, current = x.cos() / x, x.sin() / x
        for k in range(n):
            below, current = current, (2 * k + 1) / x * current - below
        return current

    return of_ball(at)


def scaled_bessel(order: int) -> Callable[[Any], arb]:
    """Return exp(-|x|) times the modified Bessel function, computed at |x|; an odd order takes the sign of x."""
    sign = (lambda x: x.sgn()) if order % 2 else (lambda _: 1)
    return of_ball(lambda x: abs(x).bessel_i(arb(order), True) * sign(x))  # noqa: FBT003 (FLINT's own signature)


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
        return tuple(hull(a, b) for a, b in zip(taken(then), taken(otherwise), strict=True))
    return taken(then if condition else otherwise)


def taken(branch: Branch) -> tuple[Any, ...]:
    """Return the value and partials of a branch, computed now if the branch is a function."""
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


SHARED = ("exp", "log", "sqrt", "sin", "cos", "tan", "erf", "erfc")
"""Functions that FLINT has for balls and for series, under these names."""

CELLS: Mapping[str, Any] = MappingProxyType(
    {name: of_ball(getattr(arb, name)) for name in (*SHARED, "expm1", "log1p", "floor", "erfinv")}
    | {name: of_ball(getattr(arb, name)) for name in ("sinh", "cosh", "tanh")}
    | {f"arc{name}": of_ball(getattr(arb, f"a{name}")) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
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

BALL_FUNCTIONS: Mapping[str, Any] = column(CELLS, GRAMMAR)
"""The column of balls, with comparisons and branches, without pi, which depends on the precision."""


@cache
def ball_functions(bits: int) -> Mapping[str, Any]:
    """Return the column, with pi at a precision of ``bits`` bits."""
    with precision(bits):
        return {**BALL_FUNCTIONS, "pi": arb.pi()}
