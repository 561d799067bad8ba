"""Validation of attribute values: one function for each attribute type for which NumPy's functions accept too much.

They also accept indices from the end that libraries reject, axes modulo the rank, and lengths below -1.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np

from refgrad.generation.attributes.choosing import Site
from refgrad.operators import Attribute
from refgrad.operators.operator import Shape
from refgrad.operators.structures import numpy_index

PAIR: Final = 2


def _exist(axes: Any, rank: int) -> bool:
    """Return True if these axes, or this one, exist and are distinct."""
    listed = axes if isinstance(axes, tuple) else (axes,)
    return all(-rank <= axis < rank for axis in listed) and len({axis % rank for axis in listed}) == len(listed)


def existing_axes(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for axes, or one axis, of the first operand."""
    return _exist(value, site.rank)


def scalar_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for an axis of the first operand. A scalar has the axes of a vector."""
    return _exist(value, max(1, site.rank))


def flat_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for None and for an axis."""
    return value is None or _exist(value, site.rank)


def axes(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for None, which is every axis, and for valid axes. Libraries disagree about an empty tuple."""
    return value is None or (value != () and _exist(value, site.rank))


def new_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for an axis of a result that has one axis more than the first operand."""
    return _exist(value, site.rank + 1)


def axis_pair(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for two axes."""
    return len(value) == PAIR and _exist(value, site.rank)


def new_axis_pair(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for two axes of a result that has one axis more than the first operand."""
    return len(value) == PAIR and _exist(value, site.rank + 1)


def in_bounds(value: Any, _site: Site, attribute: Attribute) -> bool:
    """Return True for the default of the attribute, and for a number between its bounds."""
    low, high = attribute.bounds
    return bool(low <= value <= high) or value == attribute.default


def increasing(_value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if all attributes of this type, which are limits, increase."""
    limits = [site.chosen[other.name] for other in site.operator.attributes if other.type == attribute.type]
    return all(lower < upper for lower, upper in itertools.pairwise(limits))


def option(value: Any, _site: Site, attribute: Attribute) -> bool:
    """Return True for one of the options of the attribute."""
    return value in attribute.options


def inferable(value: Any, _site: Site, _attribute: Attribute) -> bool:
    """Return True if all lengths are given, except that one may be -1."""
    return all(length >= -1 for length in value) and value.count(-1) <= 1


def expanded(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True if all lengths are given, except that those of existing axes may be -1."""
    new = len(value) - site.rank
    return all(length >= (0 if axis < new else -1) for axis, length in enumerate(value))


def readable(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True if the index reads an array of the first operand's shape from one of this shape."""
    read: Shape = np.empty(value)[numpy_index(site.of_type("index"))].shape
    return read == site.shape


def index(value: Any, _site: Site, _attribute: Attribute) -> bool:
    """Return True unless an index has both integers and arrays: libraries then disagree about the order of axes."""
    integers = any(isinstance(item, int) for item in value)
    return not (integers and any(isinstance(item, tuple) for item in value))


def shifts(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for a shift of each axis, or one of a single axis."""
    axis = site.chosen["axis"]
    return isinstance(value, tuple) == isinstance(axis, tuple) and np.shape(value) == np.shape(axis or 0)


def widths(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True for two widths within bounds for each axis."""
    within = all(len(pair) == PAIR and all(in_bounds(width, site, attribute) for width in pair) for pair in value)
    return within and len(value) == site.rank


def counts(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True for a count for each entry of the axis."""
    return len(value) == site.length and not_negative(value, site, attribute)


def not_negative(value: Any, _site: Site, _attribute: Attribute) -> bool:
    """Return True if no number is negative."""
    return all(count >= 0 for count in value)


def points(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True for sorted positions."""
    return not_negative(value, site, attribute) and list(value) == sorted(value)


def line_indices(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if indices lie in the axis, and, if the options require it, are not negative or distinct by line."""
    rank = max(1, site.rank)
    indices, axis = np.asarray(value, dtype=int), site.chosen["axis"] % rank
    lines = np.moveaxis(indices, axis, -1) if indices.ndim == rank else indices
    return _indices_of(lines, (site.shape or (1,))[axis], attribute)


def rows(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if indices lie in the axis, and, if the options require it, are not negative or distinct."""
    axis = site.chosen["axis"]
    return _indices_of(np.asarray(value, dtype=int), (site.shape or (1,))[axis], attribute)


def _indices_of(lines: np.ndarray[Any, np.dtype[Any]], length: int, attribute: Attribute) -> bool:
    low = 0 if "positive" in attribute.options else -length
    inside = bool(np.all((lines >= low) & (lines < length)))
    return inside and ("distinct" not in attribute.options or _distinct(lines, length))


def _distinct(lines: np.ndarray[Any, np.dtype[Any]], length: int) -> bool:
    return bool(np.all(np.diff(np.sort(lines % max(1, length), axis=-1), axis=-1)))


def flat_indices(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True if indices into all entries exist, and are distinct unless they accumulate."""
    size, indices = math.prod(site.shape), np.asarray(value, dtype=int)
    inside = bool(np.all((indices >= -size) & (indices < size)))
    return inside and (bool(site.chosen.get("accumulate", True)) or _distinct(indices, size))


def mask(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if the shape is of the kind in the options. Nested tuples without entries do not determine theirs."""
    shape: Shape = np.shape(value)
    if 0 in shape:
        return 0 in site.shape or attribute.options[0] == "along"
    match attribute.options[0]:
        case "leading":
            return site.shape[: len(shape)] == shape
        case "stretching":
            own = site.shape[max(0, site.rank - len(shape)) :]
            return len(shape) <= site.rank and all(n in {1, m} for n, m in zip(shape, own, strict=True))
    return len(shape) == 1 and shape[0] <= site.length
