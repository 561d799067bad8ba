"""Functions of an engine's tensors, run and differentiated by the calls that its adapter's templates make."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.native import calls
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.statements import Name

Array = npt.NDArray[Any]
Arrays = tuple[Array, ...]
Seeds = Sequence[Array | None]
"""The cotangent of each output; None where an output takes no part."""

REUSABLE = frozenset({"retain_graph", "accumulate", "zero_grad", "seed"})
"""What an engine needs for several backward calls through one recorded graph."""


class SubjectError(Exception):
    """The function cannot be run or differentiated at all; the message says at what it failed."""


class SideEffectError(Exception):
    """The function or its backward writes to what it was given; the message says to what."""


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of the function: an array, or anything else, which is handed on as it is."""

    given: Any
    array: Array | None = None
    checked: bool = False


class Subject:
    """A function under test, an engine, and the point at which it is tested."""

    def __init__(self, engine: Engine, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        """Take copies of the inputs. Raises SubjectError where there is nothing to differentiate by."""
        self.engine = engine
        self.function = function
        self.inputs = _read_inputs(engine, inputs)
        self.positions = tuple(i for i, x in enumerate(self.inputs) if x.checked)
        if not self.positions:
            raise SubjectError("none of the inputs is an array of floating-point numbers")
        for i in self.positions:
            array = self.inputs[i].array
            assert array is not None
            if array.dtype not in (np.float64, np.float32):
                raise SubjectError(f"input {i} has the dtype {array.dtype}; float64 and float32 can be checked")

    @property
    def point(self) -> Arrays:
        """The values of the inputs that are differentiated by."""
        return tuple(self.inputs[i].array for i in self.positions)  # type: ignore[misc]

    def at(self, point: Arrays) -> Subject:
        """Return the same function at another point."""
        arguments = list(self.inputs)
        for i, array in zip(self.positions, point, strict=True):
            arguments[i] = Input(arguments[i].given, array, checked=True)
        other = copy(self)
        other.inputs = tuple(arguments)
        return other

    def make(self, array: Array, *, requires_grad: bool) -> Any:
        """Return a new tensor of the engine."""
        own = np.array(array)
        made = calls.tensor(
            self.engine.adapter,
            array=Name("array"),
            scalar=Name("scalar"),
            dtype=own.dtype.name,
            requires_grad=requires_grad,
        )
        return self.engine.evaluate(made, array=own, scalar=own.item() if own.ndim == 0 else None)

    def seed(self, seed: Array) -> Any:
        """Return a new cotangent of the engine."""
        made = calls.seed(self.engine.adapter, Name("array"), seed.dtype.name)
        return self.engine.evaluate(made, array=seed.copy())

    def read(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values."""
        return np.array(self.engine.evaluate(calls.value(self.engine.adapter, "tensor"), tensor=tensor))

    def arguments(self, point: Arrays, make: Callable[[Array], Any]) -> list[Any]:
        """Return the function's arguments at a point: new tensors for what is checked, the rest as it was given."""
        checked = dict(zip(self.positions, point, strict=True))
        return [
            make(checked[i])
            if i in checked
            else x.given
            if x.array is None
            else self.make(x.array, requires_grad=False)
            for i, x in enumerate(self.inputs)
        ]

    def call(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs as a tuple. Raises SubjectError where the function raises or returns something else."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                outputs = self.function(*arguments)
        except Exception as error:
            raise SubjectError(f"the function raised {type(error).__name__}: {error}") from error
        outputs = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
        for k, output in enumerate(outputs):
            if not (hasattr(output, "shape") or hasattr(output, "data") or isinstance(output, float)):
                raise SubjectError(f"output {k} is {type(output).__name__}, not a tensor")
        return outputs

    def values(self, point: Arrays) -> Arrays:
        """Return the outputs at a point, as arrays."""
        arguments = self.arguments(point, lambda array: self.make(array, requires_grad=False))
        return tuple(self.read(output) for output in self.call(arguments))

    def pullback(self, point: Arrays) -> Pullback:
        """Run the function forward, so that its outputs can be run backward."""
        kind = _TapePullback if isinstance(self.engine.adapter, TapeAdapter) else _FunctionalPullback
        return kind(self, point)


class Pullback:
    """The function run forward once, and its gradients under any seeds."""

    outputs: Arrays

    def gradients(self, seeds: Seeds) -> tuple[Array | None, ...]:
        """Return the gradient of each checked input; None where none arrives.

        Raises SubjectError where the backward raises, and SideEffectError where it writes to an input or a seed.
        """
        raise NotImplementedError


class _TapePullback(Pullback):
    def __init__(self, subject: Subject, point: Arrays) -> None:
        self.subject = subject
        self.point = point
        self.record()
        self.outputs = tuple(subject.read(output) for output in self.tensors)

    def record(self) -> None:
        subject = self.subject
        self.arguments = subject.arguments(self.point, lambda array: subject.make(array, requires_grad=True))
        self.leaves = [self.arguments[i] for i in subject.positions]
        self.tensors = subject.call(self.arguments)
        _refuse_writes(subject, self.arguments, self.point, "the function")

    def gradients(self, seeds: Seeds) -> tuple[Array | None, ...]:
        adapter = self.subject.engine.adapter
        assert isinstance(adapter, TapeAdapter)
        totals: list[Array | None] = [None] * len(self.leaves)
        reusable = adapter.features >= REUSABLE
        for k, seed in enumerate(seeds):
            if seed is None or not getattr(self.tensors[k], "requires_grad", True):
                continue
            if not reusable:
                self.record()
            self.backward(adapter, k, seed)
            if not reusable:
                totals = [_sum(total, new) for total, new in zip(totals, self.collect(adapter), strict=True)]
        if reusable:
            totals = self.collect(adapter)
            for leaf in self.leaves:
                self.subject.engine.evaluate(calls.zero_grad(adapter, "leaf"), leaf=leaf)
        _refuse_writes(self.subject, self.arguments, self.point, "the backward")
        return tuple(totals)

    def backward(self, adapter: TapeAdapter, output: int, seed: Array) -> None:
        tensor = self.subject.seed(seed)
        call = calls.backward(adapter, "output", Name("seed"), retain_graph=True)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                self.subject.engine.evaluate(call, output=self.tensors[output], seed=tensor)
        except Exception as error:
            raise SubjectError(f"the backward from output {output} raised {type(error).__name__}: {error}") from error
        _refuse_written_seed(self.subject, tensor, seed, output)

    def collect(self, adapter: TapeAdapter) -> list[Array | None]:
        gradient = calls.gradient(adapter, "leaf")
        found = [self.subject.engine.evaluate(gradient, leaf=leaf) for leaf in self.leaves]
        return [None if each is None else np.array(each) for each in found]


class _FunctionalPullback(Pullback):
    def __init__(self, subject: Subject, point: Arrays) -> None:
        self.subject = subject
        self.point = point
        self.primals = [subject.make(array, requires_grad=True) for array in point]
        self.pulls: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        arguments = subject.arguments(point, lambda array: subject.make(array, requires_grad=True))
        self.outputs = tuple(subject.read(output) for output in subject.call(arguments))
        _refuse_writes(subject, arguments, point, "the function")

    def gradients(self, seeds: Seeds) -> tuple[Array | None, ...]:
        totals: list[Array | None] = [None] * len(self.primals)
        for k, seed in enumerate(seeds):
            if seed is not None:
                totals = [_sum(total, new) for total, new in zip(totals, self.pulled(k, seed), strict=True)]
        return tuple(totals)

    def pulled(self, output: int, seed: Array) -> list[Array]:
        engine = self.subject.engine
        assert isinstance(engine.adapter, FunctionalAdapter)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                if output not in self.pulls:
                    call = calls.vjp(engine.adapter, "function", Name("primals"))
                    self.pulls[output] = engine.evaluate(call, function=self.single(output), primals=self.primals)
                tensor = self.subject.seed(seed)
                cotangents = self.pulls[output][1](tensor)
        except SubjectError:
            raise
        except Exception as error:
            raise SubjectError(f"the backward from output {output} raised {type(error).__name__}: {error}") from error
        _refuse_written_seed(self.subject, tensor, seed, output)
        for i, primal, array in zip(self.subject.positions, self.primals, self.point, strict=True):
            if not _same(self.subject.read(primal), array):
                raise SideEffectError(f"the backward writes to input {i}")
        return [self.subject.read(cotangent) for cotangent in cotangents]

    def single(self, output: int) -> Callable[..., Any]:
        """The function of the checked inputs alone, with one of its outputs."""
        subject = self.subject

        def function(*primals: Any) -> Any:
            given = iter(primals)
            return subject.call(subject.arguments(self.point, lambda _: next(given)))[output]

        return function


def _read_inputs(engine: Engine, inputs: Sequence[Any]) -> tuple[Input, ...]:
    arrays = [x if isinstance(x, np.ndarray) else _array(engine, x) for x in inputs]
    floating = [array is not None and array.dtype.kind == "f" for array in arrays]
    wanted = [is_float and _requires_grad(x) for x, is_float in zip(inputs, floating, strict=True)]
    checked = wanted if any(wanted) else floating
    return tuple(
        Input(x, None if array is None else np.array(array), is_checked)
        for x, array, is_checked in zip(inputs, arrays, checked, strict=True)
    )


def _array(engine: Engine, tensor: Any) -> Array | None:
    """Return the values of one of the engine's tensors, which may be its own memory; None for anything else."""
    if isinstance(tensor, float):
        return np.asarray(tensor)
    if not (hasattr(tensor, "shape") or hasattr(tensor, "data")):
        return None
    return np.asarray(engine.evaluate(calls.value(engine.adapter, "tensor"), tensor=tensor))


def _requires_grad(tensor: Any) -> bool:
    return bool(getattr(tensor, "requires_grad", not getattr(tensor, "constant", False)))


def _refuse_writes(subject: Subject, arguments: Sequence[Any], point: Arrays, who: str) -> None:
    expected = dict(zip(subject.positions, point, strict=True))
    for i, x in enumerate(subject.inputs):
        if x.array is not None and not _same(subject.read(arguments[i]), expected.get(i, x.array)):
            raise SideEffectError(f"{who} writes to input {i}")


def _refuse_written_seed(subject: Subject, tensor: Any, seed: Array, output: int) -> None:
    after = tensor if isinstance(tensor, np.ndarray) else subject.read(tensor)
    if not _same(after, seed):
        raise SideEffectError(f"the backward writes to the seed of output {output}")


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.astype(a.dtype, copy=False).tobytes()


def _sum(total: Array | None, new: Array | None) -> Array | None:
    return new if total is None else total if new is None else total + new
