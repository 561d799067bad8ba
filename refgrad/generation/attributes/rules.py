"""Random values of attributes, given the shapes of the operands: one rule for each attribute type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from refgrad.generation.attributes.indexing import choose_index, choose_indices, choose_inverse
from refgrad.generation.attributes.placement import kept_lengths
from refgrad.generation.attributes.placement_rules import PLACEMENT_RULES
from refgrad.generation.attributes.site import AttributeRule, Site
from refgrad.generation.choices import Choices
from refgrad.generation.profile import Profile
from refgrad.operators import Attribute, Operator
from refgrad.operators.structure import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue

NEGATIVE: Final = 0.3
"""Probability that an axis is counted from the end, and that a length is left to be inferred."""

OMITTED: Final = 0.5
"""Probability that an attribute that has its default value is omitted."""

DEFAULT_RANGE: Final = (-3.0, 3.0)
"""Range of numbers for an operator that declares no sample range."""


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


def _spelled(choices: Choices, axis: int, rank: int) -> int:
    return axis - rank if choices.boolean(NEGATIVE) else axis


def _axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    return _spelled(choices, choices.choice(differing_axes(site.shapes)), len(site.shape))


def _new_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    rank = len(site.shape) + 1
    return _spelled(choices, choices.integer(0, rank - 1), rank)


def _unit_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    axes = [axis for axis, length in enumerate(site.shape) if length == 1]
    return _spelled(choices, choices.choice(axes), len(site.shape))


def _axes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return None for all axes, or an axis, or some axes in any order."""
    rank = len(site.shape)
    if rank == 0 or choices.boolean(0.3):
        return None
    if choices.boolean(0.4):
        return _spelled(choices, choices.integer(0, rank - 1), rank)
    axes = shuffled(choices, rank)[: choices.integer(1, rank)]
    return tuple(_spelled(choices, axis, rank) for axis in axes)


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
    size = math.prod(site.shape)
    factors = list(_factorization(choices, size, site.profile.max_rank))
    if factors and size and choices.boolean(NEGATIVE):
        factors[choices.integer(0, len(factors) - 1)] = -1
    return tuple(factors)


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


def _broadcast_shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    return stretched(choices, site.shape, site.profile)


def _permutation(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    rank = len(site.shape)
    if choices.boolean(0.2):
        return None
    if rank > 2 and choices.boolean(0.4):  # noqa: PLR2004 (the cycles of two axes are their own inverses)
        start = choices.integer(1, rank - 1)
        return tuple(_spelled(choices, (start + place) % rank, rank) for place in range(rank))
    return tuple(_spelled(choices, axis, rank) for axis in shuffled(choices, rank))


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
    return _nested((*site.shape[:axis], *site.shape[axis + 1 :]), lambda: choices.integer(0, length - 1))


def _nested(shape: Shape, draw: Callable[[], int]) -> AttributeValue:
    return tuple(_nested(shape[1:], draw) for _ in range(shape[0])) if shape else draw()


def shuffled(choices: Choices, count: int) -> list[int]:
    """Return the numbers below count in any order. The simplest order is reversed, as the identity changes nothing."""
    rest = list(range(count))
    return [rest.pop(len(rest) - 1 - choices.integer(0, len(rest) - 1)) for _ in range(count)]


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


def _has_axis(shape: Shape) -> bool:
    return len(shape) > 0


def _with_axis(_shape: Shape) -> Shape:
    return (2,)


def _factors(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    factors = list(_factorization(choices, site.length, 3)) or [1]
    if math.prod(factors) and choices.boolean(NEGATIVE):
        factors[choices.integer(0, len(factors) - 1)] = -1
    return tuple(factors)


ATTRIBUTE_RULES: Final[Mapping[AttributeType, AttributeRule]] = MappingProxyType({
    "axis": AttributeRule(_axis, _has_axis, _with_axis),
    "new_axis": AttributeRule(_new_axis),
    "unit_axis": AttributeRule(_unit_axis, lambda shape: 1 in shape, _with_unit_axis),
    "axes": AttributeRule(_axes),
    "bool": AttributeRule(_bool),
    "float": AttributeRule(_float),
    "shape": AttributeRule(_shape),
    "broadcast_shape": AttributeRule(_broadcast_shape),
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
    **PLACEMENT_RULES,
})
