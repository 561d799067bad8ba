"""Functions on balls that FLINT lacks, or defines differently."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, prod
from typing import Any

from flint import arb, arb_series, ctx

HALF = 0.5


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
    before = ctx.prec
    ctx.prec = 2 * before
    try:
        result = function(x) if x.is_exact() else function(x.lower()).union(function(x.upper()))
    finally:
        ctx.prec = before
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
    before = ctx.cap
    ctx.cap = length
    try:
        series = arb_series([arb(x), 1]).lgamma()
        return [series[k] for k in range(length)]
    finally:
        ctx.cap = before


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
