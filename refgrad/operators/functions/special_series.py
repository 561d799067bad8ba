"""Functions on power series that FLINT lacks, and functions with jumps.

A function is composed with a series by its Taylor coefficients at the constant term, which follow from a recurrence
(NIST DLMF 5.15, 7.10 and 10.29) or from FLINT's own series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, factorial
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators.functions.special_balls import (
    as_integer,
    cube_root,
    erfcx,
    log_gamma_coefficients,
    spherical_bessel_function,
)

Coefficients = Callable[[arb, int], Sequence[arb]]


def lifted(number: Any) -> arb_series:
    """Convert a number to a constant series; a series is returned unchanged."""
    return number if type(number) is arb_series else arb_series([arb(number)])


def unknown() -> arb_series:
    """Return a series whose coefficients are all NaN."""
    return arb_series([arb.nan()] * ctx.cap)


def from_zero(x: arb_series) -> arb_series:
    """Return the series with its constant term replaced by an exact 0."""
    return arb_series([arb(0), *(x[k] for k in range(1, x.length()))], x.prec)


def composed(coefficients: Coefficients) -> Callable[[Any], Any]:
    """Return the function on series that has these Taylor coefficients, evaluated by Horner's rule."""

    def apply(number: Any) -> Any:
        x = lifted(number)
        rest = from_zero(x)
        *lower, result = coefficients(x[0], ctx.cap)
        for coefficient in reversed(lower):
            result = rest * result + coefficient
        return lifted(result)

    return apply


def cube_roots(x: arb, length: int) -> list[arb]:
    """Return the Taylor coefficients of the cube root at x (the binomial series of exponent 1/3)."""
    coefficients = [cube_root(x)]
    for k in range(1, length):
        coefficients.append(coefficients[-1] * (4 - 3 * k) / (3 * k) / x)
    return coefficients


def scaled_tails(x: arb, length: int) -> list[arb]:
    """Return the Taylor coefficients of erfcx at x, from y' = 2 x y - 2 / sqrt(pi)."""
    coefficients = [erfcx(x), 2 * x * erfcx(x) - 2 / arb.pi().sqrt()]
    for k in range(1, length - 1):
        coefficients.append((2 * x * coefficients[k] + 2 * coefficients[k - 1]) / (k + 1))
    return coefficients[:length]


def erfinv(number: Any) -> Any:
    """Return erfinv by Picard iteration of y' = sqrt(pi) / 2 exp(y²), which adds one coefficient per round."""
    x = lifted(number)
    start, scale = x[0].erfinv(), arb.pi().sqrt() / 2
    result = arb_series([start])
    for _ in range(1, ctx.cap):
        result = ((result * result).exp() * scale * x.derivative()).integral() + start
    return result


def polygamma(order: Any, number: Any) -> Any:
    """Return the derivative of log Γ of order ``order`` + 1, from FLINT's series of log Γ (DLMF 5.15)."""
    above = as_integer(order) + 1

    def coefficients(x: arb, length: int) -> list[arb]:
        logarithms = log_gamma_coefficients(x, above + length)[above:]
        return [c * factorial(above + k) / factorial(k) for k, c in enumerate(logarithms)]

    return composed(coefficients)(number)


def bessel(order: Any, number: Any) -> Any:
    """Return the modified Bessel function of the first kind.

    The k-th derivative of I_n is 2 to the -k times the sum of C(k, j) I_{n - k + 2 j} (DLMF 10.29.5).
    """
    n = as_integer(order)

    def coefficients(x: arb, length: int) -> list[arb]:
        values = [x.bessel_i(arb(m)) for m in range(n + length)]
        sums = (sum((comb(k, j) * values[abs(n - k + 2 * j)] for j in range(k + 1)), arb(0)) for k in range(length))
        return [total / (2**k * factorial(k)) for k, total in enumerate(sums)]

    return composed(coefficients)(number)


def spherical_bessel(order: Any, number: Any) -> Any:
    """Return the spherical Bessel function of order |n|; a derivative combines two orders (DLMF 10.51.2)."""
    n = abs(as_integer(order))

    def coefficients(x: arb, length: int) -> list[arb]:
        values = [spherical_bessel_function(m)(x) for m in range(n + length)]
        weights, derivatives = {n: Fraction(1)}, list[arb]()
        for k in range(length):
            total = sum((arb(w.numerator) / w.denominator * values[m] for m, w in weights.items()), arb(0))
            derivatives.append(total / factorial(k))
            changed: dict[int, Fraction] = {}
            for m, w in weights.items():
                changed[m + 1] = changed.get(m + 1, Fraction(0)) - w * Fraction(m + 1, 2 * m + 1)
                if m:
                    changed[m - 1] = changed.get(m - 1, Fraction(0)) + w * Fraction(m, 2 * m + 1)
            weights = changed
        return derivatives

    return composed(coefficients)(number)


def between_jumps(function: Callable[[arb], arb], jumps: Callable[[arb], arb]) -> Callable[[Any], Any]:
    """Return a function that jumps where ``jumps`` is an integer, and is constant elsewhere; NaN where it may jump."""

    def apply(number: Any) -> Any:
        x = lifted(number)[0]
        below = jumps(x).floor()
        return function(x) if below.is_exact() and jumps(x) > below else unknown()

    return apply
