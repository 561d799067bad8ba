"""The lint of a row's edges: each is what the formula does there, and is justified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from refgrad.operators.expression import Formula, FormulaError
from refgrad.operators.table import Edge
from tests.operators.exact_row import ExactRow, Point, describe
from tests.operators.functions.digits import digits

Problems = Iterator[str]

DIGITS = 400
NEAR = "1e-120"
"""How near to an edge the formula is differentiated; what is left of the way there is far below ``TOLERANCE``."""

TOLERANCE = 1e-15
MEAN_TOLERANCE = 1e-9
DIRECTIONS = 40
ASIDE = 1e-30
"""A direction almost along an axis still leaves every other one, where another kink may lie, by so much."""


def edge_problems(row: ExactRow, edge: Edge) -> list[str]:
    """Return what is wrong with an edge of an elementwise row."""
    with digits(DIGITS):
        return list(_EdgeLint(row, edge).problems())


@dataclass(frozen=True)
class _EdgeLint:
    """One edge of an elementwise row."""

    row: ExactRow
    edge: Edge

    def problems(self) -> Problems:
        arguments = self.row.operator.differentiable_arguments
        if not self.edge.examples:
            yield "has no example"
        if self.edge.kind != "limit" and set(self.edge.subdifferential) != set(arguments):
            yield f"needs the legal interval of each of {list(arguments)}"
        for example in self.edge.examples:
            if missing := set(self.row.parameters) - set(example):
                yield f"the example {dict(example)} does not give {min(missing)}"
                continue
            point = {name: mpmath.mpf(value) for name, value in example.items()}
            try:
                there = _EdgeLint(self.row, stated_at(self.edge, self.row, point))
            except FormulaError as error:
                yield str(error)
                continue
            yield from there.intervals()
            yield from there.example(point)

    def intervals(self) -> Problems:
        """The reference lies inside of its interval."""
        for name, (low, high) in self.edge.subdifferential.items():
            if not low <= (value := self.edge.reference.get(name, np.nan)) <= high:  # type: ignore[operator]
                yield f"the reference {value} by {name} is outside of the legal interval [{low}, {high}]"

    def example(self, point: Point) -> Problems:
        where = describe(point)
        try:
            met = self.row.at(Formula(self.edge.where), point)
        except FormulaError as error:
            yield f"where: {error}"
            return
        if not met:
            yield f"the example {where} does not meet {self.edge.where!r}"
            return
        if not self.row.admits(point):
            yield f"the example {where} is outside of the domain"
        try:
            stated = self.row.partials(point)
        except (ArithmeticError, ValueError) as error:
            yield f"the row's partials cannot be evaluated at {where}: {type(error).__name__}"
            return
        for name, value in self.edge.reference.items():
            if not _near(stated[name], value):
                yield f"the row's partial by {name} is {mpmath.nstr(stated[name], 8)} at {where}, the reference {value}"
        if self.edge.kind == "limit":
            yield from self.limit(point, where)
            return
        yield from self.kink(point, where)
        if self.jumps(point) != (self.edge.kind == "jump"):
            yield f"the formula {'jumps' if self.edge.kind == 'kink' else 'does not jump'} at {where}"

    def kink(self, point: Point, where: str) -> Problems:
        """The legal intervals are the hulls of the slopes around, and the reference is a mean of those gradients."""
        gradients = self.gradients(point)
        for index, (name, (low, high)) in enumerate(self.edge.subdifferential.items()):
            hull = (min(g[index] for g in gradients), max(g[index] for g in gradients))
            if not (_near(hull[0], low) and _near(hull[1], high)):
                slopes = [float(mpmath.nstr(end, 8)) for end in hull]
                yield f"the legal interval of {name} is [{low}, {high}], but the slopes around {where} span {slopes}"
        ends = np.array([[float(slope) for slope in gradient] for gradient in gradients])
        reference = [float(self.edge.reference.get(name, np.nan)) for name in self.edge.subdifferential]
        if np.isfinite(reference).all() and not _is_mean(ends, reference):
            yield f"the reference {dict(self.edge.reference)} is no mean of the gradients around {where}"

    def around(self, point: Point) -> Iterator[Point]:
        """Points very near, in many directions; among them almost along each axis."""
        random = Random(0)  # noqa: S311 (directions of a test)
        names = list(self.edge.subdifferential)
        steps = [{name: random.uniform(-1, 1) for name in names} for _ in range(DIRECTIONS)]
        steps += [dict.fromkeys(names, ASIDE) | {along: side} for along in names for side in (-1, 1)]
        for step in steps:
            yield {**point, **{name: point[name] + step[name] * mpmath.mpf(NEAR) for name in names}}

    def gradients(self, point: Point) -> list[tuple[Any, ...]]:
        """The formula's gradient very near to the point."""
        names = list(self.edge.subdifferential)
        return [tuple(self.row.slopes[name](**near) for name in names) for near in self.around(point)]

    def jumps(self, point: Point) -> bool:
        """Whether the formula's values very near to the point are far from each other."""
        values = [self.row.at(self.row.formula, near) for near in self.around(point)]
        return not _near(min(values), max(values))

    def limit(self, point: Point, where: str) -> Problems:
        """The operator's value and its stated slopes are those that the formula has next to the point."""
        value = self.row.at(self.row.forward, point)
        if self.edge.value is not None and not _near(value, self.edge.value):
            yield f"the value at {where} is {mpmath.nstr(value, 8)}, the edge says {self.edge.value}"
        for name, (low, high) in self.edge.subdifferential.items():
            near = self.slopes_near(point, name)
            if not near:
                yield f"the formula has no slope by {name} next to {where}"
            elif not all(_near(slope, low) and _near(slope, high) for slope in near):
                limit = sorted({mpmath.nstr(slope, 8) for slope in near})
                yield f"the slope by {name} is [{low}, {high}], but next to {where} the formula's are {limit}"

    def slopes_near(self, point: Point, name: str) -> list[Any]:
        """Move the argument itself; where the formula has no slope along it, move the others, one by one."""
        others = [other for other in self.row.operator.differentiable_arguments if other != name]
        for group in ([name], others):
            slopes = []
            for moved in group:
                for side in (-1, 1):
                    near = {**point, moved: point[moved] + side * mpmath.mpf(NEAR)}
                    slope = self.slope(near, name) if self.row.admits(near) else None
                    slopes += [] if slope is None else [slope]
            if slopes:
                return slopes
        return []

    def slope(self, point: Point, name: str) -> Any | None:
        try:
            slope = self.row.slopes[name](**point)
        except (ArithmeticError, ValueError):
            return None
        return slope if mpmath.isfinite(slope) else None


def stated_at(edge: Edge, row: ExactRow, point: Point) -> Edge:
    """Return the edge with the numbers that its formulas are at a point; raises FormulaError for unknown names."""

    def number(stated: float | str) -> Any:
        return row.at(Formula(stated), point) if isinstance(stated, str) else stated

    return replace(
        edge,
        subdifferential={name: (number(low), number(high)) for name, (low, high) in edge.subdifferential.items()},
        reference={name: number(value) for name, value in edge.reference.items()},
    )


def _near(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= TOLERANCE * max(1, abs(b)))


def _is_mean(ends: npt.NDArray[np.float64], point: list[float]) -> bool:
    """Whether weights that are not negative and sum to one make the point of the corners."""
    _, rest = nnls(np.vstack([ends.T, np.ones(len(ends))]), np.array([*point, 1.0]))
    return bool(rest < MEAN_TOLERANCE)
