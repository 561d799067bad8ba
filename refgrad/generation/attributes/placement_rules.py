"""Random attributes of operators that move, pick or write entries: one rule for each attribute type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from refgrad.generation.attributes.placement import (
    MASK_SHAPES,
    MOST,
    NEGATIVE,
    amounts,
    flat_places,
    one_axis,
    places,
    points,
    rows,
    shifts,
    some_axes,
    truths,
    widths,
    writing_index,
)
from refgrad.generation.attributes.site import AttributeRule, Site
from refgrad.generation.choices import Choices
from refgrad.operators import Attribute
from refgrad.operators.structure import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue


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


def _counts(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    return amounts(choices, site.length)


def _position(choices: Choices, site: Site, _attribute: Attribute) -> int:
    return choices.integer(-site.length, site.length - 1) if site.length else 0


def _places(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    return places(choices, site.shapes, site.chosen["axis"], attribute.options)


def _rows(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    axis, shapes = site.chosen["axis"], [shape or (1,) for shape in site.shapes]
    count = shapes[1][axis] if len(shapes) > 1 else choices.integer(min(1, site.length), MOST)
    return rows(choices, count, shapes[0][axis], attribute.options)


def _flat_places(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    count = math.prod(site.shapes[-1])
    return flat_places(choices, math.prod(site.shape), count, distinct=not site.chosen.get("accumulate", True))


def _mask(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    return truths(choices, MASK_SHAPES[attribute.options[0]](choices, site.shape, site.chosen.get("axis")))


def _has_two_axes(shape: Shape) -> bool:
    return len(shape) > 1


def _with_two_axes(shape: Shape) -> Shape:
    return (*shape, 2, 3)[:2]


def _has_axis(shape: Shape) -> bool:
    return len(shape) > 0


def _with_axis(_shape: Shape) -> Shape:
    return (2,)


PLACEMENT_RULES: Final[Mapping[AttributeType, AttributeRule]] = MappingProxyType({
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
    "counts": AttributeRule(_counts),
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
