"""Is an edge of a row what the formula does there, and is it justified?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from refgrad.operators.exact import digits
from refgrad.operators.exact_row import ExactRow, Point, shown
from refgrad.operators.expression import Expression, ExpressionError
from refgrad.operators.table import Edge

Problems = Iterator[str]

DIGITS = 400
NEAR = "1e-120"
"""How near to an edge the formula is differentiated; what is left of the way there is far below ``TOLERANCE``."""

TOLERANCE = 1e-15
MEAN_TOLERANCE = 1e-9
DIRECTIONS = 40


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
        if self.edge.kind == "kink" and set(self.edge.subdifferential) != set(arguments):
            yield f"needs the legal interval of each of {list(arguments)}"
        yield from (
            f"the reference {value} by {name} is outside of the legal interval [{low}, {high}]"
            for name, (low, high) in self.edge.subdifferential.items()
            if not low <= (value := self.edge.reference.get(name, np.nan)) <= high
        )
        for example in self.edge.examples:
            if missing := set(self.row.parameters) - set(example):
                yield f"the example {dict(example)} does not give {min(missing)}"
            else:
                yield from self.example({name: mpmath.mpf(value) for name, value in example.items()})

    def example(self, point: Point) -> Problems:
        place = shown(point)
        try:
            met = self.row.at(Expression(self.edge.where), point)
        except ExpressionError as error:
            yield f"where: {error}"
            return
        if not met:
            yield f"the example {place} does not meet {self.edge.where!r}"
            return
        if not self.row.admits(point):
            yield f"the example {place} is outside of the domain"
        try:
            stated = self.row.partials(point)
        except (ArithmeticError, ValueError) as error:
            yield f"the row's partials cannot be evaluated at {place}: {type(error).__name__}"
            return
        for name, value in self.edge.reference.items():
            if not _near(stated[name], value):
                yield f"the row's partial by {name} is {mpmath.nstr(stated[name], 8)} at {place}, the reference {value}"
        yield from self.kink(point, place) if self.edge.kind == "kink" else self.limit(point, place)

    def kink(self, point: Point, place: str) -> Problems:
        """The legal intervals are the hulls of the slopes around, and the reference is a mean of those gradients."""
        gradients = self.gradients(point)
        for index, (name, (low, high)) in enumerate(self.edge.subdifferential.items()):
            hull = (min(g[index] for g in gradients), max(g[index] for g in gradients))
            if not (_near(hull[0], low) and _near(hull[1], high)):
                found = [float(mpmath.nstr(end, 8)) for end in hull]
                yield f"the legal interval of {name} is [{low}, {high}], but the slopes around {place} span {found}"
        corners = np.array([[float(slope) for slope in gradient] for gradient in gradients])
        reference = [float(self.edge.reference.get(name, np.nan)) for name in self.edge.subdifferential]
        if np.isfinite(reference).all() and not _is_mean(corners, reference):
            yield f"the reference {dict(self.edge.reference)} is no mean of the gradients around {place}"

    def gradients(self, point: Point) -> list[tuple[Any, ...]]:
        """The formula's gradient very near to the point, in many directions."""
        random = Random(0)  # noqa: S311 (directions of a test)
        names = list(self.edge.subdifferential)
        found = []
        for _ in range(DIRECTIONS):
            moved = {name: point[name] + random.uniform(-1, 1) * mpmath.mpf(NEAR) for name in names}
            found.append(tuple(self.row.slopes[name](**{**point, **moved}) for name in names))
        return found

    def limit(self, point: Point, place: str) -> Problems:
        """The operator's value and its stated slopes are those that the formula has beside the point."""
        value = self.row.at(self.row.forward, point)
        if self.edge.value is not None and not _near(value, self.edge.value):
            yield f"the value at {place} is {mpmath.nstr(value, 8)}, the edge says {self.edge.value}"
        for name, (low, high) in self.edge.subdifferential.items():
            beside = self.slopes_beside(point, name)
            if not beside:
                yield f"the formula has no slope by {name} beside {place}"
            elif not all(_near(slope, low) and _near(slope, high) for slope in beside):
                found = sorted({mpmath.nstr(slope, 8) for slope in beside})
                yield f"the slope by {name} is [{low}, {high}], but beside {place} the formula's are {found}"

    def slopes_beside(self, point: Point, name: str) -> list[Any]:
        """Move the argument itself; where the formula has no slope along it, move the others, one by one."""
        others = [other for other in self.row.operator.differentiable_arguments if other != name]
        for group in ([name], others):
            found = []
            for moved in group:
                for side in (-1, 1):
                    near = {**point, moved: point[moved] + side * mpmath.mpf(NEAR)}
                    slope = self.slope(near, name) if self.row.admits(near) else None
                    found += [] if slope is None else [slope]
            if found:
                return found
        return []

    def slope(self, point: Point, name: str) -> Any | None:
        try:
            slope = self.row.slopes[name](**point)
        except (ArithmeticError, ValueError):
            return None
        return slope if mpmath.isfinite(slope) else None


def _near(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= TOLERANCE * max(1, abs(b)))


def _is_mean(corners: npt.NDArray[np.float64], point: list[float]) -> bool:
    """Whether weights that are not negative and sum to one make the point of the corners."""
    _, rest = nnls(np.vstack([corners.T, np.ones(len(corners))]), np.array([*point, 1.0]))
    return bool(rest < MEAN_TOLERANCE)
