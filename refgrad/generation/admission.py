"""Conditions for applying an operator to values, and the distance of values from kinks."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation.attributes.rules import accepts, admits
from refgrad.generation.operands import bound
from refgrad.generation.profile import MAGNITUDES
from refgrad.interpreter import NUMPY_FUNCTIONS, keywords, noted, noted_once
from refgrad.operators import Formula, Operator, operator_table
from refgrad.operators.structures import kept_shape, reduced_axes
from refgrad.scenario import Apply

Array = npt.NDArray[Any]

MARGIN: Final = MAGNITUDES["margin"]
"""Smallest distance from a kink, or between entries that may tie, unless values on the kink are intended."""

AGREEMENT: Final = 1e-9
"""Tolerance of two ways to compute a composite, relative to its largest entry, or to 1 if that is larger."""


@dataclass(frozen=True, eq=False)
class AppliedOperator:
    """An operator, its operands, and its attributes with their defaults filled in."""

    operator: Operator
    arrays: list[Array]
    attributes: Mapping[str, Any]
    result: Any = None
    """The result, if this is a step of a composite."""

    @classmethod
    def of(cls, step: Apply, values: Mapping[str, Array]) -> AppliedOperator:
        """Return the operator that a step applies to values."""
        operator = operator_table()[step.operator]
        return cls(operator, [values[name] for name in step.arguments], operator.bind(keywords(step)))

    @cached_property
    def steps(self) -> list[AppliedOperator]:
        """Steps of a composite, the last of which computes its result; empty for another operator.

        Raises ValueError if shapes or attributes do not fit.
        """
        if self.operator.composite is None:
            return []
        return [
            AppliedOperator(entry.operator, [x.array for x in entry.operands], entry.attributes, entry.array)
            for entry in noted_once(self.operator, self.arrays, self.attributes).entries
            if entry.operator is not None
        ]

    @property
    def in_domain(self) -> bool:
        """True if every entry lies in the operator's domain."""
        domain = _domain(self.operator)
        if domain is not None and not np.all(domain(*self.arrays, **self.attributes)):
            return False
        return all(step.in_domain for step in self.steps)

    @property
    def on_limit(self) -> bool:
        """True if an entry lies on an edge of the operator at which the derivative is a limit."""
        return any(bool(np.any(holds(*self.arrays, **self.attributes))) for holds in _limits(self.operator))

    @property
    def well_formed(self) -> bool:
        """True if the operands fit together and the attributes fit them. NumPy's functions may accept others, too."""
        operator, shapes = self.operator, tuple(np.shape(array) for array in self.arrays)
        if operator.operands == "same" and len(set(shapes)) > 1:
            return False
        if operator.shapes and bound(operator.shapes, shapes) is None:
            return False
        return admits(operator, shapes[0]) and accepts(operator, shapes, self.attributes)

    def distance_to_kink(self, result: Array) -> float:
        """Return the distance of the nearest entry from a kink: 0 on one, infinite if the operator has none."""
        operator = self.operator
        if operator.composite is not None:
            return min((step.distance_to_kink(step.result) for step in self.steps), default=math.inf)
        if operator.elementwise:
            gaps = [np.abs(gap(*self.arrays, **self.attributes)) for gap in _gaps(operator)]
            return min((float(gap.min()) for gap in gaps if gap.size), default=math.inf)
        if not has_ties(operator):
            return math.inf
        (axis,) = (self.attributes[attribute.name] for attribute in operator.attributes if attribute.type == "axes")
        return _distance_to_tie(self.arrays[0], result, axis)

    def well_conditioned(self, result: Array) -> bool:
        """Return True if the steps by which engines compute a composite give the same result as its own steps.

        They do not for a matrix that is singular up to rounding, since computing its inverse divides by a rounding
        error.
        """
        if self.operator.composite is None or self.operator.composite.computed is None or not result.size:
            return True
        computed = noted(self.operator, self.arrays, self.attributes, computed=True).result.array
        apart = np.abs(computed.astype(float) - result)
        return bool(np.all(apart <= AGREEMENT * max(1.0, float(np.abs(result).max()))))


def has_ties(operator: Operator) -> bool:
    """Return True if the operator reduces along axes and its edges are ties of the entry that it picks, not points."""
    points = any(edge.examples for edge in operator.kinks)
    return bool(operator.kinks) and not points and any(attribute.type == "axes" for attribute in operator.attributes)


def _distance_to_tie(array: Array, result: Array, axis: int | tuple[int, ...] | None) -> float:
    axes = reduced_axes(axis, array.ndim)
    distance = np.abs(array - result.reshape(kept_shape(array.shape, axis)))
    count = math.prod(array.shape[i] for i in axes)
    rest = [i for i in range(array.ndim) if i not in axes]
    groups = distance.transpose(*rest, *axes).reshape(-1, count) if distance.size else distance
    if groups.size == 0 or count == 1:
        return math.inf
    return float(np.partition(groups, 1, axis=-1)[:, 1].min())


@cache
def _domain(operator: Operator) -> Callable[..., Any] | None:
    return None if operator.domain is None else operator.compiled(operator.domain, NUMPY_FUNCTIONS)


@cache
def _limits(operator: Operator) -> tuple[Callable[..., Any], ...]:
    limits = (Formula(edge.where) for edge in operator.edges if edge.kind == "limit")
    return tuple(operator.compiled(where, NUMPY_FUNCTIONS) for where in limits)


@cache
def _gaps(operator: Operator) -> tuple[Callable[..., Any], ...]:
    """Return functions that vanish where a comparison in the formula, or in an edge's condition, changes."""
    assert operator.formula is not None
    conditions = [operator.formula, *(Formula(edge.where) for edge in operator.edges)]
    sides = dict.fromkeys(
        f"({ast.unparse(node.left)}) - ({ast.unparse(node.comparators[0])})"
        for condition in conditions
        for node in ast.walk(condition.tree)
        if isinstance(node, ast.Compare)
    )
    return tuple(operator.compiled(Formula(source), NUMPY_FUNCTIONS) for source in sides)
