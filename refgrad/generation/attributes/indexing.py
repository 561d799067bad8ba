"""Random indices into an array of a given shape."""

from __future__ import annotations

from typing import Final

from refgrad.generation.choices import Choices
from refgrad.operators.structure import Shape
from refgrad.scenario import AttributeValue, Slice

MAXIMUM_INDICES: Final = 4
STEPS: Final = (1, -1, 2, -2)


def choose_index(choices: Choices, shape: Shape) -> tuple[AttributeValue, ...]:
    """Return an index into an array of this shape: slices with any step, and integers or integer arrays.

    Integers and arrays do not occur in one index, since libraries disagree about where the array's axes then go. Arrays
    of one index have one length; their entries may repeat and count from the end.
    """
    axes = choices.integer(1, len(shape))
    count = choices.integer(1, MAXIMUM_INDICES) if choices.boolean(0.4) else None
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
    count = choices.integer(1, MAXIMUM_INDICES)
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
