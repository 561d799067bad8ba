"""Rounding of the derivatives of recorded gradients, in power series.

Derivatives of an engine's rules are the rules of the rules, so the rounding of a higher derivative follows from the
rows' partials in series. If an engine may have written a rule as a difference of terms that cancel once they are
differentiated, the slopes are wider by the rounding error of those terms.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators import Formula, Operator
from refgrad.operators.curvature import bending
from refgrad.operators.functions.series import constant, primitive, series_functions
from refgrad.oracles.certified.ball_derivatives import usual_derivative
from refgrad.oracles.certified.series_derivatives import Derivative, guarded, true_series

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
    plain = usual_derivative(operator, bits)
    parameters = (*operator.argument_names, *operator.attribute_names, "out")
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
    choosing = [n for n, name in enumerate(operator.argument_names) if _chooses(operator, name)]
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


def _chooses(operator: Operator, name: str) -> bool:
    return name in operator.saves(name) and not bending(operator, name)


def _still() -> arb_series:
    return arb_series([arb(0)])


def speed(number: Any) -> arb_series:
    """Return the magnitudes of a number's coefficients, without the constant term."""
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
