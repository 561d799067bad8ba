"""The attribute types: how a value is chosen, which values are valid, and which are simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refgrad.generation.attributes import acceptance, choosing, simplification
from refgrad.generation.attributes.choosing import Site
from refgrad.generation.attributes.simplification import Simpler, entries, one_of, shortened
from refgrad.generation.profile import Choices, Profile
from refgrad.operators import Attribute, Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import Apply, AttributeValue

Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """A rule for attributes of one type.

    ``choose`` returns a value, ``simpler`` yields values that are simpler than a given one, and ``accepts`` returns
    True if a value is valid for the shapes of the operands. There are values for a first operand of a shape with at
    least ``rank`` axes if ``suits`` returns True; ``adapt`` returns a similar shape for which there are.
    """

    choose: Callable[[Choices, Site, Attribute], AttributeValue]
    simpler: Simpler
    accepts: Callable[[Any, Site, Attribute], bool] = lambda _value, _site, _attribute: True
    rank: int = 0
    suits: Callable[[Shape], bool] = lambda _: True
    adapt: Callable[[Shape, int], Shape] = lambda shape, rank: (*shape, 2, 3)[:rank]

    def admits(self, shape: Shape) -> bool:
        """Return True if there is a value for a first operand of this shape."""
        return len(shape) >= self.rank and self.suits(shape)

    def adapted(self, shape: Shape) -> Shape:
        """Return this shape or one close to it for which there is a value."""
        return shape if self.admits(shape) else self.adapt(shape, self.rank)


ATTRIBUTE_RULES: Final[Mapping[AttributeType, AttributeRule]] = MappingProxyType({
    "axis": AttributeRule(choosing.axis, simplification.axis, acceptance.existing_axes, rank=1),
    "new_axis": AttributeRule(choosing.new_axis, simplification.axis, acceptance.new_axis),
    "unit_axis": AttributeRule(
        choosing.unit_axis, simplification.axis, acceptance.existing_axes,
        suits=lambda shape: 1 in shape, adapt=lambda shape, _: (*shape[:-1], 1),
    ),
    "axes": AttributeRule(choosing.axes, simplification.axes, acceptance.axes),
    "flat_axis": AttributeRule(choosing.flat_axis, simplification.flat_axis, acceptance.flat_axis),
    "scalar_axis": AttributeRule(choosing.scalar_axis, simplification.axis, acceptance.scalar_axis),
    "axis_list": AttributeRule(choosing.axis_list, simplification.axis_list, acceptance.existing_axes, rank=1),
    "matching_axes": AttributeRule(choosing.matching_axes, simplification.axis_list, acceptance.existing_axes, rank=1),
    "axis_pair": AttributeRule(choosing.axis_pair, one_of(((0, 1), (1, 0))), acceptance.axis_pair, rank=2),
    "new_axis_pair": AttributeRule(choosing.new_axis_pair, one_of(((0, 1), (1, 0))), acceptance.new_axis_pair, rank=1),
    "permutation": AttributeRule(choosing.permutation, simplification.permutation),
    "bool": AttributeRule(choosing.truth, one_of((False,))),
    "int": AttributeRule(choosing.from_bounds, one_of((0, 1, -1, 2)), acceptance.in_bounds),
    "real": AttributeRule(choosing.real, simplification.number, acceptance.in_bounds),
    "float": AttributeRule(choosing.increasing, simplification.number, acceptance.increasing),
    "option": AttributeRule(choosing.option, one_of(()), acceptance.option),
    "shape": AttributeRule(choosing.shape, simplification.shape, acceptance.inferable),
    "factors": AttributeRule(choosing.factors, simplification.lengths, acceptance.inferable, rank=1),
    "broadcast_shape": AttributeRule(choosing.broadcast_shape, simplification.lengths),
    "expanded_shape": AttributeRule(choosing.expanded_shape, simplification.lengths, acceptance.expanded),
    "any_shape": AttributeRule(choosing.any_shape, simplification.lengths, acceptance.readable),
    "shifts": AttributeRule(choosing.shifts, entries((1, 0, -1)), acceptance.shifts),
    "pad_width": AttributeRule(choosing.widths, entries((0, 1)), acceptance.widths),
    "repeats": AttributeRule(choosing.repeats, entries((1, 2, 0)), acceptance.not_negative),
    "counts": AttributeRule(choosing.counts, entries((1, 2, 0)), acceptance.counts),
    "points": AttributeRule(choosing.points, entries((1, 0)), acceptance.points),
    "position": AttributeRule(choosing.position, one_of((0, -1, 1))),
    "index": AttributeRule(choosing.index, simplification.index, acceptance.index, rank=1),
    "writing_index": AttributeRule(choosing.writing_index, simplification.index, acceptance.index, rank=1),
    "indices": AttributeRule(choosing.indices, simplification.indices, rank=1),
    "classes": AttributeRule(
        choosing.classes, simplification.classes, rank=1,
        suits=lambda shape: shape[min(1, len(shape) - 1)] > 0, adapt=lambda _shape, _rank: (2,),
    ),
    "places": AttributeRule(choosing.line_indices, entries((0, 1)), acceptance.line_indices),
    "rows": AttributeRule(choosing.rows, entries((0, 1)), acceptance.rows),
    "flat_places": AttributeRule(choosing.flat_indices, entries((0, 1)), acceptance.flat_indices),
    "mask": AttributeRule(choosing.mask, entries((True,)), acceptance.mask),
})  # fmt: skip


def choose_attributes(
    choices: Choices,
    operator: Operator,
    shapes: tuple[Shape, ...],
    profile: Profile,
    fixed: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return values for the operator's attributes, ``fixed`` among them. Defaults that are drawn may be omitted."""
    chosen: dict[str, Any] = {}
    if not operator.attributes:
        return chosen
    for attribute in operator.attributes:
        site = Site(operator, shapes, chosen, profile)
        drawn = ATTRIBUTE_RULES[attribute.type].choose(choices, site, attribute)
        chosen[attribute.name] = fixed.get(attribute.name, drawn)
    return {
        attribute.name: chosen[attribute.name]
        for attribute in operator.attributes
        if not (chosen[attribute.name] == attribute.default and choices.happens("omitted_default"))
    }


def admits(operator: Operator, shape: Shape) -> bool:
    """Return True if the operator's attributes have a value for a first operand of this shape."""
    return all(ATTRIBUTE_RULES[attribute.type].admits(shape) for attribute in operator.attributes)


def adapted(operator: Operator, shape: Shape) -> Shape:
    """Return a shape close to this one for which the operator's attributes have a value."""
    for attribute in operator.attributes:
        shape = ATTRIBUTE_RULES[attribute.type].adapted(shape)
    return shape


def accepts(operator: Operator, shapes: tuple[Shape, ...], attributes: Mapping[str, Any]) -> bool:
    """Return True if all attributes have valid values for the shapes of the operands.

    ``attributes`` have their defaults filled in.
    """
    site = Site(operator, shapes, attributes)
    axis_first = sorted(operator.attributes, key=lambda attribute: attribute.name != "axis")
    return all(ATTRIBUTE_RULES[each.type].accepts(attributes[each.name], site, each) for each in axis_first)


def simpler_attributes(step: Apply) -> Iterator[Attributes]:
    """Yield simpler attributes: all in their simplest form, then with one simplified at a time."""
    attributes = dict(step.attributes)
    declared = [attribute for attribute in operator_table()[step.operator].attributes if attribute.name in attributes]
    plainest = dict(attributes)
    for attribute in declared:
        if attribute.required:
            simpler = ATTRIBUTE_RULES[attribute.type].simpler(attributes[attribute.name])
            plainest[attribute.name] = next(simpler, attributes[attribute.name])
        else:
            del plainest[attribute.name]
    if plainest != attributes:
        yield tuple(plainest.items())
    for attribute in declared:
        if not attribute.required:
            yield tuple((name, value) for name, value in attributes.items() if name != attribute.name)
        for each in ATTRIBUTE_RULES[attribute.type].simpler(attributes[attribute.name]):
            yield tuple((attributes | {attribute.name: each}).items())


def with_lengths(step: Apply, lengths: Mapping[int, int]) -> Apply:
    """Return the application with shapes and indices adapted to axes that became shorter."""
    if not lengths:
        return step
    types = {attribute.name: attribute.type for attribute in operator_table()[step.operator].attributes}
    adapted = {name: shortened(types[name], value, lengths) for name, value in step.attributes}
    return replace(step, attributes=tuple(adapted.items()))
