"""Values and partials of elementwise operators in power series, by formula. Undecided results are unknown (NaN)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

from flint import arb, arb_series, ctx

from refgrad.operators import Formula, Operator
from refgrad.operators.differentiation import differentiate
from refgrad.operators.functions.series import SERIES_FUNCTIONS, constant, series_functions
from refgrad.operators.functions.special_series import unknown

Derivative = Callable[..., tuple[Any, ...]]


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
    assert operator.formula is not None
    derivative = differentiate(
        operator.formula, operator.argument_names, operator.attribute_names, series_functions(bits)
    )
    return _without_poles(operator, guarded(derivative, 1 + len(operator.arguments)))


@cache
def series_value(operator: Operator, bits: int) -> Derivative:
    """Compile the row's ``formula`` to its value. Derivatives come from FLINT's composition of series only.

    The partials that it returns are 0 and are not used, as no tape is recorded.
    """
    assert operator.formula is not None
    value = operator.formula.function((*operator.argument_names, *operator.attribute_names), series_functions(bits))
    nothing = (0,) * len(operator.arguments)
    only = guarded(lambda *numbers, **attributes: (value(*numbers, **attributes), *nothing), 1 + len(nothing))
    return _without_poles(operator, only)


def _without_poles(operator: Operator, derivative: Derivative) -> Derivative:
    """Wrap a derivative to return unknown results where a power may have base 0 and an exponent of at most 1.

    FLINT returns 0 for a series 0 to any power, even a negative one. Value and slope are 0 only for exponents above 1.
    """
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    powers = [node for node in ast.walk(operator.formula.tree) if isinstance(node, ast.BinOp) and _varies(node)]
    if not powers:
        return derivative
    sides = [
        tuple(Formula(ast.unparse(side)).function(parameters, SERIES_FUNCTIONS) for side in (node.left, node.right))
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
