"""The functions on power series whose coefficients are FLINT's balls.

FLINT composes series by rules of its own (F. Johansson, Arb; the rules are those of R. P. Brent and H. T. Kung, Fast
algorithms for manipulating formal power series, J. ACM 1978). The functions that it lacks are built from those it has,
such that nothing cancels near 0: a function with an elementary derivative is the integral of that derivative. Where a
branch is undecided, a jump or a kink may lie anywhere in the ball: every coefficient is then NaN, never a wrong
interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators.functions.balls import Branch, equal, greater, precision
from refgrad.operators.functions.column import column
from refgrad.operators.functions.decisions import Decision, logical_and, logical_not, logical_or
from refgrad.operators.functions.special_balls import HALF, log_gamma_coefficients, nearest_even, toward_zero
from refgrad.operators.functions.special_series import (
    bessel,
    between_jumps,
    composed,
    cube_roots,
    erfinv,
    from_zero,
    lifted,
    polygamma,
    scaled_tails,
    spherical_bessel,
    unknown,
)


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
        branch = then if type(then) is tuple else then()  # type: ignore[operator]
        return (unknown(),) * len(branch)
    taken = then if condition else otherwise
    return taken if type(taken) is tuple else taken()  # type: ignore[operator]


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


def _sinh(number: Any) -> Any:
    x = lifted(number)
    sinh, cosh = _sinh_and_cosh(from_zero(x))
    return cosh * x[0].sinh() + sinh * x[0].cosh()


def _cosh(number: Any) -> Any:
    x = lifted(number)
    sinh, cosh = _sinh_and_cosh(from_zero(x))
    return cosh * x[0].cosh() + sinh * x[0].sinh()


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
    return greater(arb(constant(x)), arb(constant(y)))


def _less(x: Any, y: Any) -> Decision:
    return _greater(y, x)


def _equal(x: Any, y: Any) -> Decision:
    """Compare the constant terms; None if they are equal but a series varies, since it may differ next to the point."""
    same = equal(constant(x), constant(y))
    return None if same and (_moves(x) or _moves(y)) else same


def _moves(number: Any) -> bool:
    return type(number) is arb_series and number.length() > 1


def _trunc(number: Any) -> Any:
    """Return x without its fraction, which does not jump at 0."""
    return arb(0) if abs(lifted(number)[0]) < 1 else between_jumps(toward_zero, lambda x: x)(number)


def _of_series(method: str) -> Callable[[Any], Any]:
    function = getattr(arb_series, method)
    return lambda number: function(lifted(number))


FLINT_NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "erf", "erfc")}
    | {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
)

CELLS: Mapping[str, Any] = MappingProxyType(
    {name: _of_series(other) for name, other in FLINT_NAMES.items()}
    | {
        "expm1": _expm1,
        "exp2": lambda x: (lifted(x) * arb.const_log2()).exp(),
        "log2": lambda x: lifted(x).log() / arb.const_log2(),
        "log10": lambda x: lifted(x).log() / arb.const_log10(),
        "log1p": _of_slope(arb.log1p, lambda x: 1 / (1 + x)),
        "sinh": _sinh,
        "cosh": _cosh,
        "tanh": _tanh,
        "arcsinh": _of_slope(arb.asinh, lambda x: 1 / (x * x + 1).sqrt()),
        "arccosh": _of_slope(arb.acosh, lambda x: 1 / ((x - 1) * (x + 1)).sqrt()),
        "arctanh": _of_slope(arb.atanh, lambda x: 1 / ((1 - x) * (1 + x))),
        "floor": between_jumps(arb.floor, lambda x: x),
        "trunc": _trunc,
        "round": between_jumps(nearest_even, lambda x: x + HALF),
        "arctan2": _arctan2,
        "cbrt": composed(cube_roots),
        "erfcx": composed(scaled_tails),
        "erfinv": erfinv,
        "lgamma": composed(log_gamma_coefficients),
        "polygamma": polygamma,
        "besseli": bessel,
        "sphericalj": spherical_bessel,
    }
)

GRAMMAR: Mapping[str, Any] = MappingProxyType({
    "number": arb,
    "greater": _greater,
    "greater_equal": _greater,
    "less": _less,
    "less_equal": _less,
    "equal": _equal,
    "not_equal": lambda x, y: logical_not(_equal(x, y)),
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_not": logical_not,
    "where": where,
    "choose": choose,
})

SERIES_FUNCTIONS: Mapping[str, Any] = column("series", CELLS, GRAMMAR)
"""The column of series, with comparisons and branches, without pi, which depends on the precision."""


@cache
def series_functions(bits: int) -> Mapping[str, Any]:
    """Return the column, with pi at a precision of ``bits`` bits."""
    with precision(bits):
        return {**SERIES_FUNCTIONS, "pi": arb.pi()}
