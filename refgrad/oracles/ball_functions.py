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


def _absolute(x: arb) -> arb:
    return abs(x)


def _log2(x: arb) -> arb:
    return x.log() / arb.const_log2()


def _log10(x: arb) -> arb:
    return x.log() / arb.const_log10()


BALL_FUNCTIONS: Mapping[str, Any] = MappingProxyType({
    "exp": arb.exp,
    "expm1": arb.expm1,
    "exp2": lambda x: arb(2) ** x,
    "log": lambda x: arb(x).log(),
    "log1p": arb.log1p,
    "log2": _log2,
    "log10": _log10,
    "sqrt": arb.sqrt,
    "sin": arb.sin,
    "cos": arb.cos,
    "tan": arb.tan,
    "arcsin": arb.asin,
    "arccos": arb.acos,
    "arctan": arb.atan,
    "sinh": arb.sinh,
    "cosh": arb.cosh,
    "tanh": arb.tanh,
    "arcsinh": arb.asinh,
    "arccosh": arb.acosh,
    "arctanh": arb.atanh,
    "abs": _absolute,
    "sign": arb.sgn,
    "floor": arb.floor,
    "maximum": lambda x, y: arb(x).max(arb(y)),
    "minimum": lambda x, y: arb(x).min(arb(y)),
    "arctan2": lambda y, x: arb.atan2(arb(y), arb(x)),
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
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
    return _continued(operator, derivative, functions)


@cache
def usual_derivative(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``forward`` and ``partials``: how an engine computes, hence how it rounds."""
    assert operator.forward is not None
    signature = ", ".join([*operator.argument_names, *operator.attribute_names])
    partials = [operator.partials[name].calls if name in operator.partials else "0" for name in operator.argument_names]
    source = (
        f"def derivative({signature}):\n    out = {operator.forward.calls}\n    return out, {', '.join(partials)},\n"
    )
    namespace = dict(ball_functions(bits))
    exec(compile(source, f"<rounding of {operator.name}>", "exec"), namespace)
    return _continued(operator, namespace["derivative"], namespace)


def _continued(
    operator: Operator, derivative: Callable[..., tuple[Any, ...]], functions: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return the function with the row's limits where the formula has no value: sin(x) / x is 1 at 0."""
    parameters = (*operator.argument_names, *operator.attribute_names)
    limits = [
        (Expression(edge.where).function(parameters, functions), _limit(operator, edge))
        for edge in operator.edges
        if edge.kind == "limit"
    ]
    if not limits:
        return derivative

    def continued(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        found = derivative(*numbers, **attributes)
        if all(arb(number).is_finite() for number in found):
            return found
        return next((limit for holds, limit in limits if holds(*numbers, **attributes) is True), found)

    return continued


def _limit(operator: Operator, edge: Edge) -> tuple[Any, ...]:
    """Return the value and the partials that a row states at an edge; one that it does not state is not a number."""
    stated = [edge.subdifferential.get(name) for name in operator.argument_names]
    return (
        arb.nan() if edge.value is None else arb(edge.value),
        *(arb.nan() if interval is None else hull(*interval) for interval in stated),
    )
