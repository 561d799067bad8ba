"""Random values of attributes, given the shapes of the operands: one function for each attribute type."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.generation.profile import COUNTS, INTEGERS, NUMBERS, STANDARD, Choices, Profile
from refgrad.operators import Attribute, Operator
from refgrad.operators.operator import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue, Slice

STEPS: Final = (1, -1, 2, -2)


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
    def rank(self) -> int:
        """Number of axes of the first operand."""
        return len(self.shapes[0])

    @property
    def length(self) -> int:
        """Length of the chosen axis, or the number of entries without one."""
        axis = self.chosen.get("axis")
        return math.prod(self.shape) if axis is None or not self.shape else self.shape[axis]

    def of_type(self, kind: AttributeType) -> Any:
        """Return the value that was chosen for the first attribute of a type, or None."""
        names = [attribute.name for attribute in self.operator.attributes if attribute.type == kind]
        return self.chosen.get(names[0]) if names else None


def from_bounds(choices: Choices, _site: Site, attribute: Attribute) -> int:
    """Return an integer between the bounds of the attribute."""
    return choices.integer(*map(int, attribute.bounds))


def real(choices: Choices, _site: Site, attribute: Attribute) -> float:
    """Return a number between the bounds of the attribute, or one that users often give."""
    usual = choices.happens("usual_attribute")
    return choices.choice(usual_numbers(attribute)) if usual else choices.decimals(*attribute.bounds, 1)[0]


def usual_numbers(attribute: Attribute) -> list[float]:
    """Return common values of an attribute: its default, simple numbers within its bounds, and its lower bound."""
    low, high = attribute.bounds
    numbers = [number for number in NUMBERS["usual_attributes"] if low <= number <= high]
    return [*dict.fromkeys([*numbers, low] if attribute.required else [attribute.default, *numbers, low])]


def increasing(choices: Choices, site: Site, attribute: Attribute) -> float:
    """Return a number from the attribute's own part of the sample range, so that those of an operator increase."""
    names = [other.name for other in site.operator.attributes if other.type == attribute.type]
    low, high = next(iter(site.operator.samples.values()), NUMBERS["default_range"])
    width, part = (high - low) / len(names), names.index(attribute.name)
    return choices.decimals(low + width * (part + 0.1), low + width * (part + 0.9), 1)[0]


def truth(choices: Choices, _site: Site, _attribute: Attribute) -> bool:
    """Return a truth value."""
    return choices.happens("fair_coin")


def option(choices: Choices, _site: Site, attribute: Attribute) -> Any:
    """Return one of the options of the attribute."""
    return choices.choice(attribute.options)


def differing_axes(shapes: tuple[Shape, ...]) -> list[int]:
    """Return the axes along which arrays of these shapes can be joined: all other lengths are equal."""
    first = shapes[0]
    if any(len(shape) != len(first) for shape in shapes):
        return []
    differing = {axis for shape in shapes for axis, length in enumerate(shape) if length != first[axis]}
    return [axis for axis in range(len(first)) if differing <= {axis}]


def spelled(choices: Choices, axis: int, rank: int) -> int:
    """Return an axis, or an index, counted from the start or from the end."""
    return axis - rank if choices.happens("from_the_end") else axis


def _one_axis(choices: Choices, rank: int) -> int:
    return spelled(choices, choices.integer(0, rank - 1), rank)


def _some_axes(choices: Choices, rank: int, count: int) -> tuple[int, ...]:
    """Return distinct axes in any order."""
    return tuple(spelled(choices, axis, rank) for axis in _shuffled(choices, rank, count))


def _shuffled(choices: Choices, length: int, count: int) -> list[int]:
    """Return ``count`` of the numbers below ``length`` in any order. The simplest order is reversed.

    The identity would change nothing.
    """
    rest = list(range(length))
    return [rest.pop(len(rest) - 1 - choices.integer(0, len(rest) - 1)) for _ in range(count)]


def axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    """Return an axis along which the operands can be joined."""
    return spelled(choices, choices.choice(differing_axes(site.shapes)), site.rank)


def new_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    """Return an axis of the result, which has one more than the first operand."""
    return _one_axis(choices, site.rank + 1)


def unit_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    """Return an axis of length one."""
    axes = [axis for axis, length in enumerate(site.shape) if length == 1]
    return spelled(choices, choices.choice(axes), site.rank)


def axes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return None for all axes, or an axis, or some axes in any order."""
    if site.rank == 0 or choices.happens("all_axes"):
        return None
    if choices.happens("single_axis"):
        return _one_axis(choices, site.rank)
    shuffled = _shuffled(choices, site.rank, site.rank)[: choices.integer(1, site.rank)]
    return tuple(spelled(choices, axis, site.rank) for axis in shuffled)


def scalar_axis(choices: Choices, site: Site, _attribute: Attribute) -> int:
    """Return an axis. A scalar has the axes of a vector."""
    return _one_axis(choices, max(1, site.rank))


def flat_axis(choices: Choices, site: Site, attribute: Attribute) -> int | None:
    """Return an axis, or None for all entries in order."""
    return None if not site.shape or choices.happens("from_the_end") else scalar_axis(choices, site, attribute)


def axis_list(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return some axes, or one of them."""
    some = _some_axes(choices, site.rank, choices.integer(min(1, site.rank), site.rank))
    return some[0] if len(some) == 1 and choices.happens("fair_coin") else some


def matching_axes(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    """Return as many axes as the attribute before has."""
    others = site.of_type("axis_list")
    if isinstance(others, tuple):
        return _some_axes(choices, site.rank, len(others))
    return scalar_axis(choices, site, attribute)


def axis_pair(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return two axes."""
    return _some_axes(choices, site.rank, 2)


def new_axis_pair(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return two axes of a result that has one axis more than the first operand."""
    return _some_axes(choices, site.rank + 1, 2)


def permutation(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return None for reversed axes, or a permutation, often a cycle of all axes."""
    rank = site.rank
    if choices.happens("reversed_axes"):
        return None
    if rank > 2 and choices.happens("cycle"):  # noqa: PLR2004 (the cycles of two axes are their own inverses)
        start = choices.integer(1, rank - 1)
        return tuple(spelled(choices, (start + number) % rank, rank) for number in range(rank))
    return _some_axes(choices, rank, rank)


def shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a factorization of the number of entries, one factor of which may be left to be inferred."""
    return _perhaps_inferred(choices, _factorization(choices, math.prod(site.shape), site.profile.max_rank))


def factors(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return a factorization of the length of an axis, one factor of which may be left to be inferred."""
    return _perhaps_inferred(choices, _factorization(choices, site.length, 3) or (1,))


def _perhaps_inferred(choices: Choices, lengths: Shape) -> Shape:
    """Return the lengths, perhaps with -1 for one of them, which is then inferred from the others."""
    if not lengths or 0 in lengths or not choices.happens("from_the_end"):
        return lengths
    at = choices.integer(0, len(lengths) - 1)
    return (*lengths[:at], -1, *lengths[at + 1 :])


def _factorization(choices: Choices, size: int, max_rank: int) -> Shape:
    if size == 0:
        others = choices.integer(0, max(max_rank, 1) - 1)
        lengths = [choices.choice(INTEGERS["lengths_of_empty"]) for _ in range(others)]
        lengths.insert(choices.integer(0, len(lengths)), 0)
        return tuple(lengths)
    divisors: list[int] = []
    while size > 1 and len(divisors) < max_rank - 1 and choices.happens("another_factor"):
        divisors.append(choices.choice([n for n in range(1, size + 1) if size % n == 0]))
        size //= divisors[-1]
    if size == 1 and (len(divisors) == max_rank or not choices.happens("factor_of_one")):
        return tuple(divisors)
    return (*divisors, size)


def stretched(choices: Choices, shape: Shape, profile: Profile) -> Shape:
    """Return a shape to which this one broadcasts: axes of length one stretched, axes added in front."""
    lead = [
        choices.choice(profile.dimensions) for _ in range(choices.integer(0, max(0, profile.max_rank - len(shape))))
    ]
    rest = [choices.choice(profile.dimensions) if n == 1 and choices.happens("stretched_axis") else n for n in shape]
    return tuple(rest if math.prod(lead + rest) > profile.largest_size else lead + rest)


def broadcast_shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a shape to which the first operand broadcasts."""
    return stretched(choices, site.shape, site.profile)


def expanded_shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a shape to which the first operand broadcasts, with -1 for some of the lengths that do not change."""
    result = stretched(choices, site.shape, site.profile)
    lead = len(result) - site.rank
    own = zip(result[lead:], site.shape, strict=True)
    return (*result[:lead], *(-1 if n == old and choices.happens("from_the_end") else n for n, old in own))


def any_shape(choices: Choices, site: Site, _attribute: Attribute) -> Shape:
    """Return a shape from which an index can read the first operand: some axes longer, perhaps one axis more."""
    leads = site.rank < site.profile.max_rank and choices.happens("leading_axis")
    lead = [choices.choice(INTEGERS["leading_lengths"])] if leads else []
    return (*lead, *(length + choices.integer(0, COUNTS["most_unread"]) for length in site.shape))


def nested(shape: Shape, draw: Callable[[], bool | int]) -> AttributeValue:
    """Return a nested tuple of this shape, with entries that are drawn in order."""
    return tuple(nested(shape[1:], draw) for _ in range(shape[0])) if shape else draw()


def shifts(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return how far to roll: a number for each axis of a tuple, else a single number."""
    axis, most = site.chosen["axis"], COUNTS["most_indices"]
    return nested((len(axis),) if isinstance(axis, tuple) else (), lambda: choices.integer(-most, most))


def widths(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    """Return how many entries are padded before and after each axis."""
    return nested((site.rank, 2), lambda: from_bounds(choices, site, attribute))


def repeats(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return how often the array is repeated along each of some axes; 0 is possible."""
    return _amounts(choices, choices.integer(0, site.profile.max_rank))


def counts(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return how often each entry is repeated; 0 is possible."""
    return _amounts(choices, site.length)


def _amounts(choices: Choices, count: int) -> AttributeValue:
    return nested((count,), lambda: choices.choice(INTEGERS["repetitions"]))


def points(choices: Choices, site: Site, _attribute: Attribute) -> tuple[int, ...]:
    """Return sorted positions at which an axis is cut. Parts may be empty."""
    return tuple(sorted(choices.integer(0, site.length + 1) for _ in range(choices.integer(1, COUNTS["most_cuts"]))))


def position(choices: Choices, site: Site, _attribute: Attribute) -> int:
    """Return an index into an axis."""
    return _entry(choices, site.length) if site.length else 0


def index(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return an index into the first operand, or, after a chosen ``any_shape``, one that reads it from that shape."""
    larger = site.of_type("any_shape")
    return _index(choices, site.shape) if larger is None else _inverse(choices, larger, site.shape)


def _index(choices: Choices, shape: Shape) -> tuple[AttributeValue, ...]:
    """Return an index into an array of this shape: slices with any step, and integers or integer arrays.

    Integers and arrays do not occur in one index, since libraries disagree about where the array's axes then go. Arrays
    of one index have one length; their entries may repeat and count from the end.
    """
    axes = choices.integer(1, len(shape))
    count = choices.integer(1, COUNTS["most_indices"]) if choices.happens("array_in_index") else None
    items: list[AttributeValue] = []
    for length in shape[:axes]:
        if length == 0 or choices.happens("fair_coin"):
            items.append(_slice(choices, length))
        elif count is None:
            items.append(_entry(choices, length) if choices.happens("integer_in_index") else Slice())
        else:
            items.append(_entries(choices, length, count))
    return tuple(items)


def _inverse(choices: Choices, shape: Shape, result: Shape) -> tuple[AttributeValue, ...]:
    """Return an index that reads an array of shape ``result`` from one of ``shape``.

    ``shape`` has the axes of ``result``, each at least as long, and perhaps further axes before them.
    """
    lead = len(shape) - len(result)
    items: list[AttributeValue] = [_entry(choices, length) for length in shape[:lead]]
    sliced = lead or not result or choices.happens("fair_coin")
    gather = -1 if sliced else choices.integer(0, len(result) - 1)
    for axis, (length, count) in enumerate(zip(shape[lead:], result, strict=True)):
        if axis == gather and length and count:
            items.append(_entries(choices, length, count))
        else:
            items.append(_slice_of(choices, length, count))
    return tuple(items)


def indices(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return indices into an axis: a tuple, a tuple of tuples, or a single integer."""
    length = site.shape[site.of_type("axis") or 0]
    if length == 0:
        return ()
    room = max(0, site.profile.max_rank - site.rank + 1)
    kinds = ["vector", "matrix", "scalar"] if room > 1 else ["vector", "scalar"] if room else ["scalar"]
    kind = choices.choice(kinds)
    if kind == "scalar":
        return _entry(choices, length)
    count = choices.integer(1, COUNTS["most_indices"])
    if kind == "vector":
        return _entries(choices, length, count)
    return tuple(_entries(choices, length, 2) for _ in range(choices.integer(1, 2)))


def _entry(choices: Choices, length: int) -> int:
    return choices.integer(-length, length - 1)


def _entries(choices: Choices, length: int, count: int) -> tuple[int, ...]:
    return tuple(_entry(choices, length) for _ in range(count))


def _slice(choices: Choices, length: int) -> Slice:
    step = choices.choice(STEPS)
    start = None if choices.happens("fair_coin") else choices.integer(-length, length)
    stop = None if choices.happens("fair_coin") else choices.integer(-length, length)
    return Slice(start, stop, None if step == 1 else step)


def _slice_of(choices: Choices, length: int, count: int) -> Slice:
    """Return a slice that picks ``count`` of ``length`` entries, forwards or backwards."""
    if count == 0:
        return Slice(0, 0)
    start = choices.integer(0, length - count)
    if not choices.happens("reversed_slice"):
        return Slice(start, start + count)
    return Slice(start + count - 1, start - 1 if start else None, -1)


def writing_index(choices: Choices, site: Site, _attribute: Attribute) -> tuple[AttributeValue, ...]:
    """Return an index to which the second operand can be written. It selects no entry twice.

    It has slices, and perhaps leading integers or one array of integers.
    """
    shape, source = site.shapes[:2]
    lead = max(0, len(shape) - len(source))
    counts = (*(1,) * lead, *source[max(0, len(source) - len(shape)) :])
    gather = choices.integer(0, len(shape)) if choices.happens("array_in_index") else -1
    items: list[AttributeValue] = []
    for axis, (length, count) in enumerate(zip(shape, counts, strict=True)):
        if axis < lead and length and gather < 0 and choices.happens("fair_coin"):
            items.append(_entry(choices, length))
        elif axis == gather and 0 < count <= length:
            items.append(_lines(choices, [(length,), (count,)], 0, ("distinct",)))
        else:
            items.append(_writing_slice(choices, length, count))
    return tuple(items)


def _writing_slice(choices: Choices, length: int, count: int) -> Slice:
    if count == 1:
        start, stop = choices.integer(-length, length), choices.choice((None, length, -1))
        return Slice(start, stop, choices.choice((None, 2)))
    step = 2 if count and 2 * count - 1 <= length and choices.happens("fair_coin") else 1
    span = max(0, step * (count - 1) + 1) if count else 0
    start = choices.integer(0, max(0, length - span))
    return Slice(start, start + span, None if step == 1 else step)


def classes(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return a class for every entry of the axes other than that of classes, which is the second or the only one."""
    axis = 1 if site.rank > 1 else 0
    length = site.shape[axis]
    return nested((*site.shape[:axis], *site.shape[axis + 1 :]), lambda: choices.integer(0, length - 1))


def line_indices(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    """Return indices along the chosen axis for lines of the first operand."""
    return _lines(choices, site.shapes, site.chosen["axis"], attribute.options)


def rows(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    """Return indices into the chosen axis: as many as the second operand has entries along it, if there is one."""
    axis, shapes = site.chosen["axis"], [shape or (1,) for shape in site.shapes]
    count = shapes[1][axis] if len(shapes) > 1 else choices.integer(min(1, site.length), COUNTS["most_indices"])
    return _lines(choices, [(shapes[0][axis],), (count,)], 0, attribute.options)


def flat_indices(choices: Choices, site: Site, _attribute: Attribute) -> AttributeValue:
    """Return an index into all entries for each entry of the last operand, distinct ones unless they accumulate."""
    size, count = math.prod(site.shape), math.prod(site.shapes[-1])
    if not size:
        return ()
    if site.chosen.get("accumulate", True):
        chosen = [choices.integer(0, size - 1) for _ in range(count)]
    else:
        free = list(range(size))
        chosen = [free.pop(choices.integer(0, len(free) - 1)) for _ in range(min(count, size))]
    return tuple(spelled(choices, i, size) for i in chosen)


def _lines(choices: Choices, shapes: Sequence[Shape], axis: int, options: Sequence[str]) -> AttributeValue:
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
        lengths[axis] = choices.integer(1, COUNTS["most_indices"])
    if "distinct" in options or first[axis] == 0:
        lengths[axis] = min(lengths[axis], first[axis])
    for other in set(range(len(first))) - {axis}:
        if "fewer" in options and choices.happens("from_the_end"):
            lengths[other] = choices.integer(min(1, lengths[other]), lengths[other])
        if "stretched" in options and choices.happens("from_the_end") and lengths[other]:
            lengths[other] = 1
    taken: dict[tuple[int, ...], set[int]] = {}

    def entry(at: tuple[int, ...]) -> int:
        """Return an index for an entry, and note it for the line that the entry belongs to."""
        line = taken.setdefault((*at[:axis], *at[axis + 1 :]), set())
        chosen = choices.choice([i for i in range(first[axis]) if i not in line or "distinct" not in options])
        line.add(chosen)
        return chosen if "positive" in options else spelled(choices, chosen, first[axis])

    entries = map(entry, itertools.product(*map(range, lengths)))
    return nested(tuple(lengths), lambda: next(entries))


def mask(choices: Choices, site: Site, attribute: Attribute) -> AttributeValue:
    """Return truth values for the first axes, for all entries, or along one axis."""
    return nested(MASK_SHAPES[attribute.options[0]](choices, site), lambda: choices.happens("true_in_mask"))


def _leading(choices: Choices, site: Site) -> Shape:
    """Return the shape of the first axes, at least of one if there is one."""
    return site.shape[: choices.integer(min(1, site.rank), site.rank)]


def _stretching(choices: Choices, site: Site) -> Shape:
    """Return a shape that broadcasts to the first operand: axes shortened to one, or leading axes left out."""
    kept = site.shape[choices.integer(0, site.rank) :] if choices.happens("from_the_end") else site.shape
    return tuple(1 if n and choices.happens("from_the_end") else n for n in kept)


def _along(choices: Choices, site: Site) -> Shape:
    """Return the shape of a vector of the axis's length, or shorter; without an axis, of the number of entries."""
    return (choices.integer(0, site.length) if choices.happens("from_the_end") else site.length,)


MASK_SHAPES: Final[Mapping[str, Callable[[Choices, Site], Shape]]] = MappingProxyType({
    "leading": _leading,
    "stretching": _stretching,
    "along": _along,
})
