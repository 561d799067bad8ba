"""Scenarios that are recorded while a function runs, and the calls of libraries as operators of the table.

``specs/tracing`` has the names that each library gives to its calls.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from refgrad.checking.subject import Pullback
from refgrad.interpreter import Noted, numpy_forward
from refgrad.interpreter.composites import composed
from refgrad.operators import Operator, OperatorError, operator_table
from refgrad.scenario import Apply, AttributeValue, Constant, Leaf, Scenario, ScenarioError, Slice
from refgrad.scenario.attributes import check_value
from refgrad.specification import specs_directory

Array = npt.NDArray[Any]

LARGEST_WHOLE_POWER = 16
"""Largest whole exponent that is recorded as products, which allow a negative base."""

LONGEST_TRACE = 20_000
"""Largest number of operators of a function that is traced. Differences judge larger ones faster."""


class Untraceable(Exception):  # noqa: N818 (no failure: differences are used then)
    """A function does something for which the operator table has no row, which the message names."""


class RecordedLeaf(NamedTuple):
    """A leaf. Its step of the scenario is made only if needed, since most functions are judged without a scenario."""

    name: str
    array: Array
    requires_grad: bool


class Applied(NamedTuple):
    """An operator with its arguments, and its attributes as values of Python. The step is made when it is needed."""

    name: str
    operator: Operator
    arguments: tuple[str, ...]
    attributes: Mapping[str, Any]
    inner: Noted | None
    """The steps of a composite operator."""


class Recorder:
    """The steps so far, and the value of each name in float64."""

    def __init__(self) -> None:
        """Create a record without steps."""
        self.steps: list[RecordedLeaf | Applied] = []
        self.values: dict[str, Array] = {}
        self.inputs: list[str] = []
        """Names of the leaves that gradients are asked for."""

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
        self.steps.append(RecordedLeaf(name, array, requires_grad))
        self.inputs += [name] if requires_grad else []
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
        try:
            bound = row.bind(attributes or {})
            if row.formula is not None and None in bound.values():
                raise Untraceable(f"it calls {operator} with a number that is left open")
            for value in bound.values():
                check_value(_storable_attribute(value))
            arrays, inner = [self.values[a] for a in arguments], None
            if row.composite is None:
                result = numpy_forward(row)(*arrays, **bound)
            else:
                result, inner = composed(row, list(map(np.asarray, arrays)), bound)
        except (ScenarioError, OperatorError, ValueError, IndexError, TypeError) as error:
            raise Untraceable(f"it calls {operator} in a way that the row does not have: {error}") from error
        self.values[name] = np.asarray(result)
        self.steps.append(Applied(name, row, tuple(arguments), bound, inner))
        terms = self._terms(arguments)
        self.work += self.values[name].size * terms
        self.terms += terms
        return name

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, once everything is recorded."""
        return Scenario(tuple(map(_step, self.steps)))

    def _terms(self, arguments: Sequence[str]) -> int:
        """Return the approximate number of products that are summed in one entry of the result."""
        if len(arguments) != 2 or self.values[arguments[1]].ndim < 2:  # noqa: PLR2004 (two operands)
            return 1
        second = self.values[arguments[1]]
        return max(1, int(second.size) // max(int(second.shape[0]), 1))


def values_elsewhere(steps: Sequence[RecordedLeaf | Applied], leaves: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the value of every name for other values of some leaves."""
    values: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        for step in steps:
            if isinstance(step, RecordedLeaf):
                values[step.name] = leaves.get(step.name, step.array)
            else:
                arguments = [values[name] for name in step.arguments]
                values[step.name] = np.asarray(numpy_forward(step.operator)(*arguments, **step.attributes))
    return values


def _step(step: RecordedLeaf | Applied) -> Leaf | Apply:
    if isinstance(step, RecordedLeaf):
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
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class CallNames:
    """The names that a library gives to the operators of the table and their parameters.

    A row has the name of an operator, or of a method of the library's translator, and parameters that it sets unless
    the library does. The other fields are those of the file in ``specs/tracing``.
    """

    rows: Mapping[str, tuple[str, Mapping[str, Any]]]
    parameters: Mapping[str, str]
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    programs: Mapping[str, str] = field(default_factory=dict)
    equations: Mapping[str, str] = field(default_factory=dict)


@cache
def call_names(library: str) -> CallNames:
    """Return the names of a library."""
    text = (specs_directory() / "tracing" / f"{library}.toml").read_text(encoding="utf-8")
    fields: dict[str, Any] = {
        key: frozenset(value) if isinstance(value, list) else value for key, value in tomllib.loads(text).items()
    }
    plain = [row for row in operator_table().values() if row.elementwise and not row.attributes]
    rows: dict[str, Any] = {name: (row.name, {}) for row in plain for name in (row.name, *row.aliases)}
    rows |= {name: (name, {}) for name in fields.pop("same")}
    for name, row in fields.pop("operators").items():
        rows[name] = (row, {}) if isinstance(row, str) else (row.pop("call", name), row)
    return CallNames(rows, **fields)


class Translator:
    """Records calls of one library."""

    library: ClassVar[str]

    def __init__(self, recorder: Recorder) -> None:
        """Record into ``recorder``."""
        self.recorder = recorder
        self.call_names = call_names(self.library)

    def name_of(self, value: Any) -> str:
        """Return the name of a value of the library. Record it as a constant if it does not depend on the inputs."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """Return an argument as numbers, words and tuples. Raise Untraceable if it depends on the inputs."""
        return value

    def translate(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Record a call and return the name of its result, or a list of names. Raise Untraceable if it has no row."""
        parameters = self.call_names.parameters
        named = {parameters.get(key, key): value for key, value in keywords.items() if value is not None}
        return self.call(name, arguments, named)

    def call(self, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Record a call whose keywords have the names of refgrad's table, and return what ``translate`` does."""
        if name not in self.call_names.rows:
            raise Untraceable(f"it calls {name}, which the operator table does not have")
        target, parameters = self.call_names.rows[name]
        method = getattr(self, target, None)
        named = {**parameters, **named}
        try:
            return self.row(target, *arguments, **named) if method is None else method(*arguments, **named)
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
        """Return the recorded name of a value; a name is returned unchanged."""
        return x if type(x) is str and x in self.recorder.values else self.name_of(x)

    def value(self, x: Any) -> Array:
        """Return the recorded value."""
        return self.recorder.values[self.named(x)]

    def shape(self, x: Any) -> tuple[int, ...]:
        """Return the shape of a value."""
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

    def reduction(self, x: Any, axis: Any = None, keepdims: Any = None, *, operator: str) -> str:
        """Record a reduction."""
        return self.row(operator, x, axis=axes(axis), keepdims=bool(keepdims))

    def index(self, x: Any, index: Any) -> str:
        """Record ``x[index]``."""
        shape = self.shape(x)
        result = self.row("index", x, index=positions(index, len(shape)))
        expected = np.broadcast_to(False, shape)[index].shape  # noqa: FBT003 (only its shape matters)
        return result if expected == self.shape(result) else self.row("reshape", result, shape=expected)


@cache
def _parameters(operator: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of an operator's attributes, and whether it takes any number of arrays."""
    row = operator_table()[operator]
    return row.attribute_names, row.argument_names == ("arrays",)


def sizes(first: Any, rest: Sequence[Any] = ()) -> tuple[int, ...]:
    """Return lengths or axes that come as one sequence, or each by itself."""
    return tuple(int(n) for n in (first if isinstance(first, tuple | list) else (first, *rest)))


def axes(axis: Any) -> Any:
    """Return one axis, a tuple of axes, or None for all."""
    return None if axis is None else sizes(axis) if isinstance(axis, tuple | list) else int(axis)


def positions(index: Any, rank: int) -> tuple[Any, ...]:
    """Return an index without its new axes as integers, slices and tuples. Raise Untraceable if it is of another kind.

    Arrays of booleans become the arrays of integers that mean the same.
    """
    indices = [part for part in (index if isinstance(index, tuple) else (index,)) if part is not None]
    parts = [whole for part in indices for whole in _integers(part)]
    at = next((number for number, part in enumerate(parts) if part is Ellipsis), None)
    if at is not None:
        parts[at : at + 1] = [slice(None)] * (rank + 1 - len(parts))
    return tuple(map(position, parts))


def _integers(part: Any) -> Sequence[Any]:
    """Return an index as it is, but a boolean array as the integer arrays that mean the same."""
    if part is Ellipsis or isinstance(part, bool | int | slice):
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
    return array.item() if array.ndim == 0 else _storable_attribute(array.tolist())
