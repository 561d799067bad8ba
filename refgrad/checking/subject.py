"""A function of an engine's tensors at a point: its inputs, its outputs as real arrays, and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from warnings import catch_warnings

import numpy as np

from refgrad.checking.deadline import Deadline
from refgrad.checking.libraries import SubjectError, TensorLibrary, UnsupportedError, library_of
from refgrad.checking.libraries.library import ChangedError, RandomState, WrongError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Array, Arrays, Kind, as_real, from_real, near, tree_of
from refgrad.native import calls
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.observation import Raised
from refgrad.native.statements import Name
from refgrad.scenario.formats import least_precise

Make = Callable[[int, Array], Any]
"""Function that makes the tensor of a checked input from its number and its array."""

NO_KIND = Kind("object")
"""Kind of inputs that are not tensors."""

REUSABLE = frozenset({"retain_graph", "accumulate", "zero_grad", "seed"})
"""Features that several backward calls through one recorded graph need."""

Seeds = Sequence[Array | None]
"""The cotangent of each output; None for an output that takes no part."""

Gradients = tuple[Array | None, ...]

Watching = Callable[[Sequence[Any]], AbstractContextManager[Any]]
"""Function that takes the checked inputs and returns a context in which the function under test runs."""


@dataclass(frozen=True, slots=True)
class Input:
    """A leaf of the arguments: a tensor with its values, or another object, which is passed on unchanged.

    ``name`` is ``0``, ``0['w']``, or ``the parameter 'weight'``, for example.
    """

    original: Any
    name: str
    array: Array | None = None
    kind: Kind = NO_KIND
    checked: bool = False


class CheckedFunction:
    """A function under test, an engine, and the point at which it is tested."""

    def __init__(
        self,
        engine: Engine,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        pullback: Callable[..., Pullback] | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """Copy the inputs. Raises UnsupportedError if there is nothing to differentiate by.

        ``pullback`` is called as a subclass of Pullback, in place of the one for the engine. After the ``deadline``
        calls and backwards raise OutOfTime.
        """
        self.deadline = deadline or Deadline()
        self.engine = engine
        self.library: TensorLibrary = library_of(engine)
        parameters = self.library.parameters(function)
        self.parameters = tuple(parameters)
        self.arguments_tree = tree_of(tuple(inputs), self.library.is_tensor)
        self.tree = self.arguments_tree
        if parameters:
            self.tree = tree_of((*inputs, *parameters.values()), self.library.is_tensor)
        self.output_paths: tuple[str, ...] = ()
        self.output_kinds: tuple[Kind, ...] = ()
        self.function = self.library.with_parameters(function, tuple(parameters))
        self.inputs = _read_inputs(self.library, self.arguments_tree, parameters)
        self.positions = tuple(i for i, x in enumerate(self.inputs) if x.checked)
        self.names = [self.inputs[i].name for i in self.positions]
        self.point: Arrays = tuple(self.inputs[i].array for i in self.positions)  # type: ignore[misc]
        self.kinds = tuple(self.inputs[i].kind for i in self.positions)
        self.copied = False
        self.drawn: list[tuple[Array, str]] = []
        """Seeds that were drawn, and code that draws them again."""
        self.programs: dict[Any, Any] = {}
        """The library's own programs of the function by the dtypes of the inputs, once they are needed."""
        self.random_state = RandomState(self.library, function, [x.original for x in self.inputs if x.array is None])
        own = DirectPullback if self.library.direct else TapePullback
        self.make_pullback = pullback or (FunctionalPullback if isinstance(engine.adapter, FunctionalAdapter) else own)
        if not self.positions:
            raise UnsupportedError("none of the inputs is an array of floating-point numbers")

    def at(self, point: Arrays) -> CheckedFunction:
        """Return the same function at another point."""
        other, new = copy(self), dict(zip(self.positions, point, strict=True))
        other.inputs = tuple(replace(x, array=new.get(i, x.array)) for i, x in enumerate(self.inputs))
        other.point = point
        return other

    def raised(self) -> CheckedFunction | None:
        """Return the same function with all operations in float64, or None if that is impossible."""
        function = self.library.raised(self.function)
        if function is None:
            return None
        other = copy(self)
        other.function = function
        return other

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
            kind = replace(kind, dtype="complex128" if kind.is_complex else "float64")
        return self.library.make(array, kind, requires_grad=True)

    def arguments(self, point: Arrays, make: Make | None = None) -> list[Any]:
        """Return the leaves of the arguments at a point: new tensors for checked inputs, the others as given."""
        leaves = dict(zip(self.positions, map(make or self.make, self.positions, point), strict=True))
        for i, x in enumerate(self.inputs if len(leaves) < len(self.inputs) else ()):
            if i not in leaves:
                leaves[i] = x.original if x.array is None else self.library.make(x.array, x.kind, requires_grad=False)
        return [leaves[i] for i in range(len(self.inputs))]

    def call(self, arguments: Sequence[Any], function: Callable[..., Any] | None = None) -> tuple[Any, ...]:
        """Return the outputs that are tensors, of a ``function`` that may stand for the one under test.

        Raises SubjectError if the function raises or returns none.
        """
        self.deadline.refuse()
        self.random_state.again()
        if self.copied:
            arguments = [x.clone() if i in self.positions else x for i, x in enumerate(arguments)]
        passed = self.tree.build(arguments)
        try:
            outputs = (function or self.function)(*passed)
        except Exception as error:
            if not self.copied and "leaf Variable" in str(error):  # it writes to an input, which is a leaf
                self.copied = True
                return self.call(arguments, function)
            raise SubjectError(f"the function raised {type(error).__name__}: {error}") from error
        return self._tensors(outputs)

    def applied(self, *primals: Any) -> tuple[Any, ...]:
        """Return the outputs for other checked inputs; the other inputs are as given."""
        by_position = dict(zip(self.positions, primals, strict=True))
        return self.call(self.arguments(self.point, lambda position, _: by_position[position]))

    def _tensors(self, outputs: Any) -> tuple[Any, ...]:
        if len(self.output_paths) == 1 and self.library.is_tensor(outputs):
            return (outputs,)
        tree = tree_of(outputs, self.library.is_tensor)
        leaves, floats = tree.leaves, (float,) if self.library.counts_floats else ()
        pairs = zip(leaves, tree.paths, strict=True)
        tensors = [pair for pair in pairs if isinstance(pair[0], floats) or self.library.is_tensor(pair[0])]
        if not tensors:
            raise SubjectError(f"output 0 is {_name(leaves[0]) if leaves else 'empty'}, not a tensor")
        if self.output_paths and len(tensors) != len(self.output_paths):
            raise ChangedError("the function returns another number of tensors in another call")
        self.output_paths = self.output_paths or tuple(path for _, path in tensors)
        return tuple(leaf for leaf, _ in tensors)

    def values(self, point: Arrays) -> Arrays:
        """Return the outputs at a point as arrays."""
        return tuple(map(self.library.read, self.library.results(self, point)))

    def pullback(self, point: Arrays, watching: Watching = nullcontext) -> Pullback:
        """Run the function forward, and return its pullback."""
        return self.make_pullback(self, point, watching)


def _name(leaf: Any) -> str:
    """Return the type of a leaf that is no tensor of numbers, and its dtype if it has one."""
    name, dtype = type(leaf).__name__, getattr(leaf, "dtype", None)
    return name if dtype is None else f"{name} of dtype {dtype}"


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of the function and of the check. Used once for all calls, since it is slow."""
    with np.errstate(all="ignore"), catch_warnings(action="ignore"):
        yield


def _read_inputs(library: TensorLibrary, tree: Any, parameters: dict[str, Any]) -> tuple[Input, ...]:
    """Read the leaves and the parameters. Floating-point leaves are checked; if some require a gradient, only those."""
    leaves, names = tree.leaves, [path[1:].replace("]", "", 1) for path in tree.paths]
    tensors = [library.is_tensor(leaf) for leaf in leaves]
    floats = [library.counts_floats and isinstance(leaf, float) and not any(tensors) for leaf in leaves]
    read = [
        _input(library, leaf, name, checked=True) if is_tensor or is_float else Input(leaf, name)
        for leaf, name, is_tensor, is_float in zip(leaves, names, tensors, floats, strict=True)
    ]
    required = [x.checked and library.requires_grad(x.original) for x in read]
    chosen = required if any(required) else [x.checked for x in read]
    own = [x if x.checked == taken else replace(x, checked=taken) for x, taken in zip(read, chosen, strict=True)]
    more = (_input(library, p, f"the parameter {name!r}", checked=True) for name, p in parameters.items())
    try:
        return (*own, *more)
    except NotImplementedError as error:
        raise UnsupportedError(str(error)) from error


def _input(library: TensorLibrary, tensor: Any, name: str, *, checked: bool) -> Input:
    kind = library.kind(tensor)
    return Input(tensor, name, library.read(tensor), kind, checked and kind.floating)


class Pullback:
    """The function run forward once, and its gradients under any seeds."""

    runs_by_itself = False
    """True if each backward runs the function anew, so that no state carries over to the next backward."""

    make: Make | None = None
    """Function that creates the checked inputs; None for the function of the subject."""

    outputs: Arrays
    kinds: tuple[Kind, ...]

    def __init__(self, subject: CheckedFunction, point: Arrays, watching: Watching = nullcontext) -> None:
        """Record the function at a point."""
        self.subject = subject
        self.watching = watching
        self.library = subject.library
        self.point = point
        self.record()
        self.kinds = tuple(map(self.library.kind, self.tensors))
        self.outputs = tuple(map(self.library.read, self.tensors))

    @cached_property
    def active(self) -> tuple[bool, ...]:
        """Mask of the outputs that can be run backward.

        These are the floating outputs or, if the engine declares which of them were recorded, only the recorded ones.
        """
        floating = tuple(kind.floating for kind in self.kinds)
        pairs = zip(self.tensors, floating, strict=True)
        recorded = tuple(taken and bool(getattr(tensor, "requires_grad", True)) for tensor, taken in pairs)
        return recorded if any(recorded) else floating

    @cached_property
    def precision(self) -> str:
        """Coarsest dtype of the inputs, the outputs and the values between them."""
        dtypes = {kind.part for kind in (*self.subject.kinds, *self.kinds)}
        return least_precise(dtypes | {*self.library.inner_dtypes(self.subject, self.tensors)})

    def record(self) -> None:
        """Run the function forward."""
        self.arguments = self.subject.arguments(self.point, self.make)
        self.leaves = [self.arguments[i] for i in self.subject.positions]
        with self.watching(self.leaves):
            self.tensors = self.subject.call(self.arguments)
        self.refuse_writes("the function")

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradient of each checked input, None if there is none.

        Raises SubjectError if the backward raises, and WrongError if it writes to an input or a seed.
        """
        raise NotImplementedError

    def seeded(self, seeds: Seeds) -> Iterator[tuple[int, Array, Any]]:
        """Yield each output that has a seed, with the seed as an array and as a tensor."""
        for k, seed in enumerate(seeds):
            if seed is not None and getattr(self.tensors[k], "requires_grad", True):
                yield k, seed, self.library.seed(seed, self.kinds[k])

    @contextmanager
    def backward_from(self, output: int) -> Iterator[None]:
        """Convert exceptions of the backward to WrongError, or to UnsupportedError if there is no backward at all."""
        self.subject.deadline.refuse()
        try:
            yield
        except SubjectError:
            raise
        except Exception as error:
            raised = Raised(type(error).__name__, str(error), tuple(each.__name__ for each in type(error).__mro__))
            if raised.is_unsupported or self.subject.engine.adapter.refuses(raised.text):
                raise UnsupportedError(f"the backward from output {output} is not there: {error}") from error
            raise WrongError(f"the backward from output {output} raised {raised.text}") from error

    def refuse_writes(self, who: str) -> None:
        """Raise WrongError if an input has changed."""
        for name, leaf, array in zip(self.subject.names, self.leaves, self.point, strict=True):
            values = self.library.values(leaf)
            if not same_bits(as_real(values) if values.dtype.kind == "c" else values, array):
                raise WrongError(f"{who} writes to input {name}")

    def refuse_written_seed(self, tensor: Any, seed: Array, output: int) -> None:
        """Raise WrongError if a seed has changed."""
        expected = np.asarray(self.library.oriented(from_real(seed, self.kinds[output])))
        if not same_bits(expected, self.library.values(tensor)):
            raise WrongError(f"the backward writes to the seed of output {output}")


class DirectPullback(Pullback):
    """Pullback of a library that returns gradients without storing them in the leaves."""

    returned: Sequence[tuple[str, Any, Array]] = ()
    """The gradients that were returned last: the input of each, and its values."""

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradients of all outputs at once."""
        return self.together([(self, seeds)])[0]

    def together(self, runs: Sequence[tuple[DirectPullback, Seeds]]) -> list[Gradients]:
        """Return the gradients of several runs of the function under seeds of their own.

        They come from one call of the library, which takes longer than the backward of a small function.
        """
        seeded = [(run, *each) for run, seeds in runs for each in run.seeded(seeds)]
        leaves = [leaf for run, _ in runs for leaf in run.leaves]
        gradients: Sequence[Any] = [None] * len(leaves)
        if seeded:
            with self.backward_from(seeded[0][1]):
                tensors, seeds = [run.tensors[k] for run, k, _, _ in seeded], [seed for *_, seed in seeded]
                gradients = self.library.gradients(tensors, leaves, seeds)
        for run, k, array, seed in seeded:
            run.refuse_written_seed(seed, array, k)
        remaining = iter(gradients)
        return [run.read([next(remaining) for _ in run.leaves]) for run, _ in runs]

    def read(self, gradients: Sequence[Any]) -> Gradients:
        """Return gradients as arrays. Raises WrongError if the backward wrote to inputs or to earlier gradients."""
        for name, earlier, array in self.returned:
            if not same_bits(self.library.read_gradient(earlier), array):
                what = f"the gradient of input {name} that an earlier one returned"
                raise WrongError(f"the backward writes to {what}")
        self.refuse_writes("the backward")
        result = tuple(None if each is None else self.library.read_gradient(each) for each in gradients)
        triples = zip(self.subject.names, gradients, result, strict=True)
        self.returned = [(name, each, array) for name, each, array in triples if array is not None]
        return result


class TapePullback(Pullback):
    """Pullback of an engine that runs the outputs backward one by one and stores gradients in the leaves."""

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradients, from one recorded graph if the engine can reuse it."""
        adapter = self.subject.engine.adapter
        assert isinstance(adapter, TapeAdapter)
        totals: list[Array | None] = [None] * len(self.leaves)
        reusable = adapter.features >= REUSABLE
        call = calls.backward(adapter, "output", Name("seed"), retain_graph=True)
        for k, seed, tensor in self.seeded(seeds):
            if not reusable:
                self.record()
            with self.backward_from(k):
                self.subject.engine.evaluate(call, output=self.tensors[k], seed=tensor)
            self.refuse_written_seed(tensor, seed, k)
            if not reusable:
                totals = [_sum(total, new) for total, new in zip(totals, self.collect(adapter), strict=True)]
        if reusable:
            totals = self.collect(adapter)
            for leaf in self.leaves:
                self.subject.engine.evaluate(calls.zero_grad(adapter, "leaf"), leaf=leaf)
        self.refuse_writes("the backward")
        return tuple(totals)

    def collect(self, adapter: TapeAdapter) -> list[Array | None]:
        """Read the gradients that are stored in the leaves."""
        gradient = calls.gradient(adapter, "leaf")
        gradients = [self.subject.engine.evaluate(gradient, leaf=leaf) for leaf in self.leaves]
        return [None if each is None else self.library.read_gradient(np.asarray(each)) for each in gradients]


class FunctionalPullback(Pullback):
    """Pullback of an engine that differentiates each output as a function of the checked inputs."""

    runs_by_itself = True

    def __init__(self, subject: CheckedFunction, point: Arrays, watching: Watching = nullcontext) -> None:
        """Run the function at a point."""
        super().__init__(subject, point, watching)
        self.pulls: dict[int, tuple[Any, Callable[[Any], Any]]] = {}

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the sums over the outputs."""
        totals: list[Array | None] = [None] * len(self.subject.positions)
        for k, seed, tensor in self.seeded(seeds):
            totals = [_sum(total, new) for total, new in zip(totals, self.pulled(k, seed, tensor), strict=True)]
        return tuple(totals)

    def pulled(self, output: int, seed: Array, tensor: Any) -> list[Array]:
        """Return the gradients of one output."""
        engine = self.subject.engine
        assert isinstance(engine.adapter, FunctionalAdapter)

        def single(*primals: Any) -> Any:
            return self.subject.applied(*primals)[output]

        with self.backward_from(output):
            if output not in self.pulls:
                call = calls.vjp(engine.adapter, "function", Name("primals"))
                self.pulls[output] = engine.evaluate(call, function=single, primals=self.leaves)
                value = self.library.read(self.pulls[output][0])
                refuse_other_value(self.outputs[output], value, output, self.precision)
            cotangents = self.pulls[output][1](tensor)
        if not self.library.pure:
            self.refuse_written_seed(tensor, seed, output)
            self.refuse_writes("the backward")
        return [self.library.read_gradient(cotangent) for cotangent in cotangents]


def refuse_other_value(plain: Array, value: Array, output: int, precision: str) -> None:
    """Raise WrongError if an output differs by more than rounding when the function is differentiated."""
    if value.shape != plain.shape or not near(plain, value, NEARBY_TOLERANCE[precision]):
        raise WrongError(f"output {output} is another value when the function is differentiated")


def same_bits(a: Array, b: Array) -> bool:
    """Return True if two arrays are the same, up to their dtypes."""
    return a.shape == b.shape and a.tobytes() == b.astype(a.dtype, copy=False).tobytes()


def _sum(total: Array | None, new: Array | None) -> Array | None:
    return new if total is None else total if new is None else total + new
