"""Functions of NumPy, traced by an array that records what is called with it.

The array holds no numbers of its own: the recorder has them. A call without a row ends the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.recorder import Recorder, Translator, Untraceable, axes, position, sizes
from refgrad.operators.structures import kept_shape


class TracedArray(NDArrayOperatorsMixin):
    """A value inside a function, known by its name in the recorder."""

    __slots__ = ("name", "translator")

    def __init__(self, name: str, translator: Translator) -> None:
        """Create an array for a recorded value."""
        self.name = name
        self.translator = translator

    @property
    def value(self) -> npt.NDArray[Any]:
        """The recorded value."""
        return self.translator.recorder.values[self.name]

    def call(self, name: str, *arguments: Any, **keywords: Any) -> TracedArray:
        """Record a call with this value as its first argument."""
        return TracedArray(self.translator.translate(name, (self, *arguments), keywords), self.translator)

    def __getattr__(self, name: str) -> Any:
        """Return a fact about the value, the transposed array, or a method."""
        if name in {"shape", "dtype", "ndim", "size"}:
            return getattr(self.value, name)
        if name == "T":
            return self.call("transpose")
        if name.startswith("_") or name in {"item", "tolist", "copy_"}:
            raise AttributeError(name)
        return partial(self.call, name)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the value itself and note the format to which it is rounded. Return integers and booleans as such."""
        kind = np.dtype(dtype)
        if kind.kind != "f":
            return self.value.astype(kind)
        self.translator.recorder.dtypes.add(kind.name)
        return self

    def __getitem__(self, index: Any) -> TracedArray:
        """Record an index."""
        return self.call("getitem", index)

    def __iter__(self) -> Iterator[TracedArray]:
        """Iterate over the first axis."""
        return (self[position] for position in range(len(self)))

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return len(self.value)

    def __bool__(self) -> bool:
        """Return the truth of the value, which decides a branch."""
        return bool(self.value)

    def __pow__(self, exponent: Any) -> TracedArray:
        """Record a power. The mixin's would turn a whole exponent into a floating one."""
        return self.call("power", exponent)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[np.object_]:
        """Return an array without axes that holds this object: ``np.array(x)[()]`` is the value again."""
        del dtype, copy
        holder = np.empty((), dtype=object)
        holder[()] = self
        return holder

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record a ufunc, or its reduction."""
        if f"{ufunc.__name__}.{method}" in self.translator.call_names.rows:
            return inputs[0].call(f"{ufunc.__name__}.{method}", axis=keywords.pop("axis", 0), **keywords)
        if method != "__call__" or "out" in keywords:
            raise Untraceable(f"it calls numpy.{ufunc.__name__}.{method}")
        if f"{'d' * ufunc.nin}->?" in ufunc.types:
            return ufunc(*map(_plain, inputs), **keywords)
        return TracedArray(self.translator.translate(ufunc.__name__, inputs, keywords), self.translator)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Record a function of numpy."""
        del types
        name = function.__name__
        if name in self.translator.call_names.constants:
            return function(*map(_plain, arguments), **keywords)
        return TracedArray(self.translator.translate(name, arguments, keywords), self.translator)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, TracedArray) else value


class NumpyTranslator(Translator):
    """Records calls of NumPy. Its methods are rows of ``specs``."""

    library = "numpy"

    def name_of(self, value: Any) -> str:
        """Return the name of a value, or of a new constant."""
        if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 0:
            value = value[()]
        if isinstance(value, TracedArray):
            return value.name
        array = np.asarray(value)
        if array.dtype == object:
            raise Untraceable("it makes an array of several traced values")
        return self.recorder.constant(array)

    def transpose(self, x: Any, axes: Any = None, *more: Any) -> str:
        """Record another order of the axes."""
        return self.row("transpose", x, axes=None if axes is None else sizes(axes, more))

    def flip(self, x: Any, axis: Any = None) -> str:
        """Record entries in reverse order along some axes."""
        return self.row("flip", x, axis=None if axis is None else sizes(axis))

    def joined(self, arrays: Any, axis: Any = 0, *, operator: str) -> str:
        """Record arrays that are joined along an axis."""
        return self.row(operator, arrays, axis=int(axis))

    def take(self, x: Any, indices: Any, axis: Any = None) -> str:
        """Record rows along an axis, or entries."""
        if axis is None:
            x, axis = self.ravel(x), 0
        return self.row("take", x, axis=int(axis), indices=position(indices))

    def var(self, x: Any, axis: Any = None, keepdims: Any = None, ddof: Any = 0) -> str:
        """Record a mean of squares."""
        axis = axes(axis)
        deviations = self.row("subtract", x, self.row("mean", x, axis=axis, keepdims=True))
        squares = self.row("sum", self.row("square", deviations), axis=axis, keepdims=bool(keepdims))
        count = prod(self.shape(x)) // max(prod(kept_shape(self.shape(x), axis)), 1)
        return self.row("divide", squares, float(count - ddof))

    def view(self, x: Any, kind: Any = None) -> str:
        """Record another shape or dtype."""
        return self.same(x) if isinstance(kind, type) else self.reshape(x, kind)


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Run the function on traced arrays, inside the engine's tensors if it has such, and return the outputs' names."""
    translator = NumpyTranslator(recorder)
    tensor = getattr(subject.engine.namespace.get("torch"), "Tensor", None)
    recorder.sealed = tensor is None  # nothing but the recorder has the numbers of a traced array

    def enter(array: npt.NDArray[Any]) -> Any:
        traced = TracedArray(recorder.leaf(recorder.fresh("x"), array, requires_grad=True), translator)
        return traced if tensor is None else tensor(traced)

    outputs = subject.call(subject.arguments(subject.point, lambda _, array: enter(array)))
    names = []
    for k, output in enumerate(outputs):
        traced = output if tensor is None else getattr(output, "array", output)
        if not isinstance(traced, TracedArray):
            raise Untraceable(f"output {k} comes from something that was not seen")
        names.append(traced.name)
    return tuple(names)
