"""Simplifications of attributes and constants, and the complexity of constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from refgrad.operators import operator_table
from refgrad.operators.table import AttributeType
from refgrad.scenario import Apply, AttributeValue, Constant, Slice

Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]

FEW: Final = 8
"""Largest number of entries of an array that is also simplified entry by entry."""


def simpler_attributes(step: Apply) -> Iterator[Attributes]:
    """Yield simpler attributes: all in their simplest form, then with one simplified at a time."""
    given = dict(step.attributes)
    declared = [attribute for attribute in operator_table()[step.operator].attributes if attribute.name in given]
    plainest = dict(given)
    for attribute in declared:
        if attribute.required:
            plainest[attribute.name] = next(SIMPLER[attribute.type](given[attribute.name]), given[attribute.name])
        else:
            del plainest[attribute.name]
    if plainest != given:
        yield tuple(plainest.items())
    for attribute in declared:
        if not attribute.required:
            yield tuple((name, value) for name, value in given.items() if name != attribute.name)
        for simpler in SIMPLER[attribute.type](given[attribute.name]):
            yield tuple((given | {attribute.name: simpler}).items())


def with_lengths(step: Apply, lengths: Mapping[int, int]) -> Apply:
    """Return the application with shapes and indices adapted to axes that became shorter."""
    if not lengths:
        return step
    types = {attribute.name: attribute.type for attribute in operator_table()[step.operator].attributes}
    adapted = {name: _shortened(types[name], value, lengths) for name, value in step.attributes}
    return replace(step, attributes=tuple(adapted.items()))


def simpler_constants(constant: Constant) -> Iterator[Constant]:
    """Yield constants of the same shape with simpler numbers: ones, small integers, rounded; then entry by entry."""
    array = constant.to_numpy()
    if array.dtype.kind == "b":
        yield Constant.of(np.ones_like(array))
        return
    counting = np.arange(1, array.size + 1).reshape(array.shape).astype(array.dtype)
    for simpler in (np.ones_like(array), counting, np.copysign(counting, array), np.round(array), np.trunc(array)):
        yield Constant.of(simpler, constant.dtype)
    for place in range(array.size if array.size <= FEW else 0):
        for number in (1.0, 2.0, 0.5, np.round(array.flat[place]), np.round(array.flat[place], 1)):
            changed = array.copy()
            changed.flat[place] = number
            yield Constant.of(changed, constant.dtype)
    yield Constant.of(np.round(array, 1), constant.dtype)


def complexity(constant: Constant) -> tuple[int, tuple[str, ...]]:
    """Return the total length of the numbers as text, and the texts to break ties.

    A zero counts as longer than it is, since zeros hide too much.
    """
    words = tuple(f"{number:g}" if float(f"{number:g}") == number else repr(number) for number in _numbers(constant))
    return sum(len(word) + (word in {"0", "-0"}) for word in words), words


def _numbers(constant: Constant) -> list[float]:
    return [float(number) for number in constant.to_numpy().ravel().tolist()]


def _zero_axis(value: Any) -> Iterator[AttributeValue]:
    if value != 0:
        yield 0
    yield from (axis for axis in range(1, 4) if value < 0 or axis < value)


def _fewer_axes(value: Any) -> Iterator[AttributeValue]:
    yield None
    axes = value if isinstance(value, tuple) else (value,) if value is not None else ()
    yield from ((*axes[:place], *axes[place + 1 :]) for place in range(len(axes)) if len(axes) > 1)
    for axis in (0, 1):
        yield (axis,)


def _plain_bool(value: Any) -> Iterator[AttributeValue]:
    if value:
        yield False


def _plain_number(value: Any) -> Iterator[AttributeValue]:
    yield from (number for number in (0.0, 1.0, -1.0, float(round(value)), round(value, 1)) if number != value)


def _plain_shape(value: Any) -> Iterator[AttributeValue]:
    yield (-1,)
    yield ()
    yield from _shorter(value)


def _shorter(value: Any) -> Iterator[AttributeValue]:
    """Yield the tuple with one entry less, or with a smaller one."""
    yield from ((*value[:place], *value[place + 1 :]) for place in range(len(value)))
    for place, length in enumerate(value):
        yield from ((*value[:place], new, *value[place + 1 :]) for new in range(1, min(length, 3)))


def _plain_permutation(value: Any) -> Iterator[AttributeValue]:
    yield None
    rank = len(value or ())
    if value and min(value) < 0:
        yield tuple(axis % rank for axis in value)
    if rank > 1:
        yield (1, 0, *range(2, rank))
    if value and rank > 2:  # noqa: PLR2004 (a permutation of two axes has nothing between it and the identity)
        kept = [axis % rank for axis in value]
        yield from (tuple(a - (a > gone) for a in kept if a != gone) for gone in range(rank))


def _plain_index(value: Any) -> Iterator[AttributeValue]:
    yield (0,)
    yield (Slice(),)
    for place, item in enumerate(value):
        if len(value) > 1:
            yield (*value[:place], *value[place + 1 :])
        for simpler in _plain_item(item):
            yield (*value[:place], simpler, *value[place + 1 :])


def _plain_item(item: Any) -> Iterator[AttributeValue]:
    yield 0
    if isinstance(item, Slice):
        for simpler in (
            Slice(),
            Slice(None, None, -1),
            Slice(None, None, item.step),
            Slice(0, 1),
            Slice(item.start, item.stop),
        ):
            if simpler != item:
                yield simpler
    else:
        yield Slice()
        yield from _plain_indices(item)


def _plain_indices(value: Any) -> Iterator[AttributeValue]:
    """Yield zeros, fewer indices, or one level less of nesting."""
    if not isinstance(value, tuple):
        if value:
            yield 0
        return
    yield (0,)
    yield (0, 0)
    for place, item in enumerate(value):
        if len(value) > 1:
            yield (*value[:place], *value[place + 1 :])
        if isinstance(item, tuple):
            yield item
        for simpler in _plain_indices(item):
            yield (*value[:place], simpler, *value[place + 1 :])


def _plain_entries(value: Any, plain: tuple[AttributeValue, ...]) -> Iterator[AttributeValue]:
    """Yield the value with one entry, however nested, replaced by a plain one, or without last entries."""
    if not isinstance(value, tuple):
        yield from (entry for entry in plain if entry != value)
        return
    for place, item in enumerate(value):
        for simpler in _plain_entries(item, plain):
            yield (*value[:place], simpler, *value[place + 1 :])
    if len(value) > 1:
        yield value[:-1]
    if value and all(isinstance(item, tuple) and len(item) > 1 for item in value):
        yield tuple(item[:-1] for item in value)


def _first_classes(value: Any) -> Iterator[AttributeValue]:
    """Yield the first class everywhere."""
    if (first := _wrapped(value, 1)) != value:
        yield first


SIMPLER: Final[Mapping[AttributeType, Callable[[Any], Iterator[AttributeValue]]]] = MappingProxyType({
    "axis": _zero_axis,
    "new_axis": _zero_axis,
    "unit_axis": _zero_axis,
    "axes": _fewer_axes,
    "bool": _plain_bool,
    "float": _plain_number,
    "shape": _plain_shape,
    "broadcast_shape": _shorter,
    "any_shape": _shorter,
    "permutation": _plain_permutation,
    "index": _plain_index,
    "indices": _plain_indices,
    "classes": _first_classes,
    "int": lambda value: (number for number in (0, 1, -1, 2) if number != value),
    "real": _plain_number,
    "option": lambda _: iter(()),
    "flat_axis": lambda value: iter(()) if value is None else (simpler for simpler in (None, *_zero_axis(value))),
    "scalar_axis": _zero_axis,
    "axis_list": lambda value: (simpler for simpler in _fewer_axes(value) if simpler is not None),
    "matching_axes": lambda value: (simpler for simpler in _fewer_axes(value) if simpler is not None),
    "axis_pair": lambda value: (simpler for simpler in ((0, 1), (1, 0)) if simpler != value),
    "new_axis_pair": lambda value: (simpler for simpler in ((0, 1), (1, 0)) if simpler != value),
    "shifts": lambda value: _plain_entries(value, (1, 0, -1)),
    "pad_width": lambda value: _plain_entries(value, (0, 1)),
    "repeats": lambda value: _plain_entries(value, (1, 2, 0)),
    "counts": lambda value: _plain_entries(value, (1, 2, 0)),
    "factors": _shorter,
    "expanded_shape": _shorter,
    "points": lambda value: _plain_entries(value, (1, 0)),
    "position": lambda value: (number for number in (0, -1, 1) if number != value),
    "places": lambda value: _plain_entries(value, (0, 1)),
    "rows": lambda value: _plain_entries(value, (0, 1)),
    "flat_places": lambda value: _plain_entries(value, (0, 1)),
    "mask": lambda value: _plain_entries(value, (True,)),
    "writing_index": _plain_index,
})

SHAPE_TYPES: Final = frozenset({"shape", "broadcast_shape", "any_shape", "expanded_shape"})
INDEX_TYPES: Final = frozenset({"index", "indices", "position", "writing_index"})
ENTRY_TYPES: Final = frozenset({"places", "rows", "mask", "counts", "pad_width", "classes"})
"""Types of nested tuples whose shape depends on that of an array."""


def _shortened(kind: AttributeType, value: Any, lengths: Mapping[int, int]) -> AttributeValue:
    if kind in SHAPE_TYPES:
        return tuple(lengths.get(length, length) for length in value)
    if kind in ENTRY_TYPES:
        return _wrapped(_cut(value, lengths), min(lengths.values()))
    return _wrapped(value, min(lengths.values())) if kind in INDEX_TYPES else value


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
