"""Validation of attribute values, by the attribute's type.

NumPy's functions accept more: indices from the end that libraries reject, axes modulo the rank, lengths below -1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from refgrad.generation.attributes.rules import Site
from refgrad.operators import Attribute, Operator
from refgrad.operators.operator import Shape
from refgrad.operators.structures import numpy_index
from refgrad.operators.table import AttributeType

Acceptance: TypeAlias = Callable[[Any, Site, Attribute], bool]

PAIR: Final = 2


def accepts(operator: Operator, shapes: tuple[Shape, ...], attributes: Mapping[str, Any]) -> bool:
    """Return True if all attributes have valid values for the shapes of the operands.

    ``attributes`` have their defaults filled in.
    """
    site = Site(operator, shapes, attributes)
    axis_first = sorted(operator.attributes, key=lambda attribute: attribute.name != "axis")
    return all(_accepted(attributes[attribute.name], site, attribute) for attribute in axis_first)


def _accepted(value: Any, site: Site, attribute: Attribute) -> bool:
    acceptance = ACCEPTANCES.get(attribute.type)
    return acceptance is None or acceptance(value, site, attribute)


def _exist(axes: Any, rank: int) -> bool:
    """Return True if these axes, or this one, exist and are distinct."""
    given = axes if isinstance(axes, tuple) else (axes,)
    return all(-rank <= axis < rank for axis in given) and len({axis % rank for axis in given}) == len(given)


def _scalar_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    return _exist(value, max(1, len(site.shape)))


def _flat_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    return value is None or _exist(value, len(site.shape))


def _new_axis(value: Any, site: Site, _attribute: Attribute) -> bool:
    return _exist(value, len(site.shape) + 1)


def _axes(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True for None, which is every axis, and for valid axes. Libraries disagree about an empty tuple."""
    return value is None or (value != () and _exist(value, len(site.shape)))


def _some_axes(value: Any, site: Site, _attribute: Attribute) -> bool:
    return _exist(value, len(site.shape))


def _pair(value: Any, site: Site, _attribute: Attribute) -> bool:
    return len(value) == PAIR and _exist(value, len(site.shape))


def _new_pair(value: Any, site: Site, _attribute: Attribute) -> bool:
    return len(value) == PAIR and _exist(value, len(site.shape) + 1)


def _number(value: Any, _site: Site, attribute: Attribute) -> bool:
    low, high = attribute.bounds
    return bool(low <= value <= high)


def _increasing(_value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if all attributes of this type, which are limits, increase."""
    limits = [site.chosen[other.name] for other in site.operator.attributes if other.type == attribute.type]
    return all(lower < upper for lower, upper in itertools.pairwise(limits))


def _option(value: Any, _site: Site, attribute: Attribute) -> bool:
    return value in attribute.options


def _inferable(value: Any, _site: Site, _attribute: Attribute) -> bool:
    """Return True if all lengths are given, except that one may be -1."""
    return all(length >= -1 for length in value) and value.count(-1) <= 1


def _expanded(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True if all lengths are given, except that those of existing axes may be -1."""
    new = len(value) - len(site.shape)
    return all(length >= (0 if place < new else -1) for place, length in enumerate(value))


def _readable(value: Any, site: Site, _attribute: Attribute) -> bool:
    """Return True if the index reads an array of the first operand's shape from one of this shape."""
    read: Shape = np.empty(value)[numpy_index(site.of_type("index"))].shape
    return read == site.shape


def _index(value: Any, _site: Site, _attribute: Attribute) -> bool:
    """Return True unless an index has both integers and arrays: libraries then disagree about the order of axes."""
    integers = any(isinstance(item, int) for item in value)
    return not (integers and any(isinstance(item, tuple) for item in value))


def _shifts(value: Any, site: Site, _attribute: Attribute) -> bool:
    axis = site.chosen["axis"]
    return isinstance(value, tuple) == isinstance(axis, tuple) and np.shape(value) == np.shape(axis or 0)


def _widths(value: Any, site: Site, attribute: Attribute) -> bool:
    widths = all(len(pair) == PAIR and all(_number(width, site, attribute) for width in pair) for pair in value)
    return widths and len(value) == len(site.shape)


def _counts(value: Any, site: Site, _attribute: Attribute) -> bool:
    return len(value) == site.length and all(count >= 0 for count in value)


def _repeats(value: Any, _site: Site, _attribute: Attribute) -> bool:
    return all(count >= 0 for count in value)


def _points(value: Any, _site: Site, _attribute: Attribute) -> bool:
    return all(point >= 0 for point in value) and list(value) == sorted(value)


def _places(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if indices lie in the axis, and, if the options require it, are not negative or distinct by line."""
    rank = max(1, len(site.shape))
    indices, axis = np.asarray(value, dtype=int), site.chosen["axis"] % rank
    lines = np.moveaxis(indices, axis, -1) if indices.ndim == rank else indices
    return _indices_of(lines, (site.shape or (1,))[axis], attribute)


def _rows(value: Any, site: Site, attribute: Attribute) -> bool:
    axis = site.chosen["axis"]
    return _indices_of(np.asarray(value, dtype=int), (site.shape or (1,))[axis], attribute)


def _indices_of(lines: np.ndarray[Any, np.dtype[Any]], length: int, attribute: Attribute) -> bool:
    low = 0 if "positive" in attribute.options else -length
    inside = bool(np.all((lines >= low) & (lines < length)))
    return inside and ("distinct" not in attribute.options or _distinct(lines, length))


def _distinct(lines: np.ndarray[Any, np.dtype[Any]], length: int) -> bool:
    return bool(np.all(np.diff(np.sort(lines % max(1, length), axis=-1), axis=-1)))


def _flat_places(value: Any, site: Site, _attribute: Attribute) -> bool:
    size, indices = math.prod(site.shape), np.asarray(value, dtype=int)
    inside = bool(np.all((indices >= -size) & (indices < size)))
    return inside and (bool(site.chosen.get("accumulate", True)) or _distinct(indices, size))


def _mask(value: Any, site: Site, attribute: Attribute) -> bool:
    """Return True if the shape is of the kind in the options. Nested tuples without entries do not determine theirs."""
    shape: Shape = np.shape(value)
    if 0 in shape:
        return 0 in site.shape or attribute.options[0] == "along"
    match attribute.options[0]:
        case "leading":
            return site.shape[: len(shape)] == shape
        case "stretching":
            return len(shape) <= len(site.shape) and _stretches(shape, site.shape[len(site.shape) - len(shape) :])
    return len(shape) == 1 and shape[0] <= site.length


def _stretches(shape: Shape, result: Shape) -> bool:
    return all(length in {1, wanted} for length, wanted in zip(shape, result, strict=True))


ACCEPTANCES: Final[Mapping[AttributeType, Acceptance]] = MappingProxyType({
    "axis": _some_axes,
    "scalar_axis": _scalar_axis,
    "flat_axis": _flat_axis,
    "new_axis": _new_axis,
    "unit_axis": _some_axes,
    "axes": _axes,
    "axis_list": _some_axes,
    "matching_axes": _some_axes,
    "axis_pair": _pair,
    "new_axis_pair": _new_pair,
    "int": _number,
    "real": _number,
    "float": _increasing,
    "option": _option,
    "shape": _inferable,
    "factors": _inferable,
    "expanded_shape": _expanded,
    "any_shape": _readable,
    "index": _index,
    "writing_index": _index,
    "shifts": _shifts,
    "pad_width": _widths,
    "counts": _counts,
    "repeats": _repeats,
    "points": _points,
    "places": _places,
    "rows": _rows,
    "flat_places": _flat_places,
    "mask": _mask,
})
"""Validation of each type for which NumPy's functions accept more than libraries do."""
