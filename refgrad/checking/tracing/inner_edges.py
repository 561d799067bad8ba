"""Inputs of a function at which an operator inside of it is on an edge: one entry is moved until it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from refgrad.checking.libraries.numbers import Arrays
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.recorder import Applied, Array, Given, Recorder
from refgrad.checking.tracing.trace import TRACERS
from refgrad.interpreter import NUMPY_FUNCTIONS, numpy_forward
from refgrad.operators import Operator
from refgrad.operators.expression import Formula, FormulaError

ENTRIES = 8
"""So many entries are tried one after the other, until one is found that an operator depends on."""

OFFSETS = np.array([0.0, *(sign * 2.0**power for power in range(-6, 7) for sign in (-1, 1))])
"""How far an entry is moved to find on which side of an edge an operator is there."""

HALVINGS = 120
"""Numbers that are no neighbours yet after so many halvings lie at a number that is tiny beside them."""


@dataclass(frozen=True, slots=True)
class InnerEdge:
    """An edge of an operator inside of a function: its place in the trace, and which of its conditions."""

    step: int
    condition: int


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What a function did at a point, as far as it could be watched."""

    subject: CheckedFunction
    steps: tuple[Given | Applied, ...]
    inputs: tuple[str, ...]

    def edges(self) -> list[InnerEdge]:
        """Return the edges of the operators, in the order of the steps."""
        return [
            InnerEdge(number, condition)
            for number, step in enumerate(self.steps)
            if isinstance(step, Applied)
            for condition in range(len(conditions(step.operator)))
        ]

    def inputs_on(self, edge: InnerEdge) -> tuple[Any, ...] | None:
        """Return the function's arguments with which an operator is on its edge, in the form in which they came."""
        point = self.onto(edge)
        if point is None:
            return None
        tree = self.subject.arguments_tree
        return tuple(tree.build(self.subject.arguments(point)[: len(tree.leaves)]))

    def onto(self, edge: InnerEdge) -> Arrays | None:
        """Return inputs that differ in one entry, with which the operator is on its edge or right beside it."""
        count = len(self.subject.arguments_tree.leaves)
        own = [which for which, position in enumerate(self.subject.positions) if position < count]
        for which in own:
            array = self.subject.point[which]
            for flat in range(min(array.size, ENTRIES)):
                found = self._moved(edge, which, flat)
                if found is not None:
                    return found
        return None

    def _moved(self, edge: InnerEdge, which: int, flat: int) -> Arrays | None:
        """Move one entry until the first entry of the condition's residual is zero; None where it does not get there.

        The condition's other entries stay where they are, as far as they do not depend on the same entry.
        """
        point = self.subject.point

        def moved(number: Any) -> Arrays:
            array = point[which].copy()
            array.flat[flat] = number
            return (*point[:which], array, *point[which + 1 :])

        def residual(number: Any) -> float:
            with np.errstate(all="ignore"):
                return float(self.residual(edge, moved(number)).flat[0])

        with suppress(ValueError, IndexError, TypeError, ArithmeticError):
            number = root(residual, point[which].flat[flat] + OFFSETS.astype(point[which].dtype))
            return None if number is None else moved(number)
        return None

    def residual(self, edge: InnerEdge, point: Arrays) -> Array:
        """Return how far the operator is from its edge, entry by entry, if the inputs are others."""
        values: dict[str, Array] = dict(zip(self.inputs, point, strict=False))
        for step in self.steps[: edge.step]:
            if isinstance(step, Given):
                values.setdefault(step.name, step.array)
            else:
                arguments = [values[name] for name in step.arguments]
                values[step.name] = np.asarray(numpy_forward(step.operator)(*arguments, **step.attributes))
        step = self.steps[edge.step]
        assert isinstance(step, Applied)
        arguments = [values[name] for name in step.arguments]
        return np.asarray(conditions(step.operator)[edge.condition](*arguments, **step.attributes))


def watched(subject: CheckedFunction) -> Watched | None:
    """Watch a function at its point, up to what no row of the operator table tells; None where it cannot be watched."""
    recorder = Recorder()
    tracer = TRACERS.get(subject.engine.adapter.name)
    if tracer is None or any(kind.is_complex for kind in subject.kinds):
        return None
    with suppress(Exception), np.errstate(all="ignore"):  # whatever a function raises where it is watched
        tracer(subject, recorder)
    return Watched(subject, tuple(recorder.steps), recorder.inputs)


@cache
def conditions(operator: Operator) -> tuple[Callable[..., Any], ...]:
    """Return the differences that are zero on the edges of an operator, of its arguments and attributes."""
    parameters = (*operator.argument_names, *operator.attribute_names)
    sources = dict.fromkeys(
        f"({ast.unparse(node.left)}) - ({ast.unparse(node.comparators[0])})"
        for edge in operator.edges
        for node in _comparisons(edge.where)
        if isinstance(node.ops[0], ast.Eq)
    )
    return tuple(Formula(source).function(parameters, NUMPY_FUNCTIONS) for source in sources)


def _comparisons(where: str) -> list[ast.Compare]:
    """Return the comparisons of a condition; none where it is said in words."""
    try:
        return [node for node in ast.walk(Formula(where).tree) if isinstance(node, ast.Compare)]
    except FormulaError:
        return []


def root(function: Callable[[Any], float], numbers: Array) -> Any | None:
    """Return where a function is zero or changes its sign, between some numbers; None where it does not."""
    numbers = np.sort(numbers)
    values = [function(number) for number in numbers]
    for number, value in zip(numbers, values, strict=True):
        if value == 0 and any(other != 0 for other in values):
            return number
    for low, high, left, right in _pairs(numbers, values):
        if left * right < 0:
            return bisected(function, low, high, left)
    return None


def _pairs(numbers: Array, values: list[float]) -> Iterator[tuple[Any, Any, float, float]]:
    return zip(numbers[:-1], numbers[1:], values[:-1], values[1:], strict=True)


def bisected(function: Callable[[Any], float], low: Any, high: Any, left: float) -> Any:
    """Return a zero between two numbers, or the second of two neighbours on either side of it."""
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        if middle in {low, high}:
            break
        value = function(middle)
        if value == 0:
            return middle
        low, high = (middle, high) if value * left > 0 else (low, middle)
    return high
