"""Conditions for applying an operator to values, and the distance of values from kinks."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from refgrad.generation.attributes.rules import accepts, admits
from refgrad.generation.operands import bound
from refgrad.generation.profile import MAGNITUDES
from refgrad.interpreter import NUMPY_FUNCTIONS, keywords, noted
from refgrad.operators import Formula, Operator, operator_table
from refgrad.operators.structures import kept_shape, reduced_axes
from refgrad.scenario import Apply

Array = npt.NDArray[Any]

MARGIN: Final = MAGNITUDES["margin"]
"""Smallest distance from a kink, or between entries that may tie, unless values on the kink are intended."""

AGREEMENT: Final = 1e-9
"""Tolerance of two ways to compute a composite, relative to its largest entry, or to 1 if that is larger."""

Inner: TypeAlias = tuple[Operator, list[Array], Mapping[str, Any], Array]
"""One application within a composite: operator, arrays, attributes and result."""


def in_domain(
    operator: Operator, arrays: list[Array], attributes: Mapping[str, Any], inside: Sequence[Inner] | None = None
) -> bool:
    """Return True if every entry lies in the operator's domain.

    ``attributes`` have their defaults filled in. ``inside`` holds the applications within a composite, if known.
    """
    domain = _domain(operator)
    if domain is not None and not np.all(domain(*arrays, **attributes)):
        return False
    if operator.composite is None:
        return True
    return all(in_domain(*inner[:3]) for inner in inside or inside_of(operator, arrays, attributes))


def distance_to_kink(
    operator: Operator,
    arrays: list[Array],
    attributes: Mapping[str, Any],
    result: Array,
    inside: Sequence[Inner] | None = None,
) -> float:
    """Return the distance of the nearest entry from a kink: 0 on one, infinite if the operator has none.

    ``inside`` holds the applications within a composite, if known.
    """
    if operator.composite is not None:
        inner = inside or inside_of(operator, arrays, attributes)
        return min(itertools.starmap(distance_to_kink, inner), default=math.inf)
    if operator.elementwise:
        gaps = [np.abs(gap(*arrays, **attributes)) for gap in _gaps(operator)]
        return min((float(gap.min()) for gap in gaps if gap.size), default=math.inf)
    if not has_ties(operator):
        return math.inf
    (axis,) = (attributes[attribute.name] for attribute in operator.attributes if attribute.type == "axes")
    return _distance_to_tie(arrays[0], result, axis)


def inside_of(operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> list[Inner]:
    """Return the applications within a composite; the last one computes its result.

    Raises ValueError if shapes or attributes do not fit.
    """
    return [
        (entry.operator, [operand.array for operand in entry.operands], entry.attributes, entry.array)
        for entry in noted(operator, arrays, attributes).entries
        if entry.operator is not None
    ]


def well_conditioned(operator: Operator, arrays: list[Array], attributes: Mapping[str, Any], result: Array) -> bool:
    """Return True if the steps by which engines compute a composite give the same result as its own steps.

    They do not for a matrix that is singular up to rounding, since computing its inverse divides by a rounding error.
    """
    if operator.composite is None or operator.composite.computed is None or not result.size:
        return True
    computed = noted(operator, arrays, attributes, computed=True).result.array
    apart = np.abs(computed.astype(float) - result)
    return bool(np.all(apart <= AGREEMENT * max(1.0, float(np.abs(result).max()))))


def called(step: Apply, values: Mapping[str, Array]) -> tuple[Operator, list[Array], dict[str, Any]]:
    """Return the operator of an application, its arrays, and its attributes with their defaults filled in."""
    operator = operator_table()[step.operator]
    return operator, [values[name] for name in step.arguments], operator.bind(keywords(step))


def well_formed(operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> bool:
    """Return True if the operands fit together and the attributes fit them.

    NumPy's functions may accept others as well. ``attributes`` have their defaults filled in.
    """
    shapes = tuple(np.shape(array) for array in arrays)
    if operator.operands == "same" and len(set(shapes)) > 1:
        return False
    if operator.shapes and bound(operator.shapes, shapes) is None:
        return False
    return admits(operator, shapes[0]) and accepts(operator, shapes, attributes)


def has_ties(operator: Operator) -> bool:
    """Return True if the operator reduces along axes and its edges are ties of the entry that it picks, not points."""
    points = any(edge.examples for edge in operator.kinks)
    return bool(operator.kinks) and not points and any(attribute.type == "axes" for attribute in operator.attributes)


def on_limit(operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> bool:
    """Return True if an entry lies on an edge of the operator at which the derivative is a limit."""
    return any(bool(np.any(holds(*arrays, **attributes))) for holds in _limits(operator))


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
