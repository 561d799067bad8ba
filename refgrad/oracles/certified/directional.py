"""The certified derivative of a scenario's output along a direction, for every legal choice at kinks.

Values and their tangents are carried forward together, in balls. Where a branch is undecided, at a kink, the result is
the hull of the results of both sides, value and tangent together. So the weights that a tie gives its operands are
never negative and always sum to one. Intervals of single partial derivatives cannot express that: along a direction in
which tied entries change alike, the tangent is one number. No tape and no reverse sweep is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import evaluate, expanded
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import differentiate_along
from refgrad.operators.functions.balls import Branch, Decision, ball_functions, choose, precision, taken
from refgrad.oracles.certified.ball_tape import ObjectArray, filled
from refgrad.oracles.certified.certified import TRUTH_BITS, Floats
from refgrad.oracles.certified.series import scalar_derivative
from refgrad.scenario import Constant, Jvp, Leaf, Scenario

Contributions = tuple[tuple[str, Constant | None], ...]


@dataclass(slots=True, eq=False)
class Moving:
    """A scalar with its tangent, both balls."""

    value: arb
    speed: arb

    def __add__(self, other: Moving | int) -> Moving:
        """Return the sum. Integers come from NumPy's neutral elements."""
        if type(other) is not Moving:
            return Moving(self.value + other, self.speed)
        return Moving(self.value + other.value, self.speed + other.speed)

    __radd__ = __add__

    def __mul__(self, other: Moving | int) -> Moving:
        """Return the product."""
        if type(other) is not Moving:
            return Moving(self.value * other, self.speed * other)
        return Moving(self.value * other.value, self.speed * other.value + self.value * other.speed)

    __rmul__ = __mul__

    def __truediv__(self, count: int) -> Moving:
        """Return the quotient by an integer, which a mean needs."""
        return Moving(self.value / count, self.speed / count)


@dataclass(frozen=True, eq=False)
class MovingBalls:
    """The number system of values with tangents: ``directions[name]`` is a leaf's tangent, in the leaf's shape.

    Leaves without one have tangent 0.
    """

    directions: Mapping[str, Floats]
    bits: int

    @cached_property
    def maximum(self) -> Any:
        """Ufunc that returns the larger of two scalars and can be reduced."""
        return np.frompyfunc(self._scalar(operator_table()["maximum"], {}), 2, 1)

    @cached_property
    def minimum(self) -> Any:
        """Ufunc that returns the smaller of two scalars and can be reduced."""
        return np.frompyfunc(self._scalar(operator_table()["minimum"], {}), 2, 1)

    def leaf(self, leaf: Leaf) -> npt.NDArray[Any]:
        """Return a leaf's entries with their tangents, or plain booleans if the leaf is boolean."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        speeds = self.directions.get(leaf.name, np.zeros(array.shape)).ravel().tolist()
        numbers = array.astype(np.float64).ravel().tolist()
        return filled(array.shape, [Moving(arb(x), arb(v)) for x, v in zip(numbers, speeds, strict=True)])

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> ObjectArray:
        """Apply an operator to arrays of scalars with tangents."""
        if operator.structure is not None:
            result = np.asarray(operator.structure.forward(self)(*arguments, **attributes), dtype=object)
            return filled(result.shape, [_lifted(entry) for entry in result.ravel()])
        function = self._scalar(operator, attributes)
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        columns = [np.broadcast_to(a, shape).ravel().tolist() for a in arguments]
        return filled(shape, [function(*entries) for entries in zip(*columns, strict=True)])

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> ObjectArray:
        """Return constants of unknown value (NaN with tangent 0), in the output's shape."""
        output = values[step.output]
        return filled(output.shape, [Moving(arb.nan(), arb(0))] * output.size)

    def _scalar(self, operator: Operator, attributes: Mapping[str, Any]) -> Callable[..., Moving]:
        along, partials = _along(operator, self.bits), scalar_derivative(operator, self.bits, "truth")

        def function(*entries: Any) -> Moving:
            values = [entry.value if type(entry) is Moving else entry for entry in entries]
            speeds = [entry.speed if type(entry) is Moving else 0 for entry in entries]
            named = {
                f"{name}_speed": v for name, v in zip(operator.argument_names, speeds, strict=True) if type(v) is arb
            }
            value, speed = along(*values, *attributes.values(), **named)
            if not (arb(value).is_finite() and arb(speed).is_finite()):
                value, *slopes = partials(*values, **attributes)
                speed = sum((slope * v for slope, v in zip(slopes, speeds, strict=True) if v != 0), arb(0))
            return Moving(arb(value), arb(speed))

        return function


def directional_derivative(
    scenario: Scenario, contributions: Contributions, directions: Mapping[str, Floats], bits: int = TRUTH_BITS
) -> arb:
    """Return a ball that contains the sum over (output, seed) of seed · tangent of the output, for every legal choice.

    Raises ScenarioEvaluationError where shapes do not match, or where the scenario records gradients.
    """
    with precision(bits):
        values = evaluate(expanded(scenario), MovingBalls(directions, bits))
        total = arb(0)
        for output, seed in contributions:
            entries = values[output].ravel().tolist()
            weights = [1.0] * len(entries) if seed is None else seed.to_numpy().astype(np.float64).ravel().tolist()
            for entry, weight in zip(entries, weights, strict=True):
                total += entry.speed * arb(weight) if entry.value.is_finite() else arb.nan()
        return total


_gaps: ContextVar[list[float] | None] = ContextVar("gaps", default=None)
"""List to which gaps at undecided branches are appended; None outside of :func:`gaps_at_kinks`."""


def gaps_at_kinks(
    scenario: Scenario, contributions: Contributions, directions: Mapping[str, Floats], bits: int = TRUTH_BITS
) -> list[float]:
    """Return, for each undecided branch, the difference between the tangents of its two sides along a direction.

    The branches and their order do not depend on the direction, and the gaps are linear in it. So the gaps of a basis
    form a matrix whose null space contains the directions in which the output is smooth. Raises as
    directional_derivative.
    """
    token = _gaps.set([])
    try:
        directional_derivative(scenario, contributions, directions, bits)
        return _gaps.get() or []
    finally:
        _gaps.reset(token)


def _choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return the value and tangent of one side, or the hulls over both sides, and record the gap of the tangents."""
    if condition is None:
        gaps = _gaps.get()
        if gaps is not None:
            sides = [taken(then), taken(otherwise)]
            gaps.append(float(arb(sides[0][1]).mid()) - float(arb(sides[1][1]).mid()))
    return choose(condition, then, otherwise)


@cache
def _along(operator: Operator, bits: int) -> Callable[..., tuple[Any, ...]]:
    """Compile the row's formula to value and tangent; attributes follow the arguments."""
    assert operator.formula is not None
    functions = {**ball_functions(bits), "choose": _choose}
    return differentiate_along(operator.formula, operator.parameters, operator.differentiable_arguments, functions)


def _lifted(entry: Any) -> Moving:
    """Convert the plain numbers that NumPy inserts (neutral elements of empty sums, zeros) to constants."""
    return entry if type(entry) is Moving else Moving(arb(int(entry or 0)), arb(0))
