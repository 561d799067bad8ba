"""How is the forward part of a scenario evaluated at complex points, where its operators are analytic?

Complex numbers go through the batched interpreter as they are: structural operators do not care what they move, add and
multiply. An elementwise operator needs a formula without comparisons: its row's ``forward`` or, as for the logistic
function that guards against overflow by branches, its ``formula``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.batched import Batch, BatchedFloat64
from refgrad.interpreter.float64 import NUMPY_FUNCTIONS
from refgrad.operators import Expression, Operator

NOT_ANALYTIC = frozenset({"abs", "sign", "floor", "maximum", "minimum", "arctan2", "hypot"})
"""Functions of the vocabulary that are not complex differentiable, or that numpy does not have for complex numbers."""

COMPLEX_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: function for name, function in NUMPY_FUNCTIONS.items() if name not in NOT_ANALYTIC}
    | {"exp2": lambda x: np.exp(x * math.log(2))}
)


class BatchedComplex128(BatchedFloat64):
    """Evaluates at many complex points: ``points[name]`` has the leaf's shape and the batch axis behind it.

    What does not depend on a leaf that varies stays real. ``apply`` raises TypeError for an operator that is not
    analytic in what varies.
    """

    def __init__(self, points: Mapping[str, npt.NDArray[np.complex128]]) -> None:
        """Take the points of the leaves that vary; the others keep the scenario's value."""
        super().__init__(points)  # type: ignore[arg-type]

    def apply(self, operator: Operator, arguments: list[Batch], attributes: Mapping[str, Any]) -> Batch:
        """Return the operator's value at every point."""
        points = next((argument.points for argument in arguments if argument.points is not None), None)
        if points is None:
            return super().apply(operator, arguments, attributes)
        if operator.elementwise:
            arrays = [a.array if a.points is not None else a.array[..., None] for a in arguments]
            return Batch(np.asarray(_analytic_forward(operator)(*arrays, **attributes)), points)
        if operator.kinks:
            raise TypeError(f"{operator.name} is not analytic")
        return super().apply(operator, arguments, attributes)


@cache
def analytic_expression(operator: Operator) -> Expression | None:
    """Return the formula by which an elementwise operator is analytic in its arguments, or None."""
    conditions = frozenset(argument.name for argument in operator.arguments if argument.dtype == "bool")
    candidates = (operator.forward, operator.formula)
    return next((c for c in candidates if c is not None and _is_analytic(c, conditions)), None)


def _is_analytic(expression: Expression, conditions: frozenset[str]) -> bool:
    """Whether a formula calls nothing with a kink or a jump, and branches on nothing but truth values given to it."""
    if expression.functions & NOT_ANALYTIC:
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
