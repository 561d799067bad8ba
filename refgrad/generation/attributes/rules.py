"""Random values of attributes, given the shapes of the operands: one rule for each attribute type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refgrad.generation.attributes.placement import (
    MASK_SHAPES,
    MOST,
    NEGATIVE,
    amounts,
    choose_index,
    choose_indices,
    choose_inverse,
    kept_lengths,
    nested,
    one_axis,
    places,
    points,
    shifts,
    shuffled,
    some_axes,
    spelled,
    widths,
    writing_index,
)
from refgrad.generation.profile import STANDARD, Choices, Profile
from refgrad.operators import Attribute, Operator
from refgrad.operators.operator import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue

OMITTED: Final = 0.5
"""Probability that an attribute that has its default value is omitted."""

DEFAULT_RANGE: Final = (-3.0, 3.0)
"""Range of numbers for an operator that declares no sample range."""


@dataclass(frozen=True, slots=True)
class Site:
    """The data that the values of an attribute depend on: operator, shapes of the operands, and other attributes.

    ``chosen`` holds the values of at least those attributes that come before it in the operator's row.
    """

    operator: Operator
    shapes: tuple[Shape, ...]
    chosen: Mapping[str, Any]
    profile: Profile = STANDARD

    @property
    def shape(self) -> Shape:
        """Shape of the first operand."""
        return self.shapes[0]

    @property
    def length(self) -> int:
        """Length of the chosen axis, or the number of entries without one."""
        axis = self.chosen.get("axis")
        return math.prod(self.shape) if axis is None or not self.shape else self.shape[axis]

    def of_type(self, kind: AttributeType) -> Any:
        """Return the value that was chosen for the first attribute of a type, or None."""
        names = [attribute.name for attribute in self.operator.attributes if attribute.type == kind]
        return self.chosen.get(names[0]) if names else None


Chooser: TypeAlias = Callable[[Choices, Site, Attribute], AttributeValue]


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """A rule for attributes of one type.

    ``choose`` returns a value. ``admits`` returns True if there is one for a first operand of a shape, and ``adapt``
    returns a similar shape for which there is one.
    """

    choose: Chooser
    admits: Callable[[Shape], bool] = lambda _: True
    adapt: Callable[[Shape], Shape] = lambda shape: shape


def choose_attributes(
    choices: Choices, operator: Operator, shapes: tuple[Shape, ...], profile: Profile
) -> dict[str, Any]:
    """Return values for the operator's attributes. Those that have their default may be omitted."""
    chosen: dict[str, Any] = {}
    if not operator.attributes:
        return chosen
    for attribute in operator.attributes:
        site = Site(operator, shapes, chosen, profile)
        chosen[attribute.name] = ATTRIBUTE_RULES[attribute.type].choose(choices, site, attribute)
    return {
        attribute.name: chosen[attribute.name]
        for attribute in operator.attributes
        if not (chosen[attribute.name] == attribute.default and choices.boolean(OMITTED))
    }


def admits(operator: Operator, shape: Shape) -> bool:
    """Return True if the operator's attributes have a value for a first operand of this shape."""
    return all(ATTRIBUTE_RULES[attribute.type].admits(shape) for attribute in operator.attributes)


def adapted(operator: Operator, shape: Shape) -> Shape:
    """Return a shape close to this one for which the operator's attributes have a value."""
    for attribute in operator.attributes:
        rule = ATTRIBUTE_RULES[attribute.type]
        shape = shape if rule.admits(shape) else rule.adapt(shape)
    return shape


def differing_axes(shapes: tuple[Shape, ...]) -> list[int]:
    """Return the axes along which arrays of these shapes can be joined: all other axes agree."""
    first = shapes[0]
    if any(len(shape) != len(first) for shape in shapes):
        return []
    differing = {
        axis for shape in shapes for axis, pair in enumerate(zip(first, shape, strict=True)) if pair[0] != pair[1]
    }
    return [axis for axis in range(len(first)) if differing <= {axis}]


def _axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    return spelled(choices, choices.choice(differing_axes(site.shapes)), len(site.shape))


def _new_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    rank = len(site.shape) + 1
    return spelled(choices, choices.integer(0, rank - 1), rank)


def _unit_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    axes = [axis for axis, length in enumerate(site.shape) if length == 1]
    return spelled(choices, choices.choice(axes), len(site.shape))


def _axes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return None for all axes, or an axis, or some axes in any order."""
    rank = len(site.shape)
    if rank == 0 or choices.boolean(0.3):
        return None
    if choices.boolean(0.4):
        return spelled(choices, choices.integer(0, rank - 1), rank)
    axes = shuffled(choices, rank, rank)[: choices.integer(1, rank)]
    return tuple(spelled(choices, axis, rank) for axis in axes)


def _bool(choices: Choices, _site: Site, _attribute: Attribute) -> bool:
    return choices.boolean(0.5)


def _float(choices: Choices, site: Site, attribute: Attribute) -> float:
    """Return a number from the attribute's own part of the sample range, so that those of an operator increase."""
    names = [other.name for other in site.operator.attributes if other.type == attribute.type]
    low, high = next(iter(site.operator.samples.values()), DEFAULT_RANGE)
    width, place = (high - low) / len(names), names.index(attribute.name)
    return choices.decimals(low + width * (place + 0.1), low + width * (place + 0.9), 1)[0]


def _shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a factorization of the number of entries, one factor of which may be left to be inferred."""
    return _perhaps_inferred(choices, _factorization(choices, math.prod(site.shape), site.profile.max_rank))


def _factors(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    return _perhaps_inferred(choices, _factorization(choices, site.length, 3) or (1,))


def _perhaps_inferred(choices: Choices, lengths: Shape) -> Shape:
    """Return the lengths, perhaps with -1 for one of them, which is then inferred from the others."""
    if not lengths or 0 in lengths or not choices.boolean(NEGATIVE):
        return lengths
    place = choices.integer(0, len(lengths) - 1)
    return (*lengths[:place], -1, *lengths[place + 1 :])


def _factorization(choices: Choices, size: int, max_rank: int) -> Shape:
    if size == 0:
        lengths = [choices.choice((2, 1, 0, 3)) for _ in range(choices.integer(0, max(max_rank, 1) - 1))]
        lengths.insert(choices.integer(0, len(lengths)), 0)
        return tuple(lengths)
    factors: list[int] = []
    while size > 1 and len(factors) < max_rank - 1 and choices.boolean(0.6):
        factors.append(choices.choice([n for n in range(1, size + 1) if size % n == 0]))
        size //= factors[-1]
    if size == 1 and (len(factors) == max_rank or not choices.boolean(0.3)):
        return tuple(factors)
    return (*factors, size)


def _permutation(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    rank = len(site.shape)
    if choices.boolean(0.2):
        return None
    if rank > 2 and choices.boolean(0.4):  # noqa: PLR2004 (the cycles of two axes are their own inverses)
        start = choices.integer(1, rank - 1)
        return tuple(spelled(choices, (start + place) % rank, rank) for place in range(rank))
    return tuple(spelled(choices, axis, rank) for axis in shuffled(choices, rank, rank))


def _index(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return an index into the first operand, or, after a chosen ``any_shape``, one that reads it from that shape."""
    larger = site.of_type("any_shape")
    return choose_index(choices, site.shape) if larger is None else choose_inverse(choices, larger, site.shape)


def _any_shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a shape from which an index can read the first operand: some axes longer, perhaps one axis more."""
    lead = [choices.choice((2, 1, 3))] if len(site.shape) < site.profile.max_rank and choices.boolean(0.3) else []
    return (*lead, *(length + choices.integer(0, 2) for length in site.shape))


def _indices(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    length = site.shape[site.of_type("axis") or 0]
    return choose_indices(choices, length, max(0, site.profile.max_rank - len(site.shape) + 1))


def _classes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return a class for every entry of the axes other than that of classes, which is the second or the only one."""
    axis = 1 if len(site.shape) > 1 else 0
    length = site.shape[axis]
    return nested((*site.shape[:axis], *site.shape[axis + 1 :]), lambda: choices.integer(0, length - 1))


def stretched(choices: Choices, shape: Shape, profile: Profile) -> Shape:
    """Return a shape to which this one broadcasts: axes of length one stretched, axes added in front."""
    lead = [
        choices.choice(profile.dimensions) for _ in range(choices.integer(0, max(0, profile.max_rank - len(shape))))
    ]
    rest = [choices.choice(profile.dimensions) if length == 1 and choices.boolean(0.7) else length for length in shape]
    return tuple(rest if math.prod(lead + rest) > profile.largest_size else lead + rest)


def _with_unit_axis(shape: Shape) -> Shape:
    return (*shape[:-1], 1)


def _has_classes(shape: Shape) -> bool:
    return len(shape) > 0 and shape[min(1, len(shape) - 1)] > 0


def _flat_axis(choices: Choices, site: Site, _attribute: Attribute) -> int | None:
    return None if not site.shape or choices.boolean(NEGATIVE) else one_axis(choices, len(site.shape))


def _axis_list(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    axes = some_axes(choices, len(site.shape))
    return axes[0] if len(axes) == 1 and choices.boolean(0.5) else axes


def _matching_axes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    others = site.of_type("axis_list")
    if isinstance(others, tuple):
        return some_axes(choices, len(site.shape), len(others))
    return one_axis(choices, len(site.shape))


def _position(choices: Choices, site: Site, _attribute: Attribute) -> int:
    return choices.integer(-site.length, site.length - 1) if site.length else 0


def _places(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    return places(choices, site.shapes, site.chosen["axis"], attribute.options)


def _rows(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    axis, shapes = site.chosen["axis"], [shape or (1,) for shape in site.shapes]
    count = shapes[1][axis] if len(shapes) > 1 else choices.integer(min(1, site.length), MOST)
    return places(choices, [(shapes[0][axis],), (count,)], 0, attribute.options)


def _flat_places(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return an index into all entries for each entry of the last operand, distinct ones unless they accumulate."""
    size, count = math.prod(site.shape), math.prod(site.shapes[-1])
    if not size:
        return ()
    if site.chosen.get("accumulate", True):
        indices = [choices.integer(0, size - 1) for _ in range(count)]
    else:
        free = list(range(size))
        indices = [free.pop(choices.integer(0, len(free) - 1)) for _ in range(min(count, size))]
    return tuple(spelled(choices, i, size) for i in indices)


def _mask(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    shape = MASK_SHAPES[attribute.options[0]](choices, site.shape, site.chosen.get("axis"))
    return nested(shape, lambda: choices.boolean(0.6))


def _has_two_axes(shape: Shape) -> bool:
    return len(shape) > 1


def _with_two_axes(shape: Shape) -> Shape:
    return (*shape, 2, 3)[:2]


def _has_axis(shape: Shape) -> bool:
    return len(shape) > 0


def _with_axis(_shape: Shape) -> Shape:
    return (2,)


ATTRIBUTE_RULES: Final[Mapping[AttributeType, AttributeRule]] = MappingProxyType({
    "axis": AttributeRule(_axis, _has_axis, _with_axis),
    "new_axis": AttributeRule(_new_axis),
    "unit_axis": AttributeRule(_unit_axis, lambda shape: 1 in shape, _with_unit_axis),
    "axes": AttributeRule(_axes),
    "bool": AttributeRule(_bool),
    "float": AttributeRule(_float),
    "shape": AttributeRule(_shape),
    "broadcast_shape": AttributeRule(lambda choices, site, _attribute: stretched(choices, site.shape, site.profile)),
    "any_shape": AttributeRule(_any_shape),
    "permutation": AttributeRule(_permutation),
    "index": AttributeRule(_index, _has_axis, _with_axis),
    "indices": AttributeRule(_indices, _has_axis, _with_axis),
    "classes": AttributeRule(_classes, _has_classes, _with_axis),
    "int": AttributeRule(lambda choices, _site, attribute: choices.integer(*map(int, attribute.bounds))),
    "real": AttributeRule(lambda choices, _site, attribute: choices.decimals(*attribute.bounds, 1)[0]),
    "option": AttributeRule(lambda choices, _site, attribute: choices.choice(attribute.options)),
    "factors": AttributeRule(_factors, _has_axis, _with_axis),
    "expanded_shape": AttributeRule(
        lambda choices, site, _attribute: kept_lengths(
            choices, stretched(choices, site.shape, site.profile), site.shape
        )
    ),
    "flat_axis": AttributeRule(_flat_axis),
    "scalar_axis": AttributeRule(lambda choices, site, _attribute: one_axis(choices, len(site.shape))),
    "axis_list": AttributeRule(_axis_list, _has_axis, _with_axis),
    "matching_axes": AttributeRule(_matching_axes, _has_axis, _with_axis),
    "axis_pair": AttributeRule(
        lambda choices, site, _attribute: some_axes(choices, len(site.shape), 2), _has_two_axes, _with_two_axes
    ),
    "new_axis_pair": AttributeRule(
        lambda choices, site, _attribute: some_axes(choices, len(site.shape) + 1, 2), _has_axis, _with_axis
    ),
    "shifts": AttributeRule(lambda choices, site, _attribute: shifts(choices, site.chosen["axis"])),
    "pad_width": AttributeRule(lambda choices, site, attribute: widths(choices, site.shape, attribute.bounds)),
    "repeats": AttributeRule(
        lambda choices, site, _attribute: amounts(choices, choices.integer(0, site.profile.max_rank))
    ),
    "counts": AttributeRule(lambda choices, site, _attribute: amounts(choices, site.length)),
    "points": AttributeRule(lambda choices, site, _attribute: points(choices, site.length)),
    "position": AttributeRule(_position),
    "places": AttributeRule(_places),
    "rows": AttributeRule(_rows),
    "flat_places": AttributeRule(_flat_places),
    "mask": AttributeRule(_mask),
    "writing_index": AttributeRule(
        lambda choices, site, _attribute: writing_index(choices, *site.shapes[:2]), _has_axis, _with_axis
    ),
})
