"""The forward part of a scenario at complex points, where its operators are analytic.

Complex numbers go through the batched interpreter as they are: structural operators do not care what they move, add and
multiply. An elementwise operator needs a formula without comparisons: its row's ``forward`` or, as for the logistic
function that guards against overflow by branches, its ``formula``. Both parts are right to a few bits: see
:mod:`tests.interpreter.complex_array`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.evaluation import numpy_function
from refgrad.operators import Formula, Operator
from tests.interpreter.batched import Batch, BatchedFloat64
from tests.interpreter.complex_array import ComplexArray, Shaking
from tests.operators.functions.complex_arrays import COMPLEX_ABSENT, COMPLEX_FUNCTIONS


class BatchedComplex128(BatchedFloat64):
    """Evaluates at many complex points: ``points[name]`` has the leaf's shape and the batch axis behind it.

    What depends only on leaves that are real, whether they vary or not, stays real. With ``shaking`` every operation is
    off by as much as rounding may be. ``apply`` raises TypeError for an operator that is not analytic in what varies.
    """

    def __init__(self, points: Mapping[str, npt.NDArray[Any]], shaking: Shaking | None = None) -> None:
        """Take the points of the leaves that vary; the others keep the scenario's value."""
        super().__init__(points)
        self.shaking = shaking

    def apply(self, operator: Operator, arguments: list[Batch], attributes: Mapping[str, Any]) -> Batch:
        """Return the operator's value at every point."""
        points = next((argument.points for argument in arguments if argument.points is not None), None)
        inputs = [Batch(ComplexArray.of(argument.array, self.shaking), argument.points) for argument in arguments]
        if not any(np.iscomplexobj(argument.array) for argument in arguments):
            return super().apply(operator, inputs, attributes)
        if operator.elementwise:
            arrays = [a.array if a.points is not None else a.array[..., None] for a in inputs]
            result = np.asarray(_analytic_forward(operator)(*arrays, **attributes))
            return Batch(_mended(operator, result, [np.asarray(a) for a in arrays], attributes), points)
        if operator.kinks:
            raise TypeError(f"{operator.name} is not analytic")
        return super().apply(operator, inputs, attributes)


def _mended(
    operator: Operator,
    result: npt.NDArray[Any],
    arrays: list[npt.NDArray[Any]],
    attributes: Mapping[str, Any],
) -> npt.NDArray[Any]:
    """Take the real function where nothing moves and the formula has no value, as sinc's at 0."""
    lost = ~np.isfinite(result)
    for array in arrays:
        lost = lost & (np.imag(array) == 0)
    if not lost.any():
        return result
    return np.where(lost, numpy_function(operator)(*(np.real(a) for a in arrays), **attributes), result)


@cache
def analytic_expression(operator: Operator) -> Formula | None:
    """Return the formula by which an elementwise operator is analytic in its arguments, or None."""
    conditions = frozenset(argument.name for argument in operator.arguments if argument.dtype == "bool")
    candidates = (operator.forward, operator.formula)
    return next((c for c in candidates if c is not None and _is_analytic(c, conditions)), None)


def _is_analytic(expression: Formula, conditions: frozenset[str]) -> bool:
    """Whether a formula calls nothing with a kink or a jump, and branches on nothing but truth values given to it."""
    if expression.functions & COMPLEX_ABSENT:
        return False
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.Compare | ast.BoolOp):
            return False
        if isinstance(node, ast.IfExp) and not (isinstance(node.test, ast.Name) and node.test.id in conditions):
            return False
    return True


@cache
def _analytic_forward(operator: Operator) -> Callable[..., Any]:
    expression = analytic_expression(operator)
    if expression is None:
        raise TypeError(f"{operator.name} is not analytic")
    return expression.function((*operator.argument_names, *operator.attribute_names), COMPLEX_FUNCTIONS)
