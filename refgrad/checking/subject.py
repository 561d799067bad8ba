"""A function of an engine's tensors at a point: its inputs, and its outputs as arrays of real numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any
from warnings import catch_warnings

import numpy as np

from refgrad.checking.libraries import Library, SubjectError, UnsupportedError, library_of
from refgrad.checking.libraries.chance import Chance
from refgrad.checking.libraries.numbers import Array, Arrays, Kind
from refgrad.checking.libraries.trees import tree_of
from refgrad.checking.pullbacks import Pullback, Watching, pullback_of, unwatched
from refgrad.native.engine import Engine

Make = Callable[[int, Array], Any]
"""Function that makes the tensor of a checked input from its number and its array."""

NO_KIND = Kind("object")
"""Kind of inputs that are no tensors."""


@dataclass(frozen=True, slots=True)
class Input:
    """A leaf of the arguments: a tensor with its values, or another object, which is passed on unchanged.

    ``name`` is ``0``, ``0['w']``, or ``the parameter 'weight'``, for example.
    """

    given: Any
    name: str
    array: Array | None = None
    kind: Kind = NO_KIND
    checked: bool = False


class Subject:
    """A function under test, an engine, and the point at which it is tested."""

    def __init__(self, engine: Engine, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        """Copy the inputs. Raises UnsupportedError if there is nothing to differentiate by."""
        self.engine = engine
        self.library: Library = library_of(engine)
        parameters = self.library.parameters(function)
        self.parameters = tuple(parameters)
        self.arguments_tree = tree_of(tuple(inputs), self.library.is_tensor)
        self.tree = self.arguments_tree
        if parameters:
            self.tree = tree_of((*inputs, *parameters.values()), self.library.is_tensor)
        self.output_places: tuple[str, ...] = ()
        self.output_kinds: tuple[Kind, ...] = ()
        self.function = self.library.with_parameters(function, tuple(parameters))
        self.inputs = _read_inputs(self.library, self.arguments_tree, parameters)
        self.positions = tuple(i for i, x in enumerate(self.inputs) if x.checked)
        self.point: Arrays = tuple(self.inputs[i].array for i in self.positions)  # type: ignore[misc]
        self.kinds = tuple(self.inputs[i].kind for i in self.positions)
        self.copied = False
        self.program: Any = None
        """The library's own program of the function, once it is needed."""
        self.chance = Chance(self.library)
        if not self.positions:
            raise UnsupportedError("none of the inputs is an array of floating-point numbers")

    def name_of(self, position: int) -> str:
        """Return the name of an input."""
        return self.inputs[position].name

    def at(self, point: Arrays) -> Subject:
        """Return the same function at another point."""
        arguments = list(self.inputs)
        for i, array in zip(self.positions, point, strict=True):
            old = arguments[i]
            arguments[i] = Input(old.given, old.name, array, old.kind, checked=True)
        other = copy(self)
        other.inputs, other.point = tuple(arguments), point
        return other

    def raised(self) -> Subject | None:
        """Return the same function with all operations in float64, or None if that is impossible."""
        function = self.library.raised(self.function)
        if function is None:
            return None
        other = copy(self)
        other.function = function
        return other

    @property
    def is_flat(self) -> bool:
        """Return True if the leaves are the arguments themselves."""
        return all(place.count("[") == 1 and "." not in place for place in self.tree.places)

    def spelled(self, names: Sequence[str]) -> str:
        """Return code for the call of the function, with names for the leaves."""
        count = len(names) - len(self.parameters)
        arguments = ", ".join(self.arguments_tree.spell(names[:count]))
        if not self.parameters:
            return f"function({arguments})"
        pairs = ", ".join(f"{key!r}: {name}" for key, name in zip(self.parameters, names[count:], strict=True))
        return self.library.module_call(pairs, arguments)

    def make(self, position: int, array: Array) -> Any:
        """Return a new tensor for a checked input, in float64 if the array is, else in the dtype of the input."""
        kind = self.inputs[position].kind
        if array.dtype == np.float64 and kind.part != "float64":
            kind = Kind("complex128" if kind.is_complex else "float64", kind.strides)
        return self.library.make(array, kind, requires_grad=True)

    def seed(self, seed: Array, kind: Kind | None = None) -> Any:
        """Return a new cotangent of the engine."""
        return self.library.seed(seed, Kind(seed.dtype.name) if kind is None else kind)

    def read(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values."""
        return self.library.read(tensor)

    def arguments(self, point: Arrays, make: Make | None = None) -> list[Any]:
        """Return the leaves of the arguments at a point: new tensors for checked inputs, the others as given."""
        make = make or self.make
        checked = dict(zip(self.positions, point, strict=True))
        return [
            make(i, checked[i])
            if i in checked
            else x.given
            if x.array is None
            else self.library.make(x.array, x.kind, requires_grad=False)
            for i, x in enumerate(self.inputs)
        ]

    def call(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs that are tensors. Raises SubjectError if the function raises or returns none."""
        self.chance.again()
        given = self.tree.build([self._passed(i, argument) for i, argument in enumerate(arguments)])
        try:
            outputs = self.function(*given)
        except Exception as error:
            if not self.copied and "leaf Variable" in str(error):  # it writes to its inputs, which are leaves here
                self.copied = True
                return self.call(arguments)
            raise SubjectError(f"the function raised {type(error).__name__}: {error}") from error
        return self._tensors(outputs)

    def applied(self, *primals: Any) -> tuple[Any, ...]:
        """Return the outputs for other checked inputs; the other inputs are as given."""
        given = dict(zip(self.positions, primals, strict=True))
        return self.call(self.arguments(self.point, lambda position, _: given[position]))

    def _passed(self, position: int, argument: Any) -> Any:
        return argument.clone() if self.copied and position in self.positions else argument

    def _tensors(self, outputs: Any) -> tuple[Any, ...]:
        if len(self.output_places) == 1 and self.library.is_tensor(outputs):
            return (outputs,)
        tree = tree_of(outputs, self.library.is_tensor)
        leaves = tree.leaves
        floats = (float,) if self.library.counts_floats else ()
        found = tuple(leaf for leaf in leaves if isinstance(leaf, floats) or self.library.is_tensor(leaf))
        if not found:
            raise SubjectError(f"output 0 is {_name(leaves[0]) if leaves else 'empty'}, not a tensor")
        if self.output_places and len(found) != len(self.output_places):
            raise SubjectError("the function returns another number of tensors in another call", cause="changes")
        if not self.output_places:
            pairs = zip(leaves, tree.places, strict=True)
            self.output_places = tuple(
                p for leaf, p in pairs if isinstance(leaf, floats) or self.library.is_tensor(leaf)
            )
        return found

    def values(self, point: Arrays) -> Arrays:
        """Return the outputs at a point as arrays."""
        return tuple(map(self.read, self.call(self.arguments(point))))

    def pullback(self, point: Arrays, watching: Watching = unwatched) -> Pullback:
        """Run the function forward, and return its pullback."""
        return pullback_of(self, point, watching)


def _name(leaf: Any) -> str:
    """Return the type of a leaf that is no tensor of numbers, and its dtype if it has one."""
    name, dtype = type(leaf).__name__, getattr(leaf, "dtype", None)
    return name if dtype is None else f"{name} of dtype {dtype}"


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warnings of the function and of the check, once for all calls, as it takes as long as a call."""
    with np.errstate(all="ignore"), catch_warnings(action="ignore"):
        yield


def _read_inputs(library: Library, tree: Any, parameters: dict[str, Any]) -> tuple[Input, ...]:
    own = _checked(library, tree.leaves, [place[1:].replace("]", "", 1) for place in tree.places])
    more = (_input(library, p, f"the parameter {name!r}", checked=True) for name, p in parameters.items())
    try:
        return (*own, *more)
    except NotImplementedError as error:
        raise UnsupportedError(str(error)) from error


def _checked(library: Library, leaves: Sequence[Any], names: Sequence[str]) -> list[Input]:
    """Read the leaves. Floating-point leaves are checked; if some require a gradient, only those."""
    tensors = [library.is_tensor(leaf) for leaf in leaves]
    floats = [library.counts_floats and isinstance(leaf, float) and not any(tensors) for leaf in leaves]
    read = [
        _input(library, leaf, name, checked=True) if is_tensor or is_float else Input(leaf, name)
        for leaf, name, is_tensor, is_float in zip(leaves, names, tensors, floats, strict=True)
    ]
    required = [x.checked and library.requires_grad(x.given) for x in read]
    chosen = required if any(required) else [x.checked for x in read]
    return [x if x.checked == taken else replace(x, checked=taken) for x, taken in zip(read, chosen, strict=True)]


def _input(library: Library, tensor: Any, name: str, *, checked: bool) -> Input:
    kind = library.kind(tensor)
    return Input(tensor, name, library.read(tensor), kind, checked and kind.floating)
