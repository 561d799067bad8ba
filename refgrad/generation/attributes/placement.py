"""Random axes, amounts, indices and masks for attributes, given the shapes of the operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from refgrad.generation.profile import Choices
from refgrad.operators.operator import Shape
from refgrad.scenario import AttributeValue, Slice

STEPS: Final = (1, -1, 2, -2)

MOST: Final = 4
"""Largest number of indices, and largest shift."""

NEGATIVE: Final = 0.3
"""Probability that an axis or an index is counted from the end, and of other variations of an attribute."""


def choose_index(choices: Choices, shape: Shape) -> tuple[AttributeValue, ...]:
    """Return an index into an array of this shape: slices with any step, and integers or integer arrays.

    Integers and arrays do not occur in one index, since libraries disagree about where the array's axes then go. Arrays
    of one index have one length; their entries may repeat and count from the end.
    """
    axes = choices.integer(1, len(shape))
    count = choices.integer(1, MOST) if choices.boolean(0.4) else None
    items: list[AttributeValue] = []
    for length in shape[:axes]:
        if length == 0 or choices.boolean(0.5):
            items.append(_slice(choices, length))
        elif count is None:
            items.append(choices.integer(-length, length - 1) if choices.boolean(0.7) else Slice())
        else:
            items.append(_entries(choices, length, count))
    return tuple(items)


def choose_indices(choices: Choices, length: int, max_rank: int) -> AttributeValue:
    """Return indices into an axis of this length: a tuple, a tuple of tuples, or a single integer."""
    if length == 0:
        return ()
    kinds = ["vector", "matrix", "scalar"] if max_rank > 1 else ["vector", "scalar"] if max_rank else ["scalar"]
    kind = choices.choice(kinds)
    if kind == "scalar":
        return choices.integer(-length, length - 1)
    count = choices.integer(1, MOST)
    if kind == "vector":
        return _entries(choices, length, count)
    return tuple(_entries(choices, length, 2) for _ in range(choices.integer(1, 2)))


def choose_inverse(choices: Choices, shape: Shape, wanted: Shape) -> tuple[AttributeValue, ...]:
    """Return an index that reads an array of shape ``wanted`` from one of ``shape``.

    ``shape`` has the axes of ``wanted``, each at least as long, and perhaps further axes before them.
    """
    lead = len(shape) - len(wanted)
    items: list[AttributeValue] = [choices.integer(-length, length - 1) for length in shape[:lead]]
    gather = -1 if lead or not wanted or choices.boolean(0.5) else choices.integer(0, len(wanted) - 1)
    for axis, (length, count) in enumerate(zip(shape[lead:], wanted, strict=True)):
        if axis == gather and length and count:
            items.append(_entries(choices, length, count))
        else:
            items.append(_slice_of(choices, length, count))
    return tuple(items)


def _entries(choices: Choices, length: int, count: int) -> tuple[int, ...]:
    return tuple(choices.integer(-length, length - 1) for _ in range(count))


def _slice(choices: Choices, length: int) -> Slice:
    step = choices.choice(STEPS)
    start = None if choices.boolean(0.5) else choices.integer(-length, length)
    stop = None if choices.boolean(0.5) else choices.integer(-length, length)
    return Slice(start, stop, None if step == 1 else step)


def _slice_of(choices: Choices, length: int, count: int) -> Slice:
    """Return a slice that picks ``count`` of ``length`` entries, forwards or backwards."""
    if count == 0:
        return Slice(0, 0)
    start = choices.integer(0, length - count)
    if not choices.boolean(0.3):
        return Slice(start, start + count)
    return Slice(start + count - 1, start - 1 if start else None, -1)


def spelled(choices: Choices, axis: int, rank: int) -> int:
    """Return an axis, or an index, counted from the start or from the end."""
    return axis - rank if choices.boolean(NEGATIVE) else axis


def one_axis(choices: Choices, rank: int) -> int:
    """Return an axis. A scalar has the axes of a vector."""
    return spelled(choices, choices.integer(0, max(1, rank) - 1), max(1, rank))


def some_axes(choices: Choices, rank: int, count: int | None = None) -> tuple[int, ...]:
    """Return distinct axes in any order: ``count`` of them, or any number except 0; of a scalar, none."""
    count = choices.integer(min(1, rank), rank) if count is None else count
    return tuple(spelled(choices, axis, rank) for axis in shuffled(choices, rank, count))


def shuffled(choices: Choices, length: int, count: int) -> list[int]:
    """Return ``count`` of the numbers below ``length`` in any order. The simplest order is reversed.

    The identity would change nothing.
    """
    rest = list(range(length))
    return [rest.pop(len(rest) - 1 - choices.integer(0, len(rest) - 1)) for _ in range(count)]


def shifts(choices: Choices, axis: Any) -> AttributeValue:
    """Return how far to roll: a number for each axis of a tuple, else a single number."""
    if isinstance(axis, tuple):
        return tuple(choices.integer(-MOST, MOST) for _ in axis)
    return choices.integer(-MOST, MOST)


def widths(choices: Choices, shape: Shape, bounds: tuple[float, float]) -> tuple[tuple[int, int], ...]:
    """Return how many entries are padded before and after each axis."""
    low, high = map(int, bounds)
    return tuple((choices.integer(low, high), choices.integer(low, high)) for _ in shape)


def amounts(choices: Choices, count: int) -> tuple[int, ...]:
    """Return how often each entry is repeated; 0 is possible."""
    return tuple(choices.choice((2, 1, 3, 0, 1)) for _ in range(count))


def kept_lengths(choices: Choices, stretched: Shape, shape: Shape) -> tuple[int, ...]:
    """Return the stretched shape with -1 for some of the lengths that did not change."""
    lead = len(stretched) - len(shape)
    own = zip(stretched[lead:], shape, strict=True)
    return (*stretched[:lead], *(-1 if n == old and choices.boolean(NEGATIVE) else n for n, old in own))


def points(choices: Choices, length: int) -> tuple[int, ...]:
    """Return sorted positions at which an axis is cut. Parts may be empty."""
    return tuple(sorted(choices.integer(0, length + 1) for _ in range(choices.integer(1, 3))))


def places(choices: Choices, shapes: Sequence[Shape], axis: int, options: Sequence[str]) -> AttributeValue:
    """Return indices along ``axis`` for lines of the first array, in a nested tuple of the array's rank.

    With a second array there is one index for each of its entries. ``fewer``: lines may be left out. ``distinct``: no
    line has an index twice. ``positive``: no index is counted from the end. ``stretched``: axes of length one may stand
    for all lines.
    """
    first = shapes[0]
    if not first:
        return 0 if "positive" in options else choices.integer(-1, 0)
    axis %= len(first)
    lengths = list(shapes[-1])
    if len(shapes) == 1:
        lengths[axis] = choices.integer(1, MOST)
    if "distinct" in options or first[axis] == 0:
        lengths[axis] = min(lengths[axis], first[axis])
    for other in set(range(len(first))) - {axis}:
        if "fewer" in options and choices.boolean(NEGATIVE):
            lengths[other] = choices.integer(min(1, lengths[other]), lengths[other])
        if "stretched" in options and choices.boolean(NEGATIVE) and lengths[other]:
            lengths[other] = 1
    lines = _Lines(choices, axis, first[axis], options)
    return lines.nested(tuple(lengths), ())


class _Lines:
    """Draws the nested tuple of indices entry by entry, and tracks those that each line has."""

    def __init__(self, choices: Choices, axis: int, length: int, options: Sequence[str]) -> None:
        self.choices, self.axis, self.length, self.options = choices, axis, length, options
        self.taken: dict[tuple[int, ...], set[int]] = {}

    def nested(self, shape: Shape, place: tuple[int, ...]) -> AttributeValue:
        if not shape:
            return self.entry((*place[: self.axis], *place[self.axis + 1 :]))
        return tuple(self.nested(shape[1:], (*place, i)) for i in range(shape[0]))

    def entry(self, line: tuple[int, ...]) -> int:
        taken = self.taken.setdefault(line, set())
        free = [i for i in range(self.length) if i not in taken or "distinct" not in self.options]
        index = self.choices.choice(free)
        taken.add(index)
        return index if "positive" in self.options else spelled(self.choices, index, self.length)


def nested(shape: Shape, draw: Callable[[], bool | int]) -> AttributeValue:
    """Return a nested tuple of this shape, with entries that are drawn in order."""
    return tuple(nested(shape[1:], draw) for _ in range(shape[0])) if shape else draw()


def leading(choices: Choices, shape: Shape, _axis: int | None) -> Shape:
    """Return the shape of the first axes, at least of one if there is one."""
    return shape[: choices.integer(min(1, len(shape)), len(shape))]


def stretching(choices: Choices, shape: Shape, _axis: int | None) -> Shape:
    """Return a shape that broadcasts to this one: axes shortened to one, or leading axes left out."""
    kept = shape[choices.integer(0, len(shape)) :] if choices.boolean(NEGATIVE) else shape
    return tuple(1 if n and choices.boolean(NEGATIVE) else n for n in kept)


def along(choices: Choices, shape: Shape, axis: int | None) -> Shape:
    """Return the shape of a vector of the axis's length, or shorter; without an axis, of the number of entries."""
    length = math.prod(shape) if axis is None else shape[axis]
    return (choices.integer(0, length) if choices.boolean(NEGATIVE) else length,)


MASK_SHAPES: Final[Mapping[str, Callable[[Choices, Shape, int | None], Shape]]] = MappingProxyType({
    "leading": leading,
    "stretching": stretching,
    "along": along,
})


def writing_index(choices: Choices, shape: Shape, source: Shape) -> tuple[AttributeValue, ...]:
    """Return an index to which an array of the shape ``source`` can be written. It selects no entry twice.

    It has slices, and perhaps leading integers or one array of integers.
    """
    lead = max(0, len(shape) - len(source))
    wanted = (*(1,) * lead, *source[max(0, len(source) - len(shape)) :])
    gather = choices.integer(0, len(shape)) if choices.boolean(0.4) else -1
    items: list[AttributeValue] = []
    for axis, (length, count) in enumerate(zip(shape, wanted, strict=True)):
        if axis < lead and length and gather < 0 and choices.boolean(0.5):
            items.append(choices.integer(-length, length - 1))
        elif axis == gather and 0 < count <= length:
            items.append(places(choices, [(length,), (count,)], 0, ("distinct",)))
        else:
            items.append(_writing_slice(choices, length, count))
    return tuple(items)


def _writing_slice(choices: Choices, length: int, count: int) -> Slice:
    if count == 1:
        start, stop = choices.integer(-length, length), choices.choice((None, length, -1))
        return Slice(start, stop, choices.choice((None, 2)))
    step = 2 if count and 2 * count - 1 <= length and choices.boolean(0.5) else 1
    span = max(0, step * (count - 1) + 1) if count else 0
    start = choices.integer(0, max(0, length - span))
    return Slice(start, start + span, None if step == 1 else step)
