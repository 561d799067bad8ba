"""The functions on truncated power series of balls.

FLINT composes series by rules of its own (F. Johansson, Arb; the rules are those of R. P. Brent and H. T. Kung, Fast
algorithms for manipulating formal power series, J. ACM 1978). The functions that it lacks are built from those it has,
such that nothing cancels near 0: a function with an elementary derivative is the integral of that derivative. Where a
branch is undecided, a jump or a kink may lie anywhere in the ball: every coefficient is then NaN, never a wrong
interval.

A function is composed with a series by its Taylor coefficients at the constant term, which follow from a recurrence
(NIST DLMF 5.15, 7.10 and 10.29) or from FLINT's own series.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb, factorial
from types import MappingProxyType
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators.expression import column
from refgrad.operators.functions import balls
from refgrad.operators.functions.balls import HALF, Branch, Decision, as_integer, precision, taken

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
    """Return a function of series from its Taylor coefficients, evaluated by Horner's rule."""

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
    coefficients = [balls.cube_root(x)]
    for k in range(1, length):
        coefficients.append(coefficients[-1] * (4 - 3 * k) / (3 * k) / x)
    return coefficients


def scaled_tails(x: arb, length: int) -> list[arb]:
    """Return the Taylor coefficients of erfcx at x, from y' = 2 x y - 2 / sqrt(pi)."""
    coefficients = [balls.erfcx(x), 2 * x * balls.erfcx(x) - 2 / arb.pi().sqrt()]
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
        logarithms = balls.log_gamma_coefficients(x, above + length)[above:]
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
        values = [balls.spherical_bessel_function(m)(x) for m in range(n + length)]
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


def coefficient(number: Any, order: int) -> Any:
    """Return one coefficient of a series or of a constant; NaN if the series has too few."""
    if type(number) is arb_series:
        return number[order] if order < number.prec else arb.nan()
    return arb(number) if order == 0 else arb(0)


def constant(number: Any) -> Any:
    """Return the constant term of a series; numbers and truth values are returned unchanged."""
    return number[0] if type(number) is arb_series else number


def where(condition: Decision, x: Any, y: Any) -> Any:
    """Return x or y, or a series of NaN if the condition is undecided."""
    if condition is None:
        return unknown()
    return x if condition else y


def choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return one branch's value and partials, or series of NaN if the condition is undecided."""
    if condition is None:
        return (unknown(),) * len(taken(then))
    return taken(then if condition else otherwise)


def primitive(value: arb, slope: Any, x: arb_series) -> arb_series:
    """Return the series with constant term ``value`` whose derivative is ``slope`` times that of ``x``."""
    return (slope * x.derivative()).integral() + value


def _of_slope(function: Callable[[arb], arb], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(number: Any) -> Any:
        x = lifted(number)
        return primitive(function(x[0]), slope(x), x)

    return apply


def _expm1(number: Any) -> Any:
    x = lifted(number)
    return from_zero(x.exp()) + x[0].expm1()


def _sinh_and_cosh(d: arb_series) -> tuple[arb_series, arb_series]:
    """Return sinh and cosh of a series with constant term 0; only terms that are exactly zero cancel."""
    up, down = d.exp(), (-d).exp()
    return (up - down) / 2, (up + down) / 2


def _hyperbolic(function: Callable[[arb], arb], slope: Callable[[arb], arb]) -> Callable[[Any], Any]:
    """Return sinh or cosh of series, by the addition theorem."""

    def apply(number: Any) -> Any:
        x = lifted(number)
        sinh, cosh = _sinh_and_cosh(from_zero(x))
        return cosh * function(x[0]) + sinh * slope(x[0])

    return apply


def _tanh(number: Any) -> Any:
    """Apply the addition theorem, with 1 - tanh² = 1 / cosh², which does not cancel where tanh is near 1."""
    x = lifted(number)
    sinh, cosh = _sinh_and_cosh(from_zero(x))
    start, step = x[0].tanh(), sinh / cosh
    return step / (step * start + 1) / (x[0].cosh() * x[0].cosh()) + start


def _arctan2(ordinate: Any, abscissa: Any) -> Any:
    y, x = lifted(ordinate), lifted(abscissa)
    change = (x * y.derivative() - y * x.derivative()) / (x * x + y * y)
    return change.integral() + arb.atan2(y[0], x[0])


def _greater(x: Any, y: Any) -> Decision:
    return balls.greater(arb(constant(x)), arb(constant(y)))


def _less(x: Any, y: Any) -> Decision:
    return _greater(y, x)


def _equal(x: Any, y: Any) -> Decision:
    """Compare the constant terms; None if they are equal but a series varies, since it may differ next to the point."""
    same = balls.equal(constant(x), constant(y))
    return None if same and (_moves(x) or _moves(y)) else same


def _moves(number: Any) -> bool:
    return type(number) is arb_series and number.length() > 1


def _trunc(number: Any) -> Any:
    """Return x without its fraction, which does not jump at 0."""
    return arb(0) if abs(lifted(number)[0]) < 1 else between_jumps(balls.toward_zero, lambda x: x)(number)


def _of_series(method: str) -> Callable[[Any], Any]:
    function = getattr(arb_series, method)
    return lambda number: function(lifted(number))


CELLS: Mapping[str, Any] = MappingProxyType(
    {name: _of_series(name) for name in balls.SHARED}
    | {f"arc{name}": _of_series(f"a{name}") for name in ("sin", "cos", "tan")}
    | {
        "expm1": _expm1,
        "exp2": lambda x: (lifted(x) * arb.const_log2()).exp(),
        "log2": lambda x: lifted(x).log() / arb.const_log2(),
        "log10": lambda x: lifted(x).log() / arb.const_log10(),
        "log1p": _of_slope(arb.log1p, lambda x: 1 / (1 + x)),
        "sinh": _hyperbolic(arb.sinh, arb.cosh),
        "cosh": _hyperbolic(arb.cosh, arb.sinh),
        "tanh": _tanh,
        "arcsinh": _of_slope(arb.asinh, lambda x: 1 / (x * x + 1).sqrt()),
        "arccosh": _of_slope(arb.acosh, lambda x: 1 / ((x - 1) * (x + 1)).sqrt()),
        "arctanh": _of_slope(arb.atanh, lambda x: 1 / ((1 - x) * (1 + x))),
        "floor": between_jumps(arb.floor, lambda x: x),
        "trunc": _trunc,
        "round": between_jumps(balls.nearest_even, lambda x: x + HALF),
        "arctan2": _arctan2,
        "cbrt": composed(cube_roots),
        "erfcx": composed(scaled_tails),
        "erfinv": erfinv,
        "lgamma": composed(balls.log_gamma_coefficients),
        "polygamma": polygamma,
        "besseli": bessel,
        "sphericalj": spherical_bessel,
    }
)

GRAMMAR: Mapping[str, Any] = MappingProxyType({
    **balls.GRAMMAR,
    "greater": _greater,
    "greater_equal": _greater,
    "less": _less,
    "less_equal": _less,
    "equal": _equal,
    "not_equal": lambda x, y: balls.logical_not(_equal(x, y)),
    "where": where,
    "choose": choose,
})

SERIES_FUNCTIONS: Mapping[str, Any] = column(CELLS, GRAMMAR)
"""The column of series, with comparisons and branches, without pi, which depends on the precision."""


@cache
def series_functions(bits: int) -> Mapping[str, Any]:
    """Return the column, with pi at a precision of ``bits`` bits."""
    with precision(bits):
        return {**SERIES_FUNCTIONS, "pi": arb.pi()}
