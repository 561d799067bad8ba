"""What is a scenario's gradient, certainly? A reverse sweep over scalar operations in FLINT balls.

The ordinary forward interpreter runs on object arrays of :class:`Ball`; each scalar operation that a ball goes through
is recorded with its local partials. The sweep back over that tape knows nothing of arrays, so it shares no rule for
broadcasting, reducing or indexing with any engine. Cost: linear in the number of scalar operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from functools import partial as bound
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import evaluate
from refgrad.operators import Operator, operator_table
from refgrad.oracles.ball_functions import precision, true_derivative, usual_derivative
from refgrad.scenario import Constant, Leaf, Scenario

Edges = tuple[tuple[int, Any], ...]
ObjectArray = npt.NDArray[np.object_]
Derivative = Callable[..., tuple[Any, ...]]
Contribution = tuple[str, Constant | None]
CONSTANT = -1
ONE = 1


class Ball:
    """A scalar that records what happens to it: a FLINT ball and its place on the tape (-1 for a constant)."""

    __slots__ = ("slot", "tape", "value")

    def __init__(self, value: arb, slot: int, tape: list[Edges]) -> None:
        """Wrap a value that stands at ``slot`` of ``tape``."""
        self.value = value
        self.slot = slot
        self.tape = tape

    def _scaled(self, value: arb, slope: Any) -> Ball:
        if self.slot < 0:
            return Ball(value, CONSTANT, self.tape)
        self.tape.append(((self.slot, slope),))
        return Ball(value, len(self.tape) - 1, self.tape)

    def _joined(self, other: Ball, value: arb, by_self: Any, by_other: Any) -> Ball:
        if other.slot < 0:
            return self._scaled(value, by_self)
        if self.slot < 0:
            return other._scaled(value, by_other)
        self.tape.append(((self.slot, by_self), (other.slot, by_other)))
        return Ball(value, len(self.tape) - 1, self.tape)

    def __add__(self, other: Ball | int) -> Ball:
        """Sum; integers come from numpy's neutral elements."""
        if type(other) is not Ball:
            return Ball(self.value + other, self.slot, self.tape)
        return self._joined(other, self.value + other.value, ONE, ONE)

    __radd__ = __add__

    def __mul__(self, other: Ball | int) -> Ball:
        """Product."""
        if type(other) is not Ball:
            return self._scaled(self.value * other, other)
        return self._joined(other, self.value * other.value, other.value, self.value)

    __rmul__ = __mul__

    def __truediv__(self, count: int) -> Ball:
        """Quotient by a whole number, as a mean needs it."""
        return self._scaled(self.value / count, 1 / arb(count))


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How the tape computes: ``truth`` with the rows' formulas, ``rounding`` the way engines do, leaves inflated.

    ``bits`` is the precision of the balls; with ``rounding`` it is the engine's own (53 for float64, 24 for float32).
    """

    purpose: Literal["truth", "rounding"]
    bits: int

    def derivative(self, operator: Operator) -> Derivative:
        """Return the scalar function that gives an operator's value and partials."""
        compiled = true_derivative if self.purpose == "truth" else usual_derivative
        return compiled(operator, self.bits)

    def enter(self, number: float) -> arb:
        """Return the ball of a given number: exact, or half an ulp wide in the engine's precision."""
        if self.purpose == "truth" or number == 0:
            return arb(number)
        return arb(number, abs(number) * 2.0**-self.bits)


class BallTape:
    """The number system of certified evaluation, and the tape that it records."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        """Start an empty tape."""
        self.arithmetic = arithmetic
        self.edges: list[Edges] = []
        self.leaf_slots: dict[str, int] = {}

    @cached_property
    def maximum(self) -> np.ufunc:
        """The larger of two balls, reducible as numpy's is."""
        return np.frompyfunc(self._extremum("maximum"), 2, 1)

    @cached_property
    def minimum(self) -> np.ufunc:
        """The smaller of two balls, reducible as numpy's is."""
        return np.frompyfunc(self._extremum("minimum"), 2, 1)

    def leaf(self, leaf: Leaf) -> npt.NDArray[Any]:
        """Return a leaf's entries as balls; boolean leaves stay plain."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        enter, tape = self.arithmetic.enter, self.edges
        numbers = array.astype(np.float64).ravel().tolist()
        if not leaf.requires_grad:
            return _filled(array.shape, [Ball(enter(x), CONSTANT, tape) for x in numbers])
        start = self.leaf_slots[leaf.name] = len(tape)
        tape.extend([()] * len(numbers))
        return _filled(array.shape, [Ball(enter(x), slot, tape) for slot, x in enumerate(numbers, start)])

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> ObjectArray:
        """Apply an operator to arrays of balls."""
        if operator.structure is not None:
            result = operator.structure.forward(self, *arguments, **attributes)
            return self._lifted(_as_objects(result))
        derivative = self.arithmetic.derivative(operator)
        if attributes:
            derivative = bound(derivative, **attributes)
        if len(arguments) == 1:
            (x,) = arguments
            return _filled(x.shape, self._unary(derivative, x.ravel().tolist()))
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        columns = [(a if a.shape == shape else np.broadcast_to(a, shape)).ravel().tolist() for a in arguments]
        if len(columns) == 2:  # noqa: PLR2004 (the common case, without the general one's packing)
            return _filled(shape, self._binary(derivative, *columns))
        return _filled(shape, [self._many(derivative, balls) for balls in zip(*columns, strict=True)])

    def _unary(self, derivative: Derivative, balls: list[Ball]) -> list[Ball]:
        tape = self.edges
        results = []
        for ball in balls:
            value, slope = derivative(ball.value)
            slot = CONSTANT
            if ball.slot >= 0:
                slot = len(tape)
                tape.append(((ball.slot, slope),))
            results.append(Ball(value if type(value) is arb else arb(value), slot, tape))
        return results

    def _binary(self, derivative: Derivative, lefts: list[Ball], rights: list[Ball]) -> list[Ball]:
        tape = self.edges
        results = []
        for left, right in zip(lefts, rights, strict=True):
            value, by_left, by_right = derivative(left.value, right.value)
            slot = len(tape)
            if left.slot >= 0:
                first = (left.slot, by_left)
                tape.append((first, (right.slot, by_right)) if right.slot >= 0 else (first,))
            elif right.slot >= 0:
                tape.append(((right.slot, by_right),))
            else:
                slot = CONSTANT
            results.append(Ball(value if type(value) is arb else arb(value), slot, tape))
        return results

    def _many(self, derivative: Derivative, balls: tuple[Any, ...]) -> Ball:
        value, *partials = derivative(*[b.value if type(b) is Ball else b for b in balls])
        tape = self.edges
        edges = tuple([(b.slot, p) for b, p in zip(balls, partials, strict=True) if type(b) is Ball and b.slot >= 0])
        number = value if type(value) is arb else arb(value)
        if not edges:
            return Ball(number, CONSTANT, tape)
        tape.append(edges)
        return Ball(number, len(tape) - 1, tape)

    def _extremum(self, name: str) -> Callable[[Ball, Ball], Ball]:
        derivative = self.arithmetic.derivative(operator_table()[name])
        return lambda x, y: self._many(derivative, (x, y))

    def _lifted(self, array: ObjectArray) -> ObjectArray:
        """Turn the plain numbers that numpy puts in (neutral elements of empty sums, zeros) into constants."""
        flat = array.ravel()
        if all(type(entry) is Ball for entry in flat):
            return array
        return _filled(
            array.shape, [x if type(x) is Ball else Ball(arb(int(x or 0)), CONSTANT, self.edges) for x in flat]
        )

    def sweep(self, outputs: Mapping[int, arb]) -> list[Any]:
        """Return the cotangent of every slot (None for untouched ones), given those of some slots."""
        cotangents: list[Any] = [None] * len(self.edges)
        for slot, value in outputs.items():
            cotangents[slot] = value
        edges = self.edges
        for slot in range(max(outputs, default=-1), -1, -1):
            cotangent = cotangents[slot]
            if cotangent is None:
                continue
            for parent, partial in edges[slot]:
                share = cotangent if partial is ONE else cotangent * partial
                before = cotangents[parent]
                cotangents[parent] = share if before is None else before + share
        return cotangents


class BallTrace:
    """A scenario's forward part, evaluated once in balls; gradients of any of its outputs follow by sweeps."""

    def __init__(self, scenario: Scenario, arithmetic: Arithmetic) -> None:
        """Evaluate the forward part; raises ScenarioEvaluationError where shapes do not fit."""
        self.scenario = scenario
        self.arithmetic = arithmetic
        self.tape = BallTape(arithmetic)
        with precision(arithmetic.bits):
            self.values = evaluate(scenario, self.tape)

    def value(self, name: str) -> ObjectArray:
        """Return the balls of a named value, in its shape."""
        return _filled(self.values[name].shape, [ball.value for ball in self.values[name].ravel()])

    def vjp(self, contributions: tuple[Contribution, ...]) -> dict[str, ObjectArray]:
        """Return, for each leaf, the sum over (output, seed) of what the seed (ones if None) sends to it."""
        with precision(self.arithmetic.bits):
            starts: dict[int, arb] = {}
            for output, seed in contributions:
                for ball, number in zip(self.values[output].ravel().tolist(), self._seed(output, seed), strict=True):
                    if ball.slot >= 0:
                        starts[ball.slot] = starts[ball.slot] + number if ball.slot in starts else number
            cotangents = self.tape.sweep(starts)
        return {name: self._leaf_cotangent(name, start, cotangents) for name, start in self.tape.leaf_slots.items()}

    def _seed(self, output: str, seed: Constant | None) -> list[arb]:
        if seed is None:
            return [arb(1)] * self.values[output].size
        return [self.arithmetic.enter(x) for x in seed.to_numpy().astype(np.float64).ravel().tolist()]

    def _leaf_cotangent(self, name: str, start: int, cotangents: list[Any]) -> ObjectArray:
        shape = self.values[name].shape
        size = self.values[name].size
        zero = arb(0)
        return _filled(shape, [zero if c is None else c for c in cotangents[start : start + size]])


def _filled(shape: tuple[int, ...], entries: list[Any]) -> ObjectArray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)


def _as_objects(result: Any) -> ObjectArray:
    if isinstance(result, np.ndarray):
        return result
    array = np.empty((), dtype=object)
    array[()] = result
    return array
