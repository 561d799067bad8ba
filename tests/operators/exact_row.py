"""What an elementwise row, and its formula, say at a point to many digits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from typing import Any

import mpmath

from refgrad.operators.expression import Formula
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.table import Operator
from tests.operators.functions.digits import DIGITS_FUNCTIONS
from tests.operators.symbolic_derivative import derivative

Point = Mapping[str, Any]

BEYOND = 3.0
"""Points are drawn from an interval this many times as wide as the sample range."""


@dataclass(frozen=True)
class ExactRow:
    """One elementwise row, ready to be evaluated by mpmath and differentiated by SymPy."""

    operator: Operator

    @property
    def formula(self) -> Formula:
        """The row's formula."""
        assert self.operator.formula is not None
        return self.operator.formula

    @property
    def forward(self) -> Formula:
        """The row's way to compute it."""
        assert self.operator.forward is not None
        return self.operator.forward

    @property
    def rounding(self) -> Formula:
        """How an engine may compute it."""
        assert self.operator.rounding is not None
        return self.operator.rounding

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Arguments and attributes, in order."""
        return (*self.operator.argument_names, *self.operator.attribute_names)

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The arguments that are boolean."""
        return frozenset(argument.name for argument in self.operator.arguments if argument.dtype == "bool")

    @cached_property
    def bounds(self) -> Mapping[str, tuple[str, float, float]]:
        """Type and bounds of the attributes that have bounds."""
        bounded = (attribute for attribute in self.operator.attributes if attribute.type in {"int", "real"})
        return {attribute.name: (attribute.type, *attribute.bounds) for attribute in bounded}

    @cached_property
    def slopes(self) -> Mapping[str, Callable[..., Any]]:
        """SymPy's derivative of the formula by each argument."""
        names = self.operator.differentiable_arguments
        return {name: derivative(self.formula, self.parameters, name, self.conditions) for name in names}

    def at(self, expression: Formula, point: Point, out: Any = None) -> Any:
        """Evaluate one of the row's expressions at a point."""
        return compiled(expression, (*self.parameters, "out"))(**point, out=out)

    def partials(self, point: Point) -> dict[str, Any]:
        """Return the row's own partials at a point."""
        out = self.at(self.forward, point)
        return {name: self.at(partial, point, out) for name, partial in self.operator.partials.items()}

    def admits(self, point: Point) -> bool:
        """Whether the point is in the domain."""
        domain = self.operator.domain
        return domain is None or bool(self.at(domain, point))

    def points(self, count: int) -> list[Point]:
        """Return points of the domain, drawn from the sample ranges and from beyond them; fewer if they are rare."""
        random = Random(self.operator.name)  # noqa: S311 (points of a test)
        drawn = ({name: self._number(random, name) for name in self.parameters} for _ in range(count * 40))
        admitted: Iterator[Point] = (point for point in drawn if self.admits(point))
        return [point for point, _ in zip(admitted, range(count), strict=False)]

    def _number(self, random: Random, name: str) -> Any:
        if name in self.conditions:
            return random.choice([True, False])
        if name in self.bounds:
            return self._attribute(random, *self.bounds[name])
        low, high = self.operator.samples.get(name, next(iter(self.operator.samples.values())))
        middle, half = (low + high) / 2, (high - low) / 2
        return mpmath.mpf(middle + random.uniform(-1, 1) * half * random.choice([1.0, BEYOND]))

    def _attribute(self, random: Random, kind: str, low: float, high: float) -> Any:
        return random.randint(int(low), int(high)) if kind == "int" else mpmath.mpf(random.uniform(low, high))

    def chooses(self) -> bool:
        """Whether the formula takes a branch, or calls a function with a kink, on what it is differentiated by."""
        arguments = set(self.operator.differentiable_arguments)
        for node in ast.walk(self.formula.tree):
            match node:
                case ast.Compare():
                    pass
                case ast.Call(func=ast.Name(id=name)) if FUNCTIONS[name].nature != "analytic":
                    pass
                case _:
                    continue
            if any(isinstance(n, ast.Name) and n.id in arguments for n in ast.walk(node)):
                return True
        return False


@cache
def compiled(expression: Formula, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """Return an expression as a function of numbers of many digits."""
    return expression.function(parameters, DIGITS_FUNCTIONS)


def describe(point: Point) -> str:
    """Write a point into a message."""
    return ", ".join(f"{name} = {mpmath.nstr(value, 8)}" for name, value in point.items())
