"""Values and partials of elementwise operators in FLINT balls: by formula, and as engines compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from flint import arb

from refgrad.operators import Edge, Formula, Operator
from refgrad.operators.differentiation import differentiate
from refgrad.operators.functions.balls import ball_functions, hull


@cache
def true_derivative(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``formula`` to the true value and partials, by mechanical differentiation."""
    assert operator.formula is not None
    functions = ball_functions(bits)
    derivative = differentiate(operator.formula, operator.argument_names, operator.attribute_names, functions)
    return continued(operator, derivative, functions)


@cache
def usual_derivative(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``rounding`` and ``partials`` to value and partials that round as an engine's do."""
    functions = ball_functions(bits)
    return continued(operator, rule(operator, functions), functions)


def rule(operator: Operator, functions: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``rounding`` and ``partials`` with the functions of a number system."""
    assert operator.rounding is not None
    signature = ", ".join([*operator.argument_names, *operator.attribute_names])
    partials = [operator.partials[name].calls if name in operator.partials else "0" for name in operator.argument_names]
    source = (
        f"def derivative({signature}):\n    out = {operator.rounding.calls}\n    return out, {', '.join(partials)},\n"
    )
    namespace = dict(functions)
    exec(compile(source, f"<rounding of {operator.name}>", "exec"), namespace)
    compiled: Callable[..., tuple[Any, ...]] = namespace["derivative"]
    return compiled


def continued(
    operator: Operator, derivative: Callable[..., tuple[Any, ...]], functions: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Extend a derivative by the row's limits where the formula has no value, e.g. sin(x) / x is 1 at 0.

    Where the operands may lie on a kink, a partial that the formula leaves undefined is the interval of the kink's
    slopes.
    """
    parameters = (*operator.argument_names, *operator.attribute_names)
    limits = [
        (Formula(edge.where).function(parameters, functions), _limit(operator, edge))
        for edge in operator.edges
        if edge.kind == "limit"
    ]
    kinks = [
        (Formula(edge.where).function(parameters, functions), _limit(operator, edge)[1:])
        for edge in operator.kinks
        if not any(isinstance(end, str) for interval in edge.subdifferential.values() for end in interval)
    ]
    if not limits and not kinks:
        return derivative

    def with_limits(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        direct = derivative(*numbers, **attributes)
        if all(_is_finite(number) for number in direct):
            return direct
        for holds, limit in limits:
            if holds(*numbers, **attributes) is True:
                return limit
        slopes = next((slopes for holds, slopes in kinks if holds(*numbers, **attributes) is not False), direct[1:])
        value, *partials = direct
        return value, *(p if _is_finite(p) else slope for p, slope in zip(partials, slopes, strict=True))

    return with_limits


def _is_finite(number: Any) -> bool:
    return bool((number if hasattr(number, "is_finite") else arb(number)).is_finite())


def _limit(operator: Operator, edge: Edge) -> tuple[Any, ...]:
    """Return the value and the partials that a row states at an edge, with NaN for those that it does not state."""
    stated = [edge.subdifferential.get(name) for name in operator.argument_names]
    return (
        arb.nan() if edge.value is None else arb(edge.value),
        *(arb.nan() if interval is None else hull(*interval) for interval in stated),
    )
