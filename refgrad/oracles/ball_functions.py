"""How are the functions of the formula language evaluated in FLINT balls?

A ball is a midpoint and a radius; every operation returns a ball that contains all results for all members of its
operands (Johansson, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic, IEEE Trans. Comput. 2017).
Inequalities answer True, False or None: None where the ball, or an exact tie, leaves the branch open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from flint import arb, ctx

from refgrad.operators import Edge, Expression, Operator
from refgrad.operators.differentiation import differentiate
from refgrad.oracles.special_balls import SPECIAL_BALLS, of_ball

Decision = bool | None


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute in balls with midpoints of ``bits`` bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def greater(x: Any, y: Any) -> Decision:
    """x > y; undecided where the balls overlap and at exact equality, which is where a kink sits."""
    if x > y:
        return True
    return False if x < y else None


def less(x: Any, y: Any) -> Decision:
    """x < y; undecided where the balls overlap and at exact equality."""
    return greater(y, x)


def equal(x: Any, y: Any) -> Decision:
    """x == y; undecided where the balls overlap but are not both exact."""
    difference = arb(x) - arb(y)
    if difference.is_zero():
        return True
    return None if difference.contains(0) else False


def logical_not(a: Decision) -> Decision:
    """Kleene's negation."""
    return None if a is None else not a


def logical_and(a: Decision, b: Decision) -> Decision:
    """Kleene's conjunction."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def logical_or(a: Decision, b: Decision) -> Decision:
    """Kleene's disjunction."""
    return logical_not(logical_and(logical_not(a), logical_not(b)))


def hull(x: Any, y: Any) -> arb:
    """Return the smallest ball that contains both; not-a-number if either is."""
    a, b = arb(x), arb(y)
    return a + b if a.is_nan() or b.is_nan() else a.union(b)


def where(condition: Decision, x: Any, y: Any) -> Any:
    """Return x or y, or their hull where the condition is open."""
    if condition is None:
        return hull(x, y)
    return x if condition else y


Branch = tuple[Any, ...] | Callable[[], tuple[Any, ...]]


def choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return one branch's value and partials, or the hulls over both branches where the condition is open."""
    if condition is None:
        return tuple(hull(a, b) for a, b in zip(_taken(then), _taken(otherwise), strict=True))
    return _taken(then if condition else otherwise)


def _taken(branch: Branch) -> tuple[Any, ...]:
    return branch if type(branch) is tuple else branch()  # type: ignore[operator]


def _ball(number: Any) -> arb:
    return number if type(number) is arb else arb(number)


def _hypot(x: Any, y: Any) -> arb:
    return (_ball(x) * x + _ball(y) * y).nonnegative_part().sqrt()


def _sign(x: Any) -> arb:
    """FLINT says [-1, 1] of what is not a number."""
    ball = arb(x)
    return ball if ball.is_nan() else ball.sgn()


def _arctan2(ordinate: Any, abscissa: Any) -> arb:
    """FLINT says [-π, π] where neither is a number."""
    y, x = arb(ordinate), arb(abscissa)
    return arb.nan() if y.is_nan() or x.is_nan() else arb.atan2(y, x)


BALL_FUNCTIONS: Mapping[str, Any] = MappingProxyType({
    "exp": of_ball(arb.exp),
    "expm1": of_ball(arb.expm1),
    "exp2": lambda x: arb(2) ** x,
    "log": of_ball(arb.log),
    "log1p": of_ball(arb.log1p),
    "log2": lambda x: _ball(x).log() / arb.const_log2(),
    "log10": lambda x: _ball(x).log() / arb.const_log10(),
    "sqrt": of_ball(arb.sqrt),
    "sin": of_ball(arb.sin),
    "cos": of_ball(arb.cos),
    "tan": of_ball(arb.tan),
    "arcsin": of_ball(arb.asin),
    "arccos": of_ball(arb.acos),
    "arctan": of_ball(arb.atan),
    "sinh": of_ball(arb.sinh),
    "cosh": of_ball(arb.cosh),
    "tanh": of_ball(arb.tanh),
    "sigmoid": lambda x: 1 / (1 + (-_ball(x)).exp()),
    "arcsinh": of_ball(arb.asinh),
    "arccosh": of_ball(arb.acosh),
    "arctanh": of_ball(arb.atanh),
    "abs": lambda x: abs(_ball(x)),
    "sign": _sign,
    "floor": of_ball(arb.floor),
    "maximum": lambda x, y: arb(x).max(arb(y)),
    "minimum": lambda x, y: arb(x).min(arb(y)),
    "arctan2": _arctan2,
    "hypot": _hypot,
    **SPECIAL_BALLS,
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


@cache
def ball_functions(bits: int) -> Mapping[str, Any]:
    """Return the functions, with the constants at a precision."""
    with precision(bits):
        return {**BALL_FUNCTIONS, "pi": arb.pi()}


@cache
def true_derivative(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``formula`` to value and partials, differentiated mechanically: what is true."""
    assert operator.formula is not None
    functions = ball_functions(bits)
    derivative = differentiate(operator.formula, operator.argument_names, operator.attribute_names, functions)
    return continued(operator, derivative, functions)


@cache
def usual_derivative(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``forward`` and ``partials``: how an engine computes, hence how it rounds."""
    functions = ball_functions(bits)
    return continued(operator, rule(operator, functions), functions)


def rule(operator: Operator, functions: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``forward`` and ``partials`` over the functions of a number system."""
    assert operator.forward is not None
    signature = ", ".join([*operator.argument_names, *operator.attribute_names])
    partials = [operator.partials[name].calls if name in operator.partials else "0" for name in operator.argument_names]
    source = (
        f"def derivative({signature}):\n    out = {operator.forward.calls}\n    return out, {', '.join(partials)},\n"
    )
    namespace = dict(functions)
    exec(compile(source, f"<rounding of {operator.name}>", "exec"), namespace)
    compiled: Callable[..., tuple[Any, ...]] = namespace["derivative"]
    return compiled


def continued(
    operator: Operator, derivative: Callable[..., tuple[Any, ...]], functions: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return the function with the row's limits where the formula has no value: sin(x) / x is 1 at 0.

    Where the operands may lie on a kink, a slope that the formula does not give is one of those that the kink has.
    """
    parameters = (*operator.argument_names, *operator.attribute_names)
    limits = [
        (Expression(edge.where).function(parameters, functions), _limit(operator, edge))
        for edge in operator.edges
        if edge.kind == "limit"
    ]
    kinks = [
        (Expression(edge.where).function(parameters, functions), _limit(operator, edge)[1:])
        for edge in operator.kinks
        if not any(isinstance(end, str) for interval in edge.subdifferential.values() for end in interval)
    ]
    if not limits and not kinks:
        return derivative

    def with_limits(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        found = derivative(*numbers, **attributes)
        if all(_is_finite(number) for number in found):
            return found
        for holds, limit in limits:
            if holds(*numbers, **attributes) is True:
                return limit
        slopes = next((slopes for holds, slopes in kinks if holds(*numbers, **attributes) is not False), found[1:])
        value, *partials = found
        return value, *(p if _is_finite(p) else slope for p, slope in zip(partials, slopes, strict=True))

    return with_limits


def _is_finite(number: Any) -> bool:
    return bool((number if hasattr(number, "is_finite") else arb(number)).is_finite())


def _limit(operator: Operator, edge: Edge) -> tuple[Any, ...]:
    """Return the value and the partials that a row states at an edge; one that it does not state is not a number."""
    stated = [edge.subdifferential.get(name) for name in operator.argument_names]
    return (
        arb.nan() if edge.value is None else arb(edge.value),
        *(arb.nan() if interval is None else hull(*interval) for interval in stated),
    )
