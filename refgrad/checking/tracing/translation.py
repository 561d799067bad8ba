"""Calls of a library as operators of the table.

The table of a library has a row for each name that the library gives to a call: the name of an operator, or a function
that records several. Elementwise operators without attributes need no row if the library calls them as the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from refgrad.checking.tracing.recorder import Array, Recorder, Untraceable
from refgrad.operators import operator_table

Call = Callable[..., Any]
Row = str | Call

LARGEST_WHOLE_POWER = 16
"""Largest whole exponent that is recorded as products, which allow a negative base."""


class Translator:
    """Records calls of one library."""

    rows: ClassVar[Mapping[str, Row]]
    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Names of the table, or of the functions below, for parameters that the library names otherwise."""

    ignored: ClassVar[frozenset[str]] = frozenset()
    """Parameters that do not change the value."""

    def __init__(self, recorder: Recorder) -> None:
        """Record into ``recorder``."""
        self.recorder = recorder

    def name_of(self, value: Any) -> str:
        """Return the name of a value of the library. Record it as a constant if it does not depend on the inputs."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """Return an argument as numbers, words and tuples. Raise Untraceable if it depends on the inputs."""
        return value

    def translate(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Record a call and return the name of its result, or a list of names. Raise Untraceable if it has no row."""
        row = self.rows.get(name) or elementwise_names().get(name)
        if row is None:
            raise Untraceable(f"it calls {name}, which the operator table does not have")
        named = {
            self.renamed.get(key, key): value
            for key, value in keywords.items()
            if value is not None and key not in self.ignored
        }
        try:
            if isinstance(row, str):
                return self.row(row, *arguments, **named)
            return row(self, *arguments, **named)
        except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            raise Untraceable(f"it calls {name} in a way that is not known: {error}") from error

    def row(self, operator: str, *arguments: Any, **named: Any) -> str:
        """Record an operator. Arguments are recorded names or values; named ones are attributes if it has such."""
        known = operator_table()[operator]
        attributes = {key: self.plain(named.pop(key)) for key in known.attribute_names if key in named}
        values = [*arguments, *named.values()]
        if known.argument_names == ("arrays",) and len(values) == 1:
            (values,) = values
        return self.recorder.apply(operator, list(map(self.named, values)), attributes)

    def named(self, x: Any) -> str:
        """Return the recorded name of a value, or of what is a name already."""
        return x if type(x) is str and x in self.recorder.values else self.name_of(x)

    def value(self, x: Any) -> Array:
        """Return the recorded value."""
        return self.recorder.values[self.named(x)]

    def shape(self, x: Any) -> tuple[int, ...]:
        """Return its shape."""
        return self.value(x).shape

    def entries(self, sources: Sequence[Any], labels: Array) -> str:
        """Record an array of entries of other arrays.

        Label ``n`` is entry ``n`` of all sources in a row, counted from 1; label 0 is the number 0. Raise Untraceable
        if a label is no such number.
        """
        flat: list[Any] = [self.row("reshape", x, shape=(prod(self.shape(x)),)) for x in sources]
        size = sum(self.value(x).size for x in flat)
        if not (np.isfinite(labels) & (labels >= 0) & (labels <= size)).all():
            raise Untraceable("it reads beyond the end of an array")
        first = 0 if (labels == 0).any() else 1
        parts = flat if first else [np.zeros(1), *flat]
        joined = parts[0] if len(parts) == 1 else self.row("concatenate", parts, axis=0)
        taken = self.row("take", joined, axis=0, indices=tuple((labels.ravel() - first).astype(int).tolist()))
        return self.row("reshape", taken, shape=labels.shape)


@cache
def elementwise_names() -> Mapping[str, str]:
    """Return the elementwise operators without attributes by every name that they have."""
    return MappingProxyType({
        name: row.name
        for row in operator_table().values()
        if row.elementwise and not row.attributes
        for name in (row.name, *row.aliases)
    })


def sizes(first: Any, rest: Sequence[Any] = ()) -> tuple[int, ...]:
    """Return lengths or axes that come as one sequence, or each by itself."""
    return tuple(int(n) for n in (first if isinstance(first, tuple | list) else (first, *rest)))


def axes(axis: Any) -> Any:
    """Return one axis, a tuple of axes, or None for all."""
    return None if axis is None else sizes(axis) if isinstance(axis, tuple | list) else int(axis)


def reduction(operator: str) -> Call:
    """Return what records a reduction."""

    def reduce(t: Translator, x: Any, axis: Any = None, keepdims: Any = None) -> str:
        return t.row(operator, x, axis=axes(axis), keepdims=bool(keepdims))

    return reduce


def reshape(t: Translator, x: Any, shape: Any, *more: Any) -> str:
    """Record another shape, one length of which may be -1."""
    lengths = sizes(shape, more)
    known, size = prod(n for n in lengths if n != -1), prod(t.shape(x))
    return t.row("reshape", x, shape=tuple(size // max(known, 1) if n == -1 else n for n in lengths))


def ravel(t: Translator, x: Any) -> str:
    """Record all entries in a row."""
    return reshape(t, x, -1)


def broadcast(t: Translator, x: Any, shape: Any) -> str:
    """Record a repetition along axes; -1 leaves a length as it is."""
    lengths = sizes(shape)
    own = (1,) * (len(lengths) - len(t.shape(x))) + t.shape(x)
    return t.row("broadcast_to", x, shape=tuple(m if n == -1 else n for n, m in zip(lengths, own, strict=True)))


def swap_axes(t: Translator, x: Any, dim0: int, dim1: int) -> str:
    """Record the transposition of two axes."""
    order = list(range(len(t.shape(x))))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return t.row("transpose", x, axes=tuple(order))


def squeeze(t: Translator, x: Any, axis: Any = None) -> str:
    """Record an array without its axes of length 1, or without some of them."""
    shape = t.shape(x)
    chosen = range(len(shape)) if axis is None else sizes(axis)
    gone = {a % len(shape) for a in chosen if shape and shape[a] == 1}
    return t.row("reshape", x, shape=tuple(n for a, n in enumerate(shape) if a not in gone))


def power(t: Translator, x: Any, y: Any) -> str:
    """Record a power. A whole exponent is recorded as products, so that the base may be negative."""
    exponent = float(y) if isinstance(y, int | float | np.number) else 0.5
    if not (exponent.is_integer() and 1 <= abs(exponent) <= LARGEST_WHOLE_POWER):
        return t.row("power", x, y)
    base = result = t.named(x)
    for _ in range(int(abs(exponent)) - 1):
        result = t.row("multiply", result, base)
    return result if exponent > 0 else t.row("reciprocal", result)


def clip(t: Translator, x: Any, lower: Any = None, upper: Any = None) -> str:
    """Record bounds."""
    result = t.named(x)
    if lower is not None:
        result = t.row("maximum", result, lower)
    return result if upper is None else t.row("minimum", result, upper)


def same(t: Translator, x: Any, *_: Any, **__: Any) -> str:
    """Return the value itself: memory, device, dtype and recording do not change it."""
    return t.named(x)


def index(t: Translator, x: Any, index: Any) -> str:
    """Record ``x[index]``."""
    position, new_axes = positions(index, len(t.shape(x)))
    result = t.row("index", x, index=position)
    for axis in new_axes:
        result = t.row("expand_dims", result, axis=axis)
    return result


def positions(index: Any, rank: int) -> tuple[tuple[Any, ...], list[int]]:
    """Return an index as integers, slices and tuples, and the axes that it adds.

    Raise Untraceable if it is of another kind.
    """
    parts = [whole for part in (index if isinstance(index, tuple) else (index,)) for whole in _integers(part)]
    taken = sum(1 for part in parts if part is not None and part is not Ellipsis)
    if Ellipsis in [part for part in parts if part is Ellipsis]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (rank - taken)
    new_axes = [i for i, part in enumerate(parts) if part is None]
    found = tuple(position(part) for part in parts if part is not None)
    if new_axes and any(type(each) is not slice for each in found):
        raise Untraceable("it indexes with None and integers at once")
    return found, new_axes


def _integers(part: Any) -> Sequence[Any]:
    """Return an index as it is, but a boolean array as the integer arrays that mean the same."""
    if part is None or part is Ellipsis or isinstance(part, bool | int | slice):
        return (part,)
    array = np.asarray(part)
    return np.nonzero(array) if array.dtype == np.bool_ and array.ndim else (part,)


def position(part: Any) -> Any:
    """Return one part of an index as an integer, a slice or a tuple. Raise Untraceable if it is none."""
    if isinstance(part, slice):
        return part
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return int(part)
    array = np.asarray(part)
    if array.dtype.kind not in "iu":
        raise Untraceable(f"it indexes with {array.dtype}")
    return array.item() if array.ndim == 0 else _nested(array.tolist())


def _nested(items: Any) -> Any:
    return tuple(_nested(item) for item in items) if isinstance(items, list) else items
