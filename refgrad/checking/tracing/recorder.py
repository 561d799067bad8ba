"""Scenarios that are recorded while a function runs, and the calls of libraries as operators of the table.

The table of a library has a row for each name that the library gives to a call: the name of an operator, or a function
that records several. Elementwise operators without attributes need no row if the library calls them as the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from refgrad.checking.subject import Pullback
from refgrad.interpreter import numpy_forward
from refgrad.operators import Operator, OperatorError, operator_table
from refgrad.scenario import Apply, AttributeValue, Constant, Leaf, Scenario, ScenarioError, Slice
from refgrad.scenario.attributes import check_value

Array = npt.NDArray[Any]
Call = Callable[..., Any]
Row = str | Call

LARGEST_WHOLE_POWER = 16
"""Largest whole exponent that is recorded as products, which allow a negative base."""

LONGEST_TRACE = 20_000
"""Largest number of operators of a function that is traced. Differences judge larger ones faster."""


class Untraceable(Exception):  # noqa: N818 (it is no error: the function is checked in another way)
    """A function does something for which the operator table has no row, which the message names."""


class Given(NamedTuple):
    """A leaf. The step of the scenario is made when it is needed: most functions are judged without it."""

    name: str
    array: Array
    requires_grad: bool


class Applied(NamedTuple):
    """An operator with its arguments, and its attributes as values of Python. The step is made when it is needed."""

    name: str
    operator: Operator
    arguments: tuple[str, ...]
    attributes: Mapping[str, Any]


class Recorder:
    """The steps so far, and the value of each name in float64."""

    def __init__(self) -> None:
        """Create a record without steps."""
        self.steps: list[Given | Applied] = []
        self.values: dict[str, Array] = {}
        self.counts: dict[str, int] = {}
        self.work = 0
        """Approximate number of operations on numbers."""

        self.terms = 0
        """Approximate number of operations that lead to an entry."""

        self.dtypes: set[str] = set()
        """Names of the dtypes to which the function rounded values."""

        self.sealed = False
        """True if everything that depends on the inputs is known to be recorded."""

        self.run: Pullback | None = None
        """The run of the function during which it was recorded, if gradients can be asked of it."""

    def fresh(self, stem: str) -> str:
        """Return a name that no step has yet: ``stem1``, ``stem2`` and so on."""
        number = self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{number}"

    def leaf(self, name: str, array: Array, *, requires_grad: bool) -> str:
        """Record a leaf."""
        array = _storable(array)
        self.steps.append(Given(name, array, requires_grad))
        self.values[name] = array
        return name

    def constant(self, array: Array) -> str:
        """Record a leaf that needs no gradient."""
        return self.leaf(self.fresh("c"), array, requires_grad=False)

    def apply(self, operator: str, arguments: Sequence[str], attributes: Mapping[str, Any] | None = None) -> str:
        """Record an operator. Raise Untraceable if the row does not accept its arguments."""
        row = operator_table()[operator]
        if len(self.steps) >= LONGEST_TRACE:
            raise Untraceable(f"it applies more than {LONGEST_TRACE} operators")
        name = self.fresh("a")
        names = tuple(arguments)
        try:
            bound = row.bind(attributes or {})
            if row.formula is not None and None in bound.values():
                raise Untraceable(f"it calls {operator} with a number that is left open")
            for value in bound.values():
                check_value(_storable_attribute(value))
            self.values[name] = np.asarray(numpy_forward(row)(*(self.values[a] for a in arguments), **bound))
        except (ScenarioError, OperatorError, ValueError, IndexError, TypeError) as error:
            raise Untraceable(f"it calls {operator} in a way that the row does not have: {error}") from error
        self.steps.append(Applied(name, row, names, bound))
        terms = self._terms(arguments)
        self.work += self.values[name].size * terms
        self.terms += terms
        return name

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the leaves that gradients are asked for."""
        return tuple(step.name for step in self.steps if isinstance(step, Given) and step.requires_grad)

    def scenario(self) -> Scenario:
        """Return the scenario."""
        return Scenario(tuple(map(_step, self.steps)))

    def _terms(self, arguments: Sequence[str]) -> int:
        """Return about how many products an entry of the result is the sum of."""
        if len(arguments) != 2 or self.values[arguments[1]].ndim < 2:  # noqa: PLR2004 (an operator of two arrays)
            return 1
        second = self.values[arguments[1]]
        return max(1, int(second.size) // max(int(second.shape[0]), 1))


def _step(step: Given | Applied) -> Leaf | Apply:
    if isinstance(step, Given):
        return Leaf(step.name, Constant.of(step.array), step.requires_grad)
    attributes = tuple((name, _storable_attribute(value)) for name, value in step.attributes.items())
    return Apply(step.name, step.operator.name, step.arguments, attributes)


def _storable(array: Array) -> Array:
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype.char not in "df?":
        raise Untraceable(f"it uses an array of {array.dtype}")
    return array


def _storable_attribute(value: Any) -> AttributeValue:
    """Return an index, axes or bounds of a library as the value of an attribute."""
    if isinstance(value, slice):
        return Slice(*(None if part is None else int(part) for part in (value.start, value.stop, value.step)))
    if isinstance(value, tuple | list):
        return tuple(_storable_attribute(item) for item in value)
    if isinstance(value, np.generic):
        return value.item()  # type: ignore[no-any-return]
    return value  # type: ignore[no-any-return]


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
        renamed = self.renamed
        named = {renamed.get(key, key): value for key, value in keywords.items() if value is not None}
        for key in self.ignored & named.keys():
            del named[key]
        return self.call(name, arguments, named)

    def call(self, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Record a call with parameters by the names of the table, as ``translate`` does."""
        row = self.rows.get(name) or elementwise_names().get(name)
        if row is None:
            raise Untraceable(f"it calls {name}, which the operator table does not have")
        try:
            if isinstance(row, str):
                return self.row(row, *arguments, **named)
            return row(self, *arguments, **named)
        except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            raise Untraceable(f"it calls {name} in a way that is not known: {error}") from error

    def row(self, operator: str, *arguments: Any, **named: Any) -> str:
        """Record an operator. Arguments are recorded names or values; named ones are attributes if it has such."""
        attribute_names, variadic = _parameters(operator)
        attributes = {key: self.plain(named.pop(key)) for key in attribute_names if key in named}
        values = [*arguments, *named.values()]
        if variadic and len(values) == 1:
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

    def reshape(self, x: Any, shape: Any, *more: Any) -> str:
        """Record another shape, one length of which may be -1."""
        lengths, x = sizes(shape, more), self.named(x)
        known, size = prod(n for n in lengths if n != -1), prod(self.shape(x))
        return self.row("reshape", x, shape=tuple(size // max(known, 1) if n == -1 else n for n in lengths))

    def ravel(self, x: Any) -> str:
        """Record all entries in a row."""
        return self.reshape(x, -1)

    def broadcast(self, x: Any, shape: Any) -> str:
        """Record a repetition along axes; -1 leaves a length as it is."""
        lengths, x = sizes(shape), self.named(x)
        own = (1,) * (len(lengths) - len(self.shape(x))) + self.shape(x)
        return self.row("broadcast_to", x, shape=tuple(m if n == -1 else n for n, m in zip(lengths, own, strict=True)))

    def swap_axes(self, x: Any, dim0: int, dim1: int) -> str:
        """Record the transposition of two axes."""
        order = list(range(len(self.shape(x))))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return self.row("transpose", x, axes=tuple(order))

    def squeeze(self, x: Any, axis: Any = None) -> str:
        """Record an array without its axes of length 1, or without some of them."""
        shape = self.shape(x)
        chosen = range(len(shape)) if axis is None else sizes(axis)
        gone = {a % len(shape) for a in chosen if shape and shape[a] == 1}
        return self.row("reshape", x, shape=tuple(n for a, n in enumerate(shape) if a not in gone))

    def power(self, x: Any, y: Any) -> str:
        """Record a power. A whole exponent is recorded as products, so that the base may be negative."""
        exponent = float(y) if isinstance(y, int | float | np.number) else 0.5
        if not (exponent.is_integer() and 1 <= abs(exponent) <= LARGEST_WHOLE_POWER):
            return self.row("power", x, y)
        base = result = self.named(x)
        for _ in range(int(abs(exponent)) - 1):
            result = self.row("multiply", result, base)
        return result if exponent > 0 else self.row("reciprocal", result)

    def clip(self, x: Any, lower: Any = None, upper: Any = None) -> str:
        """Record bounds."""
        result = self.named(x)
        if lower is not None:
            result = self.row("maximum", result, lower)
        return result if upper is None else self.row("minimum", result, upper)

    def same(self, x: Any, *_: Any, **__: Any) -> str:
        """Return the value itself: memory, device, dtype and recording do not change it."""
        return self.named(x)

    def index(self, x: Any, index: Any) -> str:
        """Record ``x[index]``."""
        position, new_axes = positions(index, len(self.shape(x)))
        result = self.row("index", x, index=position)
        for axis in new_axes:
            result = self.row("expand_dims", result, axis=axis)
        return result


@cache
def _parameters(operator: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of an operator's attributes, and whether it takes any number of arrays."""
    row = operator_table()[operator]
    return row.attribute_names, row.argument_names == ("arrays",)


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
