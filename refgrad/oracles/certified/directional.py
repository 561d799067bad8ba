"""The certified derivative of a scenario's output along a direction, for every legal choice at kinks.

Values and their speeds are carried forward together, in balls. Where a branch is open, at a kink, the result is the
hull of what the two sides would do, speed and value together. So the weights that a tie gives its operands are never
negative and always sum to one, which intervals of single partial derivatives cannot say: along a direction in which
tied entries move alike the speed is one number. No tape and no reverse sweep is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import evaluate, expanded
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import differentiate_along
from refgrad.operators.functions.balls import Branch, ball_functions, choose, precision
from refgrad.operators.functions.decisions import Decision
from refgrad.oracles.certified.ball_derivatives import true_derivative
from refgrad.scenario import Constant, Jvp, Leaf, Scenario

Floats = npt.NDArray[np.float64]
ObjectArray = npt.NDArray[np.object_]
Contributions = tuple[tuple[str, Constant | None], ...]


class Moving:
    """A scalar on the move: a ball, and the ball of its speed."""

    __slots__ = ("speed", "value")

    def __init__(self, value: arb, speed: arb) -> None:
        """Move through a value at a speed."""
        self.value = value
        self.speed = speed

    def __add__(self, other: Moving | int) -> Moving:
        """Sum; integers come from numpy's neutral elements."""
        if type(other) is not Moving:
            return Moving(self.value + other, self.speed)
        return Moving(self.value + other.value, self.speed + other.speed)

    __radd__ = __add__

    def __mul__(self, other: Moving | int) -> Moving:
        """Product."""
        if type(other) is not Moving:
            return Moving(self.value * other, self.speed * other)
        return Moving(self.value * other.value, self.speed * other.value + self.value * other.speed)

    __rmul__ = __mul__

    def __truediv__(self, count: int) -> Moving:
        """Quotient by a whole number, as a mean needs it."""
        return Moving(self.value / count, self.speed / count)


class MovingBalls:
    """The number system of values that move along a direction: ``directions[name]`` has the leaf's shape."""

    def __init__(self, directions: Mapping[str, Floats], bits: int) -> None:
        """Take the leaves that move; the others stand still."""
        self.directions = directions
        self.bits = bits

    @cached_property
    def maximum(self) -> Any:
        """The larger of two, reducible as numpy's is."""
        return np.frompyfunc(self._scalar(operator_table()["maximum"], {}), 2, 1)

    @cached_property
    def minimum(self) -> Any:
        """The smaller of two, reducible as numpy's is."""
        return np.frompyfunc(self._scalar(operator_table()["minimum"], {}), 2, 1)

    def leaf(self, leaf: Leaf) -> npt.NDArray[Any]:
        """Return a leaf's entries and speeds; boolean leaves stay plain."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        speeds = self.directions.get(leaf.name, np.zeros(array.shape)).ravel().tolist()
        numbers = array.astype(np.float64).ravel().tolist()
        return _filled(array.shape, [Moving(arb(x), arb(v)) for x, v in zip(numbers, speeds, strict=True)])

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> ObjectArray:
        """Apply an operator to arrays that move."""
        if operator.structure is not None:
            result = np.asarray(operator.structure.forward(self, *arguments, **attributes), dtype=object)
            return _filled(result.shape, [_lifted(entry) for entry in result.ravel()])
        function = self._scalar(operator, attributes)
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        columns = [np.broadcast_to(a, shape).ravel().tolist() for a in arguments]
        return _filled(shape, [function(*entries) for entries in zip(*columns, strict=True)])

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> ObjectArray:
        """Return numbers that are not known, in the output's shape: they are constants, and nothing is said of them."""
        output = values[step.output]
        return _filled(output.shape, [Moving(arb.nan(), arb(0))] * output.size)

    def _scalar(self, operator: Operator, attributes: Mapping[str, Any]) -> Callable[..., Moving]:
        along, partials = _along(operator, self.bits), true_derivative(operator, self.bits)

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
    scenario: Scenario, contributions: Contributions, directions: Mapping[str, Floats], bits: int = 128
) -> arb:
    """Return a ball around the sum, over (output, seed), of seed · (speed of the output), for every legal choice.

    Raises ScenarioEvaluationError where shapes do not fit, or where the scenario records gradients.
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
"""Where the gaps at open branches go while somebody asks for them."""


def gaps_at_kinks(
    scenario: Scenario, contributions: Contributions, directions: Mapping[str, Floats], bits: int = 128
) -> list[float]:
    """Return, for each branch that is open, how much faster one side moves along a direction than the other does.

    The branches and their order do not depend on the direction, and the gaps are linear in it. So those of a basis are
    a matrix whose null space holds the directions in which the output is smooth. Raises as directional_derivative.
    """
    token = _gaps.set([])
    try:
        directional_derivative(scenario, contributions, directions, bits)
        return _gaps.get() or []
    finally:
        _gaps.reset(token)


def _choose(condition: Decision, then: Branch, otherwise: Branch) -> tuple[Any, ...]:
    """Return one side's value and speed, or the hulls over both, noting by how much the speeds differ."""
    if condition is None:
        gaps = _gaps.get()
        if gaps is not None:
            sides = [side if type(side) is tuple else side() for side in (then, otherwise)]  # type: ignore[operator]
            gaps.append(float(arb(sides[0][1]).mid()) - float(arb(sides[1][1]).mid()))
    return choose(condition, then, otherwise)


@cache
def _along(operator: Operator, bits: int) -> Callable[..., tuple[Any, Any]]:
    """Compile the row's formula to value and speed; attributes follow the arguments."""
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    functions = {**ball_functions(bits), "choose": _choose}
    return differentiate_along(operator.formula, parameters, operator.differentiable_arguments, functions)


def _lifted(entry: Any) -> Moving:
    """Turn the plain numbers that numpy puts in (neutral elements of empty sums, zeros) into constants."""
    return entry if type(entry) is Moving else Moving(arb(int(entry or 0)), arb(0))


def _filled(shape: tuple[int, ...], entries: list[Any]) -> ObjectArray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)
