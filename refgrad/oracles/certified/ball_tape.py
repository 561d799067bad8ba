"""Certified gradients of scenarios, by a reverse sweep over scalar operations in FLINT balls.

The ordinary forward interpreter runs on object arrays of :class:`Ball`. Each scalar operation on a ball is recorded
with its local partials. The reverse sweep over that tape handles scalars only, so it shares no rule for broadcasting,
reducing or indexing with any engine. Cost: linear in the number of scalar operations.

The slope of a product by one of its factors is the product of the others. Engines divide the product by the factor
instead (PyTorch, HIPS autograd), which differentiates to terms that cancel: d²(a b) / da² = b / a - a b / a² = 0 is
computed as the rounding error of b / a. So the rounding budget of each change of a slope includes that error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from functools import partial as bound
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.operators import Operator, operator_table
from refgrad.operators.functions.series import coefficient
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.series import Derivative, change_noise, relative_change
from refgrad.scenario import Grad, Jvp, Leaf

Edges = tuple[tuple[int, Any], ...]
ObjectArray = npt.NDArray[np.object_]
Differentiate = Callable[[Grad, Mapping[str, Any]], ObjectArray]
CONSTANT = -1
ONE = 1


@dataclass(slots=True, eq=False)
class Ball:
    """A scalar that records the operations on it: a FLINT ball, or a series of them, and its slot on the tape.

    The slot of a constant is -1.
    """

    value: arb
    slot: int
    tape: list[Edges]

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
        """Return the sum. Integers come from NumPy's neutral elements."""
        if type(other) is not Ball:
            return Ball(self.value + other, self.slot, self.tape)
        return self._joined(other, self.value + other.value, ONE, ONE)

    __radd__ = __add__

    def __mul__(self, other: Ball | int) -> Ball:
        """Return the product."""
        if type(other) is not Ball:
            return self._scaled(self.value * other, other)
        return self._joined(other, self.value * other.value, other.value, self.value)

    __rmul__ = __mul__

    def __truediv__(self, count: int) -> Ball:
        """Return the quotient by an integer, which a mean needs."""
        return self._scaled(self.value / count, 1 / arb(count))


class BallTape:
    """The number system of certified evaluation, and the tape that it records."""

    def __init__(self, arithmetic: Arithmetic, differentiate: Differentiate) -> None:
        """Start an empty tape. ``differentiate`` returns the balls of a recorded gradient, given the values so far."""
        self.arithmetic = arithmetic
        self.differentiate = differentiate
        self.edges: list[Edges] = []
        self.leaf_slots: dict[str, int] = {}
        self.gradient_slots: dict[str, int] = {}

    @cached_property
    def maximum(self) -> np.ufunc:
        """Ufunc that returns the larger of two balls and can be reduced."""
        return np.frompyfunc(self._extremum("maximum"), 2, 1)

    @cached_property
    def minimum(self) -> np.ufunc:
        """Ufunc that returns the smaller of two balls and can be reduced."""
        return np.frompyfunc(self._extremum("minimum"), 2, 1)

    def leaf(self, leaf: Leaf) -> npt.NDArray[Any]:
        """Return a leaf's entries as balls, or as plain booleans if the leaf is boolean."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        numbers = self.arithmetic.leaf(leaf.name, array.astype(np.float64).ravel().tolist())
        if not leaf.requires_grad:
            return filled(array.shape, [Ball(number, CONSTANT, self.edges) for number in numbers])
        self.leaf_slots[leaf.name] = len(self.edges)
        return filled(array.shape, self._entered(numbers))

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> ObjectArray:
        """Return a recorded gradient, which enters the tape like a leaf: its computation is not on the tape."""
        balls, number = self.differentiate(step, values), self.arithmetic.number
        self.gradient_slots[step.name] = len(self.edges)
        entries = [x if type(x) is number else number(x) for x in balls.ravel().tolist()]
        return filled(balls.shape, self._entered(entries))

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> ObjectArray:
        """Return a directional derivative, as constants.

        An entry is NaN where the output has no value, where a partial that it depends on is NaN, and where it depends
        on a recorded gradient.
        """
        starts: dict[int, Any] = {
            slot: arb.nan()
            for name, start in self.gradient_slots.items()
            for slot in range(start, start + values[name].size)
        }
        for leaf, constant in step.tangents:
            numbers = constant.to_numpy().astype(np.float64).ravel().tolist()
            starts.update(enumerate(map(self.arithmetic.enter, numbers), self.leaf_slots[leaf]))
        tangents = self.push(starts)
        arrived = [self._tangent(ball, tangents) for ball in values[step.output].ravel().tolist()]
        return filled(values[step.output].shape, arrived)

    def _tangent(self, ball: Any, tangents: list[Any]) -> Ball:
        number = self.arithmetic.number
        if type(ball) is not Ball:
            return Ball(number(0), CONSTANT, self.edges)
        tangent = tangents[ball.slot] if ball.slot >= 0 else None
        if tangent is None:
            tangent = 0
        elif not self.arithmetic.is_finite(ball.value):
            tangent = arb.nan()
        return Ball(tangent if type(tangent) is number else number(tangent), CONSTANT, self.edges)

    def _entered(self, numbers: list[Any]) -> list[Ball]:
        tape = self.edges
        start = len(tape)
        tape.extend([()] * len(numbers))
        return [Ball(number, slot, tape) for slot, number in enumerate(numbers, start)]

    def detached(self, value: ObjectArray) -> ObjectArray:
        """Return the balls as constants."""
        still = self.arithmetic.still
        entries = value.ravel().tolist()
        balls = [Ball(still(x.value), CONSTANT, self.edges) if type(x) is Ball else x for x in entries]
        return filled(value.shape, balls)

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> ObjectArray:
        """Apply an operator to arrays of balls."""
        if operator.structure is not None:
            result = self._lifted(np.asarray(operator.structure.forward(self)(*arguments, **attributes), dtype=object))
            quotients = self.arithmetic.allows_quotients() and _is_product(operator)
            return self._with_quotient_noise(arguments, result) if quotients else result
        derivative = self.arithmetic.derivative(operator)
        if attributes:
            derivative = bound(derivative, **attributes)
        if len(arguments) == 1:
            (x,) = arguments
            return filled(x.shape, self._unary(derivative, x.ravel().tolist()))
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        columns = [(a if a.shape == shape else np.broadcast_to(a, shape)).ravel().tolist() for a in arguments]
        if len(columns) == 2:  # noqa: PLR2004 (the common case, without packing tuples)
            return filled(shape, self._binary(derivative, *columns))
        return filled(shape, [self._many(derivative, balls) for balls in zip(*columns, strict=True)])

    def _unary(self, derivative: Derivative, balls: list[Ball]) -> list[Ball]:
        tape, number = self.edges, self.arithmetic.number
        results = []
        for ball in balls:
            value, slope = derivative(ball.value)
            slot = CONSTANT
            if ball.slot >= 0:
                slot = len(tape)
                tape.append(((ball.slot, slope),))
            results.append(Ball(value if type(value) is number else number(value), slot, tape))
        return results

    def _binary(self, derivative: Derivative, lefts: list[Ball], rights: list[Ball]) -> list[Ball]:
        tape, number = self.edges, self.arithmetic.number
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
            results.append(Ball(value if type(value) is number else number(value), slot, tape))
        return results

    def _many(self, derivative: Derivative, balls: tuple[Any, ...]) -> Ball:
        value, *partials = derivative(*[b.value if type(b) is Ball else b for b in balls])
        tape = self.edges
        edges = tuple([(b.slot, p) for b, p in zip(balls, partials, strict=True) if type(b) is Ball and b.slot >= 0])
        number = self.arithmetic.number
        scalar = value if type(value) is number else number(value)
        if not edges:
            return Ball(scalar, CONSTANT, tape)
        tape.append(edges)
        return Ball(scalar, len(tape) - 1, tape)

    def _with_quotient_noise(self, arguments: list[ObjectArray], products: ObjectArray) -> ObjectArray:
        """Return the same products, with rounding noise in the changes of their slopes by their factors."""
        factors = {ball.slot: ball.value for array in arguments for ball in array.ravel().tolist() if ball.slot >= 0}
        return filled(products.shape, [self._noisy(factors, product) for product in products.ravel().tolist()])

    def _noisy(self, factors: Mapping[int, Any], product: Ball) -> Ball:
        if product.slot < 0:
            return product
        slopes = self.sweep({product.slot: 1})
        own = {slot: value for slot, value in factors.items() if slot < len(slopes) and slopes[slot] is not None}
        change = sum((relative_change(value) for value in own.values()), relative_change(0))
        noise = [(slot, change_noise(coefficient(slopes[slot], 0), change, self.arithmetic.bits)) for slot in own]
        self.edges.append(((product.slot, ONE), *noise))
        return Ball(product.value, len(self.edges) - 1, self.edges)

    def _extremum(self, name: str) -> Callable[[Ball, Ball], Ball]:
        derivative = self.arithmetic.derivative(operator_table()[name])
        return lambda x, y: self._many(derivative, (x, y))

    def _lifted(self, array: ObjectArray) -> ObjectArray:
        """Convert the plain numbers that NumPy inserts (neutral elements of empty sums, zeros) to constants."""
        entries, number = array.ravel().tolist(), self.arithmetic.number
        if {Ball}.issuperset(map(type, entries)):
            return array
        balls = [x if type(x) is Ball else Ball(number(int(x or 0)), CONSTANT, self.edges) for x in entries]
        return filled(array.shape, balls)

    def push(self, starts: Mapping[int, Any]) -> list[Any]:
        """Return the tangent of every slot, given those of some slots; None for slots that do not depend on these."""
        tangents: list[Any] = [None] * len(self.edges)
        for slot, value in starts.items():
            tangents[slot] = value
        for slot in range(min(starts, default=len(tangents)), len(tangents)):
            for parent, partial in self.edges[slot]:
                tangent = tangents[parent]
                if tangent is not None:
                    share = tangent if partial is ONE else tangent * partial
                    before = tangents[slot]
                    tangents[slot] = share if before is None else before + share
        return tangents

    def sweep(self, outputs: Mapping[int, arb], factors: Mapping[int, arb] | None = None) -> list[Any]:
        """Return the cotangent of every slot, given those of some slots; None for slots that receive none.

        If a slot has a factor, its total cotangent is multiplied by that.
        """
        cotangents: list[Any] = [None] * len(self.edges)
        for slot, value in outputs.items():
            cotangents[slot] = value
        edges = self.edges
        for slot in range(max(outputs, default=-1), -1, -1):
            cotangent = cotangents[slot]
            if cotangent is None:
                continue
            if factors and slot in factors:
                cotangent = cotangents[slot] = cotangent * factors[slot]
            for parent, partial in edges[slot]:
                share = cotangent if partial is ONE else cotangent * partial
                before = cotangents[parent]
                cotangents[parent] = share if before is None else before + share
        return cotangents


def filled(shape: tuple[int, ...], entries: list[Any]) -> ObjectArray:
    """Return an object array of this shape with these entries, row by row."""
    return np.fromiter(entries, dtype=object, count=len(entries)).reshape(shape)


def _is_product(operator: Operator) -> bool:
    """Return True if a structural operator multiplies entries of an array with each other.

    Its slopes by an argument depend on that argument, and it has no kinks.
    """
    saves = {} if operator.structure is None else operator.structure.saves
    return not operator.kinks and any(name in saved for name, saved in saves.items())
