"""The kinds of corners that an operator has, and what each leaves to chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.generation.draft.admission import Array
from refgrad.generation.profile import Profile
from refgrad.operators import Attribute, Operator
from refgrad.operators.structure import Shape

PLAIN: Final[Shape] = (2, 3)

SHAPES: Final[tuple[tuple[Shape, ...], ...]] = (
    ((2, 1, 3, 2), (), (1, 2, 1, 3, 2), (3,), (2, 1, 3), (2, 3), (2, 3, 2, 2)),
    ((257,), (33,), (17,), (9,), (8,), (7,), (16,), (15,), (31,), (32,), (63,), (64,), (65,), (127,), (128,), (129,)),
    ((1, 3), (3, 1), (1,), (1, 2, 3), (2, 3, 1), (1, 1, 1)),
    ((0,), (2, 0), (0, 2), (2, 0, 3), (0, 2, 4), (2, 4, 0), (0, 4, 2, 2), (2, 0, 2, 2)),
    ((2, 129), (129, 2), (17, 17)),
)
"""Ranks; lengths on both sides of powers of two, as vectors of a processor and blocks of sums have; axes of length 1,
and of length 0, in each place; long rows and columns."""

FITTING: Final[tuple[Shape, ...]] = ((2, 3), (2, 2), (3,), (2, 2, 2), (4, 4))
"""Shapes that are tried for an attribute's value that may ask for one of them."""

HIGHEST_RANK: Final = max(len(shape) for shapes in SHAPES for shape in shapes)

MANY_OPERANDS: Final = (5, 1, 9, 4)
"""How many operands a variadic argument stands for, besides the few of random scenarios."""

OPEN: Final = frozenset({"pattern", "matmul", "join"})
"""How operands meet where the first does not say how long the others are."""

LONG: Final = 33
"""How long they are in some corners."""

DRAWS: Final = 3
"""How often small shapes are met, each time with other attributes."""

SMALL: Final = 2
"""What counts as small: so many entries, or none."""

MOST_INTEGERS: Final = 6
"""Every value is tried of an attribute that is an integer between bounds no further apart."""

Arranged = Callable[[Array], Array]


def apart(array: Array) -> Array:
    """Return numbers in the same order at equal distances, none of which tie."""
    order = np.argsort(np.argsort(array, axis=None)).reshape(array.shape)
    low, high = float(array.min()), float(array.max())
    return np.round(low + (high - low) * order / max(1, array.size - 1), 3)


def _with_zeros(array: Array, *zeros: float) -> Array:
    """Return the array with these zeros in the place of its first entries."""
    entries = array.ravel().copy()
    entries[: len(zeros)] = zeros[: entries.size]
    return entries.reshape(array.shape)


ARRANGEMENTS: Final[tuple[Arranged, ...]] = (
    lambda array: _with_zeros(array, 0.0),
    lambda array: _with_zeros(array, -0.0, 0.0, 0.0),
    lambda array: np.sort(array, axis=None).reshape(array.shape),
    lambda array: np.full_like(array, array.flat[0]),
    lambda array: np.sort(array, axis=None)[::-1].reshape(array.shape),
)
"""One zero, several of either sign; entries in order, all the same, and in reverse order."""


@dataclass(frozen=True, slots=True)
class Corner:
    """What is not left to chance: the first operand's shape, and perhaps more.

    ``first`` is the seed of the numbers and attributes that are tried first. ``others`` are shapes that are tried in
    turn with it, ``second`` is the shape of the second operand, ``operands`` is how many a variadic argument stands
    for, and ``dimensions`` are the lengths that further operands may have where the first leaves them open.
    ``repeated`` has one leaf stand for all, ``arranged`` reorders the entries of the first operand of numbers, and
    ``given`` are attributes.
    """

    shape: Shape = PLAIN
    first: int = 0
    others: tuple[Shape, ...] = ()
    operands: int = 2
    dimensions: tuple[int, ...] = ()
    second: Shape | None = None
    repeated: bool = False
    arranged: Arranged | None = None
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def shaped(row: Operator, shapes: Sequence[Shape], profile: Profile) -> Iterator[Corner]:
    """Yield corners of these shapes, small ones with several attributes, as random scenarios seldom have them."""
    admitted = [shape for shape in shapes if has_room(profile, shape)]
    for first in range(DRAWS if row.attributes else 1):
        drawn = (shape for shape in admitted if not first or math.prod(shape) <= SMALL)
        yield from (Corner(shape, first, others=_smaller(shape)) for shape in drawn)


def _smaller(shape: Shape) -> tuple[Shape, ...]:
    """Return shapes of as many axes, where those are many: what is padded or stretched along each grows large."""
    return ((2,) * len(shape), (1,) * len(shape)) if len(shape) == HIGHEST_RANK else ()


def has_room(profile: Profile, shape: Shape) -> bool:
    """Whether the profile admits an array of this shape."""
    return len(shape) <= profile.rank and math.prod(shape) <= profile.largest_size


def stretching(row: Operator) -> Iterator[Corner]:
    """Yield corners of which one of the first two operands is stretched along an axis, or has fewer axes."""
    if row.operands == "broadcast":
        yield from (Corner(shape, second=PLAIN) for shape in ((3,), (2, 1)))
        yield from (Corner(second=shape) for shape in ((3,), ()))


def of_operands(row: Operator) -> Iterator[Corner]:
    """Yield corners with operands that are longer, many, or one and the same leaf."""
    if row.operands in OPEN:
        yield from (Corner(shape, others=((2,),), dimensions=(LONG,)) for shape in (PLAIN, (3,)))
    if row.arguments[-1].variadic:
        yield from (Corner(operands=count, others=((2,), (1,)), dimensions=(1, 2)) for count in MANY_OPERANDS)
    if len(row.differentiable_arguments) > 1 or row.arguments[-1].variadic:
        yield from (Corner((2, 2), repeated=True), Corner((), repeated=True), Corner((2, 2), operands=3, repeated=True))


def of_attributes(row: Operator) -> Iterator[Corner]:
    """Yield a corner for every value of each attribute that has few."""
    values = {attribute.name: _values(attribute) for attribute in row.attributes}
    together = zip_longest(*values.values())
    for each in together:
        given = [(name, value) for name, value in zip(values, each, strict=True) if value is not None]
        yield from (Corner((2, 3, 2), others=FITTING, given={name: value}) for name, value in given)


def _values(attribute: Attribute) -> Sequence[Any]:
    if attribute.type == "bool":
        return (True, False)
    if attribute.type == "option":
        return attribute.options
    if attribute.type == "axis":
        return (0, 1, 2, -1, -2, -3)
    low, high = map(int, attribute.bounds) if attribute.type == "int" else (0, MOST_INTEGERS)
    return range(low, high + 1) if high - low < MOST_INTEGERS else ()
