"""Simpler values of attributes: one function for each attribute type, which yields the boldest simplification first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue, Slice
from refgrad.scenario.rewrite import spliced

Simpler: TypeAlias = Callable[[Any], Iterator[AttributeValue]]


def one_of(plain: Sequence[AttributeValue]) -> Simpler:
    """Return the function that yields each of these values that is not the given one."""
    return lambda value: (each for each in plain if each != value)


def entries(plain: Sequence[AttributeValue]) -> Simpler:
    """Return the function that replaces one entry, however nested, by a plain one, or leaves out last entries."""

    def simpler(value: Any) -> Iterator[AttributeValue]:
        if not isinstance(value, tuple):
            yield from (entry for entry in plain if entry != value)
            return
        for at, item in enumerate(value):
            yield from (spliced(value, at, each) for each in simpler(item))
        if len(value) > 1:
            yield value[:-1]
        if value and all(isinstance(item, tuple) and len(item) > 1 for item in value):
            yield tuple(item[:-1] for item in value)

    return simpler


def axis(value: Any) -> Iterator[AttributeValue]:
    """Yield the first axis, then the next ones."""
    if value != 0:
        yield 0
    yield from (axis for axis in range(1, 4) if value < 0 or axis < value)


def flat_axis(value: Any) -> Iterator[AttributeValue]:
    """Yield None instead of an axis, then other axes."""
    return iter(()) if value is None else iter((None, *axis(value)))


def axes(value: Any) -> Iterator[AttributeValue]:
    """Yield all axes, then fewer axes."""
    yield None
    yield from axis_list(value)


def axis_list(value: Any) -> Iterator[AttributeValue]:
    """Yield fewer axes."""
    listed = value if isinstance(value, tuple) else (value,) if value is not None else ()
    yield from (spliced(listed, at) for at in range(len(listed)) if len(listed) > 1)
    yield from ((0,), (1,))


def number(value: Any) -> Iterator[AttributeValue]:
    """Yield plain numbers, then rounded ones."""
    return one_of((0.0, 1.0, -1.0, float(round(value)), round(value, 1)))(value)


def shape(value: Any) -> Iterator[AttributeValue]:
    """Yield a vector, a scalar, then shorter shapes."""
    yield from ((-1,), ())
    yield from lengths(value)


def lengths(value: Any) -> Iterator[AttributeValue]:
    """Yield the tuple with one entry less, or with a smaller one."""
    yield from (spliced(value, at) for at in range(len(value)))
    for at, length in enumerate(value):
        yield from (spliced(value, at, new) for new in range(1, min(length, 3)))


def permutation(value: Any) -> Iterator[AttributeValue]:
    """Yield reversed axes, axes counted from the start, a single exchange, then permutations of fewer axes."""
    yield None
    rank = len(value or ())
    if value and min(value) < 0:
        yield tuple(axis % rank for axis in value)
    if rank > 1:
        yield (1, 0, *range(2, rank))
    if value and rank > 2:  # noqa: PLR2004 (a permutation of two axes has nothing between it and the identity)
        kept = [axis % rank for axis in value]
        yield from (tuple(a - (a > gone) for a in kept if a != gone) for gone in range(rank))


def index(value: Any) -> Iterator[AttributeValue]:
    """Yield the first entry, everything, then the index with one item less or a simpler one."""
    yield from ((0,), (Slice(),))
    for at, item in enumerate(value):
        if len(value) > 1:
            yield spliced(value, at)
        yield from (spliced(value, at, each) for each in _item(item))


def _item(item: Any) -> Iterator[AttributeValue]:
    yield 0
    if isinstance(item, Slice):
        reverse, stepped = Slice(None, None, -1), Slice(None, None, item.step)
        yield from one_of((Slice(), reverse, stepped, Slice(0, 1), Slice(item.start, item.stop)))(item)
    else:
        yield Slice()
        yield from indices(item)


def indices(value: Any) -> Iterator[AttributeValue]:
    """Yield zeros, fewer indices, or one level less of nesting."""
    if not isinstance(value, tuple):
        if value:
            yield 0
        return
    yield from ((0,), (0, 0))
    for at, item in enumerate(value):
        if len(value) > 1:
            yield spliced(value, at)
        if isinstance(item, tuple):
            yield item
        yield from (spliced(value, at, each) for each in indices(item))


def classes(value: Any) -> Iterator[AttributeValue]:
    """Yield the first class everywhere."""
    return one_of((_wrapped(value, 1),))(value)


SHAPES: Final = frozenset({"shape", "broadcast_shape", "any_shape", "expanded_shape"})
INDICES: Final = frozenset({"index", "indices", "position", "writing_index"})
ENTRIES: Final = frozenset({"places", "rows", "mask", "counts", "pad_width", "classes"})
"""Types of nested tuples whose shape depends on that of an array."""


def shortened(kind: AttributeType, value: Any, lengths: Mapping[int, int]) -> AttributeValue:
    """Return the value adapted to axes that became shorter: ``lengths`` are the new lengths of the old ones."""
    if kind in SHAPES:
        return tuple(lengths.get(length, length) for length in value)
    if kind in ENTRIES:
        return _wrapped(_cut(value, lengths), min(lengths.values()))
    return _wrapped(value, min(lengths.values())) if kind in INDICES else value


def _cut(value: Any, lengths: Mapping[int, int]) -> AttributeValue:
    """Shorten every tuple, however nested, that is as long as an axis that became shorter."""
    if not isinstance(value, tuple):
        return value  # type: ignore[no-any-return]
    return tuple(_cut(item, lengths) for item in value[: lengths.get(len(value), len(value))])


def _wrapped(value: Any, length: int) -> AttributeValue:
    """Wrap every index, however nested, into an axis of this length."""
    if isinstance(value, tuple):
        return tuple(_wrapped(item, length) for item in value)
    if isinstance(value, Slice | bool):
        return value
    return int(value) % length if value >= 0 else -(-int(value) % length or length)
