"""Derivatives of operators on truncated power series and on balls, with their rounding.

Derivatives of an engine's rules are the rules of the rules, so the rounding of a higher derivative follows from the
rows' partials in series. If an engine may have written a rule as a difference of terms that cancel once they are
differentiated, the slopes are wider by the rounding error of those terms.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from flint import arb, arb_series, ctx

from refgrad.operators import Edge, Formula, Operator
from refgrad.operators.differentiation import bending, compiled, row_derivative
from refgrad.operators.functions.balls import ball_functions, hull
from refgrad.operators.functions.series import SERIES_FUNCTIONS, constant, primitive, series_functions, unknown

Derivative = Callable[..., tuple[Any, ...]]
Purpose = Literal["truth", "rounding"]


def guarded(derivative: Derivative, results: int) -> Derivative:
    """Wrap a derivative to return unknown results where FLINT raises an error or knows too few coefficients."""

    def answered(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        try:
            series = derivative(*numbers, **attributes)
        except (ValueError, ZeroDivisionError):  # a divisor whose constant term may be zero
            return (unknown(),) * results
        short = any(type(number) is arb_series and number.prec < ctx.cap for number in series)
        return (unknown(),) * results if short else series

    return answered


@cache
def true_series(operator: Operator, bits: int) -> Derivative:
    """Compile the row's ``formula`` to the true value and partials in series, by mechanical differentiation."""
    derivative = row_derivative(operator, series_functions(bits))
    return without_poles(operator, guarded(derivative, 1 + len(operator.arguments)))


def without_poles(operator: Operator, derivative: Derivative) -> Derivative:
    """Wrap a derivative to return unknown results where a power may have base 0 and an exponent of at most 1.

    FLINT returns 0 for a series 0 to any power, even a negative one. Value and slope are 0 only for exponents above 1.
    """
    assert operator.formula is not None
    nodes = [node for node in ast.walk(operator.formula.tree) if isinstance(node, ast.BinOp)]
    powers = [node for node in nodes if isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant)]
    if not powers:
        return derivative
    sides = [
        tuple(operator.compiled(Formula(ast.unparse(side)), SERIES_FUNCTIONS) for side in (node.left, node.right))
        for node in powers
    ]

    def checked(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        constants = [constant(number) for number in numbers]
        for base, exponent in sides:
            if arb(base(*constants, **attributes)).contains(0) and not exponent(*constants, **attributes) > 1:
                return (unknown(),) * (1 + len(operator.arguments))
        return derivative(*numbers, **attributes)

    return checked


ROUNDINGS = 4
"""Number of operations that round a term that cancels in the end: a product, two quotients, the cotangent."""


@cache
def usual_series(operator: Operator, bits: int, order: int) -> Derivative:
    """Compile an engine's rounding of the derivatives of recorded gradients, in series with ``order`` infinitesimals.

    The change of the value is that of the row's ``partials``, as an engine computes it, not FLINT's more accurate one:
    a saturated tanh changes by 1 - y² in the engine's own precision. The change of the partials is that of their
    formulas, and it changes the value in turn (E. Picard's iteration; each round settles one more infinitesimal). Where
    a branch of a smooth operator is undecided, as that of softplus's maximum(x, 0) is at 0, the ``formula`` is used,
    which has no branch.
    """
    plain = scalar_derivative(operator, bits, "rounding")
    parameters = (*operator.parameters, "out")
    functions = {**series_functions(bits), "tanh": _usual_tanh(order)}
    named = [operator.partials.get(name) for name in operator.argument_names]
    slopes = [None if partial is None else partial.function(parameters, functions) for partial in named]
    noise = _differences(operator, named, bits)

    def derivative(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        start, *partials = plain(*map(constant, numbers), **attributes)
        errors = noise(numbers, partials)
        for _ in range(order):
            out = _carried(start, numbers, partials)
            partials = [0 if slope is None else slope(*numbers, **attributes, out=out) for slope in slopes]
            for index, error in errors:
                partials[index] += error
        return out, *partials

    usual = guarded(derivative, 1 + len(operator.arguments))
    return usual if operator.kinks else _closed(usual, true_series(operator, bits))


def _closed(usual: Derivative, smooth: Derivative) -> Derivative:
    """Return a function that calls ``smooth`` where the result of ``usual`` is unknown."""

    def closed(*numbers: Any, **attributes: Any) -> tuple[Any, ...]:
        series = usual(*numbers, **attributes)
        if all(type(number) is not arb_series or number[0].is_finite() for number in series):
            return series
        return smooth(*numbers, **attributes)

    return closed


def _usual_tanh(order: int) -> Callable[[Any], Any]:
    """Return tanh as rules compute it: its change is 1 - y² in the engine's precision, which may cancel."""

    def tanh(number: Any) -> arb_series:
        x = number if type(number) is arb_series else arb_series([arb(number)])
        start = x[0].tanh()
        y = arb_series([start])
        for _ in range(order):
            y = primitive(start, 1 - y * y, x)
        return y

    return tanh


def _carried(start: Any, numbers: tuple[Any, ...], partials: list[Any]) -> Any:
    """Return the series with constant term ``start`` and the partial derivatives ``partials`` by ``numbers``."""
    moving = [(x, by) for x, by in zip(numbers, partials, strict=True) if type(x) is arb_series]
    if ctx.cap == 2:  # noqa: PLR2004 (one infinitesimal: the same, without series)
        return arb_series([arb(start), sum((x[1] * constant(by) for x, by in moving), arb(0))])
    return sum((primitive(arb(0), by, x) for x, by in moving), arb_series([arb(start)]))


def _differences(
    operator: Operator, rules: list[Formula | None], bits: int
) -> Callable[[tuple[Any, ...], list[Any]], list[tuple[int, Any]]]:
    """Return the function that lists the slopes that an engine may compute as a difference, with their rounding noise.

    If a slope only makes a choice, an engine may have written the choice as a quotient (HIPS autograd: the slope of |x|
    is x / |x|), and the rounding error of 1 / |x| - x² / |x|³ remains. If a slope is made of exponentials, an engine
    may compute its change from the slope (PyTorch: the change of softplus's slope z is z (1 - z)). That change is a
    small part of the slope where the slope is near 1, and not small in units of the slope where the slope is near 0.
    Operands that such a slope is multiplied with enlarge the noise by their size (silu: x z).
    """
    names = operator.argument_names
    choosing = [n for n, name in enumerate(names) if name in operator.saves(name) and not bending(operator, name)]
    exponential = [
        (n, _factors(operator, p)) for n, p in enumerate(rules) if p is not None and p.functions & {"exp", "sigmoid"}
    ]

    def differences(numbers: tuple[Any, ...], partials: list[Any]) -> list[tuple[int, Any]]:
        noise = [(n, change_noise(partials[n], relative_change(numbers[n]), bits)) for n in choosing]
        if exponential:
            speeds = sum((speed(number) for number in numbers), _still())
            for n, factors in exponential:
                size = sum((abs(arb(constant(numbers[factor]))) for factor in factors), arb(1))
                noise.append((n, change_noise((abs(arb(constant(partials[n]))) + 1) * size, speeds, bits)))
        return noise

    return differences


def _factors(operator: Operator, rule: Formula) -> list[int]:
    """Return the indices of the operands that a rule uses outside of all function calls."""
    inside = {id(name) for call in ast.walk(rule.tree) if isinstance(call, ast.Call) for name in ast.walk(call)}
    names = {node.id for node in ast.walk(rule.tree) if isinstance(node, ast.Name) and id(node) not in inside}
    return [index for index, name in enumerate(operator.argument_names) if name in names]


def _still() -> arb_series:
    return arb_series([arb(0)])


def speed(number: Any) -> arb_series:
    """Return the magnitudes of the coefficients of a series, except the constant term."""
    if type(number) is not arb_series:
        return _still()
    return arb_series([0, *(abs(number[k]) for k in range(1, min(ctx.cap, number.length())))])


def relative_change(number: Any) -> arb_series:
    """Return |x' / x| of a series; 0 where x may be 0, as no engine divides by 0."""
    return _still() if type(number) is not arb_series or number[0].contains(0) else speed(number) / abs(number[0])


def change_noise(slope: Any, change: arb_series, bits: int) -> arb_series:
    """Return the rounding noise in the change of a slope that was computed as a difference of terms of its size.

    ``change`` holds the magnitudes of the relative changes. Higher derivatives are as large as those of 1 / (1 -
    change), which is the sum over the quotients of n factors, for all n.
    """
    sizes = change if ctx.cap == 2 else change / (1 - change)  # noqa: PLR2004 (the same, but faster)
    scale = abs(arb(slope)) * ROUNDINGS * 2.0**-bits
    return arb_series([arb(0), *(arb(0, (sizes[k] * scale).upper()) for k in range(1, sizes.length()))])


@cache
def scalar_derivative(operator: Operator, bits: int, purpose: Purpose) -> Derivative:
    """Compile a row to value and partials: its ``formula`` to the true ones, or its ``rounding`` and ``partials``.

    The latter round as those of an engine do.
    """
    functions = ball_functions(bits)
    compiled_rule = row_derivative(operator, functions) if purpose == "truth" else rule(operator, functions)
    return continued(operator, compiled_rule, functions)


def rule(operator: Operator, functions: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's ``rounding`` and ``partials`` with the functions of a number system."""
    assert operator.rounding is not None
    partials = [operator.partials[name].calls if name in operator.partials else "0" for name in operator.argument_names]
    source = (
        f"def derivative({', '.join(operator.parameters)}):\n    out = {operator.rounding.calls}\n"
        f"    return out, {', '.join(partials)},\n"
    )
    return compiled(source, operator.rounding, functions)


def continued(
    operator: Operator, derivative: Callable[..., tuple[Any, ...]], functions: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Extend a derivative by the row's limits where the formula has no value, e.g. sin(x) / x is 1 at 0.

    Where the operands may lie on a kink, a partial that the formula leaves undefined is the interval of the kink's
    slopes.
    """
    limits = [
        (operator.compiled(Formula(edge.where), functions), _limit(operator, edge))
        for edge in operator.edges
        if edge.kind == "limit"
    ]
    kinks = [
        (operator.compiled(Formula(edge.where), functions), _limit(operator, edge)[1:])
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
