"""Inputs of a function at which one of its operators is on an edge."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from refgrad.checking.libraries.trees import Arrays
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing import TRACERS
from refgrad.checking.tracing.recorder import Applied, Array, Recorder, values_elsewhere
from refgrad.interpreter import NUMPY_FUNCTIONS
from refgrad.operators import Operator
from refgrad.operators.expression import Formula, FormulaError

ENTRIES = 8
"""Number of entries of an input that are tried until an operator depends on one."""

OFFSETS = np.array([0.0, *(sign * 2.0**power for power in range(-6, 7) for sign in (-1, 1))])
"""Distances by which an entry is moved to find both sides of an edge."""


@dataclass(frozen=True, slots=True)
class InnerEdge:
    """An edge of an operator in a trace: the index of the step, and of the operator's condition."""

    step: int
    condition: int


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """The steps that a function took at a point, up to the first that could not be recorded."""

    subject: CheckedFunction
    recorder: Recorder

    def edges(self) -> list[InnerEdge]:
        """Return the edges of the operators, in the order of the steps."""
        return [
            InnerEdge(number, condition)
            for number, step in enumerate(self.recorder.steps)
            if isinstance(step, Applied)
            for condition in range(len(conditions(step.operator)))
        ]

    def inputs_on(self, edge: InnerEdge) -> tuple[Any, ...] | None:
        """Return arguments of the function, of which one entry is moved until an operator is on its edge, or None.

        The distance from the edge may be one rounding error.
        """
        tree, point = self.subject.arguments_tree, self.subject.point
        for which, position in enumerate(self.subject.positions):
            for flat in range(min(point[which].size, ENTRIES) if position < len(tree.leaves) else 0):
                moved = self._moved(edge, which, flat)
                if moved is not None:
                    return tuple(tree.build(self.subject.arguments(moved)[: len(tree.leaves)]))
        return None

    def _moved(self, edge: InnerEdge, which: int, flat: int) -> Arrays | None:
        """Move one entry until the first entry of the condition's residual is zero. Return None if it never is.

        Entries of the residual that do not depend on this entry keep their values.
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
        """Return the residual of the edge's condition at other inputs, entry by entry: zero on the edge."""
        recorder = self.recorder
        values = values_elsewhere(recorder.steps[: edge.step], dict(zip(recorder.inputs, point, strict=False)))
        step = recorder.steps[edge.step]
        assert isinstance(step, Applied)
        arguments = [values[name] for name in step.arguments]
        return np.asarray(conditions(step.operator)[edge.condition](*arguments, **step.attributes))


def watched(subject: CheckedFunction) -> Watched | None:
    """Trace a function up to its first call without a row. Return None if its engine cannot be traced."""
    recorder = Recorder()
    tracer = TRACERS.get(subject.engine.adapter.name)
    if tracer is None or any(kind.is_complex for kind in subject.kinds):
        return None
    with suppress(Exception), np.errstate(all="ignore"):  # a traced function may raise any exception
        tracer(subject, recorder)
    return Watched(subject, recorder)


@cache
def conditions(operator: Operator) -> tuple[Callable[..., Any], ...]:
    """Return functions of the arguments and attributes of an operator that are zero on its edges."""
    parameters = (*operator.argument_names, *operator.attribute_names)
    sources = dict.fromkeys(
        f"({ast.unparse(node.left)}) - ({ast.unparse(node.comparators[0])})"
        for edge in operator.edges
        for node in _comparisons(edge.where)
        if isinstance(node.ops[0], ast.Eq)
    )
    return tuple(Formula(source).function(parameters, NUMPY_FUNCTIONS) for source in sources)


def _comparisons(where: str) -> list[ast.Compare]:
    """Return the comparisons in a condition; none if the condition is a description."""
    try:
        return [node for node in ast.walk(Formula(where).tree) if isinstance(node, ast.Compare)]
    except FormulaError:
        return []


def root(function: Callable[[Any], float], numbers: Array) -> Any | None:
    """Return where a function is zero or changes its sign among some numbers, or None."""
    numbers = np.sort(numbers)
    values = [function(number) for number in numbers]
    for number, value in zip(numbers, values, strict=True):
        if value == 0 and any(other != 0 for other in values):
            return number
    for (low, left), (high, right) in pairwise(zip(numbers, values, strict=True)):
        if left * right < 0:
            return bisected(function, low, high, left)
    return None


def bisected(function: Callable[[Any], float], low: Any, high: Any, left: float) -> Any:
    """Return a zero between two numbers, or the upper of two adjacent numbers around it."""
    while (middle := low + (high - low) / 2) not in {low, high}:
        value = function(middle)
        if value == 0:
            return middle
        low, high = (middle, high) if value * left > 0 else (low, middle)
    return high
