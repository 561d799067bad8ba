"""How are the functions of the formula language evaluated in power series with balls for coefficients?

FLINT composes series by rules of its own (F. Johansson, Arb; the rules are those of R. P. Brent and H. T. Kung, Fast
algorithms for manipulating formal power series, J. ACM 1978). The functions that it lacks are made of those it has, so
that nothing cancels near 0: a function with an elementary slope is that slope's integral. Where a branch is open, a
jump or a kink may lie anywhere in the ball: every coefficient is then not a number, never a wrong interval.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators import Expression, Operator
from refgrad.operators.differentiation import differentiate
from refgrad.oracles.ball_functions import (
    Branch,
    Decision,
    equal,
    greater,
    logical_and,
    logical_not,
    logical_or,
    precision,
)
from refgrad.oracles.special_series import SPECIAL_SERIES

Derivative = Callable[..., tuple[Any, ...]]


@contextmanager
def series_precision(bits: int, length: int) -> Iterator[None]:
    """Compute in series of ``length`` coefficients, of ``bits`` bits each, inside the block."""
    before = ctx.cap
    ctx.cap = length
    try:
        with precision(bits):
            yield
    finally:
        ctx.cap = before


def coefficient(number: Any, order: int) -> Any:
    """Return the coefficient of a series, or of a constant; not a number where too few are known."""
    if type(number) is arb_series:
        return number[order] if order < number.prec else arb.nan()
    return arb(number) if order == 0 else arb(0)


def constant(number: Any) -> Any:
    """Return what stands before the first power; numbers and truth values stand for themselves."""
    return number[0] if type(number) is arb_series else number


def unknown() -> arb_series:
    """Return a series of which nothing is known."""
    return arb_series([arb.nan()] * ctx.cap)


def where(condition: Decision, x: Any, y: Any) -> Any:
    """Return x or y; nothing is known where the condition is open."""
    if condition is None:
        return unknown()
    return x if condition else y


def choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return one branch's value and partials; nothing is known where the condition is open."""
    if condition is None:
        branch = then if type(then) is tuple else then()  # type: ignore[operator]
        return (unknown(),) * len(branch)
    taken = then if condition else otherwise
    return taken if type(taken) is tuple else taken()  # type: ignore[operator]


def _series(number: Any) -> arb_series:
    return number if type(number) is arb_series else arb_series([arb(number)])


def primitive(value: arb, slope: Any, x: arb_series) -> arb_series:
    """Return the series that begins with ``value`` and whose derivative is ``slope`` times that of ``x``."""
    return (slope * x.derivative()).integral() + value


def _of_slope(function: Callable[[arb], arb], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(number: Any) -> Any:
        x = _series(number)
        return primitive(function(x[0]), slope(x), x)

    return apply


def _expm1(number: Any) -> Any:
    x = _series(number)
    return _from_zero(x.exp()) + x[0].expm1()


def _odd_and_even(d: arb_series) -> tuple[arb_series, arb_series]:
    """Return sinh and cosh of a series that begins with 0: nothing cancels but what is exactly zero."""
    up, down = d.exp(), (-d).exp()
    return (up - down) / 2, (up + down) / 2


def _sinh(number: Any) -> Any:
    x = _series(number)
    odd, even = _odd_and_even(_from_zero(x))
    return even * x[0].sinh() + odd * x[0].cosh()


def _cosh(number: Any) -> Any:
    x = _series(number)
    odd, even = _odd_and_even(_from_zero(x))
    return even * x[0].cosh() + odd * x[0].sinh()


def _tanh(number: Any) -> Any:
    """By the addition theorem, with 1 - tanh² = 1 / cosh², which does not cancel where tanh is near 1."""
    x = _series(number)
    odd, even = _odd_and_even(_from_zero(x))
    start, step = x[0].tanh(), odd / even
    return step / (step * start + 1) / (x[0].cosh() * x[0].cosh()) + start


def _from_zero(x: arb_series) -> arb_series:
    """Return the series without its constant, exactly."""
    return arb_series([arb(0), *(x[k] for k in range(1, x.length()))], x.prec)


def _arctan2(ordinate: Any, abscissa: Any) -> Any:
    y, x = _series(ordinate), _series(abscissa)
    change = (x * y.derivative() - y * x.derivative()) / (x * x + y * y)
    return change.integral() + arb.atan2(y[0], x[0])


def _decided(condition: Decision, then: Any, otherwise: Any) -> Any:
    return unknown() if condition is None else then if condition else otherwise


def _greater(x: Any, y: Any) -> Decision:
    return greater(arb(constant(x)), arb(constant(y)))


def _less(x: Any, y: Any) -> Decision:
    return _greater(y, x)


def _equal(x: Any, y: Any) -> Decision:
    """Equal at the point is not equal beside it: what holds there alone has no derivative."""
    same = equal(constant(x), constant(y))
    return None if same and (_moves(x) or _moves(y)) else same


def _moves(number: Any) -> bool:
    return type(number) is arb_series and number.length() > 1


def _sign(x: Any) -> Any:
    return _decided(_greater(x, 0), 1, -1)


def _floor(x: Any) -> Any:
    whole = arb(constant(x)).floor()
    inside = whole.is_exact() and _greater(x, whole)
    return whole if inside else unknown()


SERIES_FUNCTIONS: Mapping[str, Any] = MappingProxyType({
    "exp": lambda x: _series(x).exp(),
    "expm1": _expm1,
    "sigmoid": lambda x: 1 / (1 + (-_series(x)).exp()),
    "exp2": lambda x: (_series(x) * arb.const_log2()).exp(),
    "log": lambda x: _series(x).log(),
    "log1p": _of_slope(arb.log1p, lambda x: 1 / (1 + x)),
    "log2": lambda x: _series(x).log() / arb.const_log2(),
    "log10": lambda x: _series(x).log() / arb(10).log(),
    "sqrt": lambda x: _series(x).sqrt(),
    "sin": lambda x: _series(x).sin(),
    "cos": lambda x: _series(x).cos(),
    "tan": lambda x: _series(x).tan(),
    "arcsin": lambda x: _series(x).asin(),
    "arccos": lambda x: _series(x).acos(),
    "arctan": lambda x: _series(x).atan(),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "arcsinh": _of_slope(arb.asinh, lambda x: 1 / (x * x + 1).sqrt()),
    "arccosh": _of_slope(arb.acosh, lambda x: 1 / ((x - 1) * (x + 1)).sqrt()),
    "arctanh": _of_slope(arb.atanh, lambda x: 1 / ((1 - x) * (1 + x))),
    "abs": lambda x: _decided(_greater(x, 0), x, -x),
    "sign": _sign,
    "floor": _floor,
    "maximum": lambda x, y: _decided(_greater(x, y), x, y),
    "minimum": lambda x, y: _decided(_less(x, y), x, y),
    "arctan2": _arctan2,
    "hypot": lambda x, y: (_series(x) * x + _series(y) * y).sqrt(),
    **SPECIAL_SERIES,
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


@cache
def series_functions(bits: int) -> Mapping[str, Any]:
    """The functions, with the constants at a precision."""
    with precision(bits):
        return {**SERIES_FUNCTIONS, "pi": arb.pi()}


def guarded(derivative: Derivative, results: int) -> Derivative:
    """Return the function, with answers of which nothing is known where FLINT refuses or knows too few coefficients."""

    def answered(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        try:
            found = derivative(*numbers, **attributes)
        except (ValueError, ZeroDivisionError):  # a divisor whose constant may be zero
            return (unknown(),) * results
        short = any(type(number) is arb_series and number.prec < ctx.cap for number in found)
        return (unknown(),) * results if short else found

    return answered


@cache
def true_series(operator: Operator, bits: int) -> Derivative:
    """Compile the row's ``formula`` to value and partials in series, differentiated mechanically: what is true."""
    assert operator.formula is not None
    derivative = differentiate(
        operator.formula, operator.argument_names, operator.attribute_names, series_functions(bits)
    )
    return _without_poles(operator, guarded(derivative, 1 + len(operator.arguments)))


@cache
def series_value(operator: Operator, bits: int) -> Derivative:
    """Compile the row's ``formula`` to its value alone; FLINT's composition is all that differentiates.

    It returns partials of 0, which nothing asks for: in series alone no number stands on a tape.
    """
    assert operator.formula is not None
    value = operator.formula.function((*operator.argument_names, *operator.attribute_names), series_functions(bits))
    nothing = (0,) * len(operator.arguments)
    alone = guarded(lambda *numbers, **attributes: (value(*numbers, **attributes), *nothing), 1 + len(nothing))
    return _without_poles(operator, alone)


def _without_poles(operator: Operator, derivative: Derivative) -> Derivative:
    """Return the function without what FLINT says of a series 0 to a power: 0, even where the power is negative.

    Only where the exponent is above 1 that is so of the slope too.
    """
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    powers = [node for node in ast.walk(operator.formula.tree) if isinstance(node, ast.BinOp) and _varies(node)]
    if not powers:
        return derivative
    sides = [
        tuple(Expression(ast.unparse(side)).function(parameters, SERIES_FUNCTIONS) for side in (node.left, node.right))
        for node in powers
    ]

    def without_poles(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        constants = [constant(number) for number in numbers]
        for base, exponent in sides:
            if arb(base(*constants, **attributes)).contains(0) and not exponent(*constants, **attributes) > 1:
                return (unknown(),) * (1 + len(operator.arguments))
        return derivative(*numbers, **attributes)

    return without_poles


def _varies(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant)
