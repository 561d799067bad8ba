"""How are the special functions of the formula language, and its rarer steps, evaluated in power series of balls?

A function is composed with a series by its Taylor coefficients at the series' constant, which follow from a recurrence
(NIST DLMF 5.15, 7.10 and 10.29) or from FLINT's own series.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb, factorial
from types import MappingProxyType
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.oracles.special_balls import HALF, SPECIAL_BALLS, cube_root, erfcx, log_gamma_coefficients, whole

Coefficients = Callable[[arb, int], Sequence[arb]]


def _series(number: Any) -> arb_series:
    return number if type(number) is arb_series else arb_series([arb(number)])


def _composed(coefficients: Coefficients) -> Callable[[Any], Any]:
    """Return the function of series with these Taylor coefficients, by Horner's rule."""

    def apply(number: Any) -> Any:
        x = _series(number)
        rest = arb_series([arb(0), *(x[k] for k in range(1, x.length()))], x.prec)
        *lower, result = coefficients(x[0], ctx.cap)
        for coefficient in reversed(lower):
            result = rest * result + coefficient
        return _series(result)

    return apply


def _cube_roots(x: arb, length: int) -> list[arb]:
    """The binomial series of the exponent 1/3."""
    found = [cube_root(x)]
    for k in range(1, length):
        found.append(found[-1] * (4 - 3 * k) / (3 * k) / x)
    return found


def _scaled_tails(x: arb, length: int) -> list[arb]:
    """From y' = 2 x y - 2 / sqrt(pi)."""
    found = [erfcx(x), 2 * x * erfcx(x) - 2 / arb.pi().sqrt()]
    for k in range(1, length - 1):
        found.append((2 * x * found[k] + 2 * found[k - 1]) / (k + 1))
    return found[:length]


def _erfinv(number: Any) -> Any:
    """By E. Picard's iteration of y' = sqrt(pi) / 2 exp(y²): each round settles one more coefficient."""
    x = _series(number)
    start, scale = x[0].erfinv(), arb.pi().sqrt() / 2
    found = arb_series([start])
    for _ in range(1, ctx.cap):
        found = ((found * found).exp() * scale * x.derivative()).integral() + start
    return found


def _polygamma(order: Any, number: Any) -> Any:
    above = whole(order) + 1

    def coefficients(x: arb, length: int) -> list[arb]:
        logarithms = log_gamma_coefficients(x, above + length)[above:]
        return [c * factorial(above + k) / factorial(k) for k, c in enumerate(logarithms)]

    return _composed(coefficients)(number)


def _bessel(order: int) -> Callable[[Any], Any]:
    """The k-th derivative of I_n is 2 to the -k times the sum of C(k, j) I_{n - k + 2 j} (DLMF 10.29.5)."""

    def coefficients(x: arb, length: int) -> list[arb]:
        orders = range(order + length)
        values = [x.bessel_i(arb(n)) for n in orders]
        sums = (sum((comb(k, j) * values[abs(order - k + 2 * j)] for j in range(k + 1)), arb(0)) for k in range(length))
        return [total / (2**k * factorial(k)) for k, total in enumerate(sums)]

    return _composed(coefficients)


def _scaled_bessel(order: int) -> Callable[[Any], Any]:
    """Nothing is known where the sign of x is open."""
    plain = _bessel(order)

    def apply(number: Any) -> Any:
        x = _series(number)
        size = x if x[0] > 0 else -x if x[0] < 0 else arb_series([arb.nan()] * ctx.cap)
        return plain(x) * (-size).exp()

    return apply


def _between(function: Callable[[Any], arb], jumps: Callable[[arb], arb]) -> Callable[[Any], Any]:
    """Return a function that is constant but where ``jumps`` is whole: unknown where that may be."""

    def apply(number: Any) -> Any:
        x = _series(number)[0]
        below = jumps(x).floor()
        return function(x) if below.is_exact() and jumps(x) > below else arb_series([arb.nan()] * ctx.cap)

    return apply


def _trunc(number: Any) -> Any:
    """It does not jump at 0."""
    return arb(0) if abs(_series(number)[0]) < 1 else TRUNC(number)


TRUNC = _between(SPECIAL_BALLS["trunc"], lambda x: x)


SPECIAL_SERIES: Mapping[str, Any] = MappingProxyType({
    "trunc": _trunc,
    "round": _between(SPECIAL_BALLS["round"], lambda x: x + HALF),
    "cbrt": _composed(_cube_roots),
    "erf": lambda x: _series(x).erf(),
    "erfc": lambda x: _series(x).erfc(),
    "erfcx": _composed(_scaled_tails),
    "erfinv": _erfinv,
    "lgamma": _composed(log_gamma_coefficients),
    "digamma": lambda x: _polygamma(0, x),
    "polygamma": _polygamma,
    "besseli": lambda order, x: _bessel(whole(order))(x),
    "i0": _bessel(0),
    "i1": _bessel(1),
    "i0e": _scaled_bessel(0),
    "i1e": _scaled_bessel(1),
})
