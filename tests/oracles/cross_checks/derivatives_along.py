"""A scenario's certified derivatives of any order along a direction, by FLINT's power series alone.

The leaves move along x + t · direction while the forward part runs in series in t; k! times the coefficient of t to the
k is the k-th derivative. Nothing is swept, and there is no rule for any derivative but FLINT's own, so this is held
against the sweeps of the tape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from flint import arb, arb_series, ctx

from refgrad.interpreter import evaluate, expanded
from refgrad.operators import Operator
from refgrad.operators.functions.balls import series_precision
from refgrad.operators.functions.series import coefficient, series_functions
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.ball_tape import CONSTANT, Ball, BallTape, ObjectArray
from refgrad.oracles.certified.certified import TRUTH_BITS
from refgrad.oracles.certified.series import Derivative, guarded, without_poles
from refgrad.scenario import Grad, Jvp, Scenario

Direction = Mapping[str, npt.NDArray[np.float64]]


@cache
def series_value(operator: Operator, bits: int) -> Derivative:
    """Compile the row's ``formula`` to its value. Derivatives come from FLINT's composition of series only.

    The partials that it returns are 0 and are not used, as no tape is recorded.
    """
    assert operator.formula is not None
    value = operator.formula.function((*operator.argument_names, *operator.attribute_names), series_functions(bits))
    nothing = (0,) * len(operator.arguments)
    only = guarded(lambda *numbers, **attributes: (value(*numbers, **attributes), *nothing), 1 + len(nothing))
    return without_poles(operator, only)


@dataclass(frozen=True, slots=True)
class PathArithmetic(Arithmetic):
    """Series of ``length`` coefficients in t, in which the leaves that have one move along their directions.

    Nothing but values is found: no number stands on a tape.
    """

    directions: Mapping[str, tuple[arb, ...]]
    length: int

    number: ClassVar[type[Any]] = arb_series

    def derivative(self, operator: Operator) -> Derivative:
        """Return the function of series that gives an operator's value, and partials that are never asked for."""
        return series_value(operator, self.bits)

    def leaf(self, name: str, numbers: list[float]) -> list[Any]:
        """Return a leaf's entries, moving if there is a direction for them."""
        speeds = self.directions.get(name, (0,) * len(numbers))
        return [arb_series([number, speed]) for number, speed in zip(numbers, speeds, strict=True)]

    def context(self) -> AbstractContextManager[None]:
        """Compute in this precision and length inside the block."""
        return series_precision(self.bits, self.length)


def derivatives_along(
    scenario: Scenario, direction: Direction, order: int, bits: int = TRUTH_BITS
) -> dict[str, ObjectArray]:
    """Return, for every name but those of conditions, balls of each entry's ``order``-th derivative along a direction.

    ``direction`` has an array of the leaf's shape for each leaf that moves; the others stand still. A ball is not a
    number where a kink, a jump or the border of a domain may lie at the point, and for recorded gradients, tangents and
    what is made of them. Raises ScenarioEvaluationError where shapes do not fit, and ValueError for a direction of
    another shape than its leaf or a negative order.
    """
    if order < 0:
        raise ValueError(f"a derivative has an order of at least 0, not {order}")
    arithmetic = PathArithmetic("truth", bits, MappingProxyType(_directions(scenario, direction)), order + 1)
    with arithmetic.context():
        values = evaluate(expanded(scenario), PathTape(arithmetic, _unknown))
        factor = math.factorial(order)
        numbers = {name: array for name, array in values.items() if _varies(array)}
        return {name: _derivatives(array, order, factor) for name, array in numbers.items()}


class PathTape(BallTape):
    """The tape of values along a path, on which no number stands."""

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> ObjectArray:
        """Return numbers that are not known, in the output's shape."""
        unknown = Ball(arb_series([arb.nan()] * ctx.cap), CONSTANT, self.edges)
        return np.full(values[step.output].shape, unknown, dtype=object)


def _directions(scenario: Scenario, direction: Direction) -> dict[str, tuple[arb, ...]]:
    leaves = {leaf.name: leaf for leaf in scenario.leaves}
    for name, array in direction.items():
        if name not in leaves or array.shape != leaves[name].value.shape:
            raise ValueError(f"the direction of {name!r} has the shape {array.shape}, which is not that of such a leaf")
    return {name: tuple(arb(x) for x in array.ravel().tolist()) for name, array in direction.items()}


def _varies(array: ObjectArray) -> bool:
    """Whether it is an array of numbers, and not of truth values."""
    return not any(type(entry) is bool for entry in array.ravel().tolist())


def _unknown(step: Grad, values: Mapping[str, Any]) -> ObjectArray:
    return np.full(values[step.leaf].shape, arb.nan(), dtype=object)


def _derivatives(array: ObjectArray, order: int, factor: int) -> ObjectArray:
    derivatives = np.empty(array.size, dtype=object)
    derivatives[:] = [coefficient(ball.value, order) * factor for ball in array.ravel().tolist()]
    return derivatives.reshape(array.shape)
