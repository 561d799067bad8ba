"""Kinds of errors of what operands receive, none of which is large everywhere, and which of them a row allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

import numpy as np

from refgrad.operators import Operator
from refgrad.operators.table import Attribute
from tests.faulty_engines.derived.planting import Error, Site

SMALL: Final = 1e-6
"""How far an entry is off, relative to itself, in float64."""

ATTRIBUTED: Final = 1e-3
"""The same where it is off for some attributes only."""


def number_of(text: str) -> int:
    """Return a number that follows from a text alone."""
    return crc32(text.encode())


def scaled(entries: Any, relative: float = SMALL) -> Any:
    """Return the error of entries that are off relative to themselves."""
    return entries * relative


def everywhere(_row: Operator) -> Error:
    """Every entry is off."""
    return lambda site: [scaled(c) for c in site.right]


def last_entry(_row: Operator) -> Error:
    """The last entry of each array that is not zero is off."""
    return lambda site: [_last(scaled(c)) for c in site.right]


def _last(entries: Any) -> Any:
    found, (places,) = np.zeros(np.size(entries)), np.nonzero(np.ravel(entries))
    found[places[-1:]] = np.ravel(entries)[places[-1:]]
    return found.reshape(np.shape(entries))


def signless(_row: Operator) -> Error:
    """Cotangents lose their signs."""

    def error(site: Site) -> Sequence[Any]:
        sizes = site.pulled(np.abs(site.cotangent))
        return [size - right for size, right in zip(sizes, site.right, strict=True)]

    return error


def zero_dimensional(_row: Operator) -> Error:
    """Every entry is off where the result is a single number without axes."""

    def error(site: Site) -> Sequence[Any]:
        alone = site.application.result.shape == ()
        return [scaled(c, SMALL if alone else 0.0) for c in site.right]

    return error


def one_operand(row: Operator) -> Error:
    """All is right but for one operand, or where a tangent or a gradient of that operand is taken."""
    places = [n for n, a in enumerate(row.arguments) if a.dtype == "float" and not row.vanishes(a.name)]
    chosen = places[number_of(row.name) % len(places)]

    def error(site: Site) -> Sequence[Any]:
        hit = [chosen in site.path[:1] or place == chosen for place in range(len(site.inputs))]
        return [scaled(c, SMALL if spoiled else 0.0) for spoiled, c in zip(hit, site.right, strict=True)]

    return error


def stretched(_row: Operator) -> Error:
    """All is right but where an operand is broadcast."""

    def error(site: Site) -> Sequence[Any]:
        shape = site.application.result.shape
        places = {n for n, x in enumerate(site.application.operands) if x.shape != shape}
        hit = [place in places or bool(places.intersection(site.path)) for place in range(len(site.inputs))]
        return [scaled(c, SMALL if spoiled else 0.0) for spoiled, c in zip(hit, site.right, strict=True)]

    return error


def one_attribute(row: Operator) -> Error:
    """All is right but for values of an attribute: those that are not the default, or about half if there is none."""
    chosen = row.attributes[number_of(row.name) % len(row.attributes)]

    def error(site: Site) -> Sequence[Any]:
        spoiled = is_unusual(chosen, site.application.attributes.get(chosen.name, chosen.default))
        return [scaled(c, ATTRIBUTED if spoiled else 0.0) for c in site.right]

    return error


def is_unusual(attribute: Attribute, value: Any) -> bool:
    """Whether an attribute's value is one of those with which a rule is wrong."""
    if not attribute.required:
        return repr(value) != repr(attribute.default)
    if isinstance(value, int | float):
        return value != attribute.bounds[0]
    return value != attribute.options[0] if attribute.options else number_of(repr(value)) % 2 == 0


def sloping(_row: Operator) -> Error:
    """There is a slope of 1e-6 where it is zero everywhere."""
    return lambda site: [summed(np.asarray(site.cotangent) * SMALL, x.shape) for x in site.inputs]


def summed(entries: Any, shape: tuple[int, ...]) -> Any:
    """Return entries summed over axes that were stretched; zeros where they are of no such shape."""
    if np.shape(entries) == shape:
        return entries
    try:
        np.broadcast_shapes(shape, entries.shape)
    except ValueError:
        return np.zeros(shape)
    summed = entries.sum(axis=tuple(range(entries.ndim - len(shape)))) if entries.ndim > len(shape) else entries
    for axis, length in enumerate(shape):
        if summed.shape[axis] != length:
            summed = summed.sum(axis=axis, keepdims=True)
    return summed


KINDS: Final[Mapping[str, Callable[[Operator], Error]]] = MappingProxyType({
    "is off by 1e-6": everywhere,
    "is off by 1e-6 in the last entry": last_entry,
    "loses the sign of cotangents": signless,
    "is off by 1e-6 where the result is 0-d": zero_dimensional,
    "is off by 1e-6 for one operand": one_operand,
    "is off by 1e-6 where an operand is broadcast": stretched,
    "is off by 1e-3 for values of one attribute": one_attribute,
    "has a slope of 1e-6 where it is flat": sloping,
})


def kinds_of(row: Operator) -> Iterator[str]:
    """Yield the kinds of errors that show in a row's derivatives."""
    arguments = [name for name in row.differentiable_arguments if not row.vanishes(name)]
    if not arguments:
        yield "has a slope of 1e-6 where it is flat"
        return
    yield from ("is off by 1e-6", "is off by 1e-6 in the last entry", "loses the sign of cotangents")
    if row.elementwise:
        yield "is off by 1e-6 where the result is 0-d"
    if len(arguments) > 1:
        yield "is off by 1e-6 for one operand"
    if row.operands == "broadcast":
        yield "is off by 1e-6 where an operand is broadcast"
    if row.attributes:
        yield "is off by 1e-3 for values of one attribute"


def kind_of(family: str, row: Operator) -> str:
    """Return the kind of error that a row is given in a family: one of those that it allows, by its name."""
    kinds = list(kinds_of(row))
    return kinds[number_of(f"{family}/{row.name}") % len(kinds)]
