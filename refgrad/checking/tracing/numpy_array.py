"""An array that records what a function asks of numpy.

It holds no numbers of its own: the recorder has them. What it does not know, it refuses, and the trace is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.calls import NUMPY_CALLS, Translator
from refgrad.checking.tracing.recorder import Recorder, Untraceable

REDUCTIONS: Mapping[str, str] = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
TEMPLATES = frozenset({"zeros_like", "ones_like", "full_like"})
QUERIES = frozenset({"shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj"})


class TracedArray(NDArrayOperatorsMixin):
    """A value on its way through a function, known by its name in the recorder."""

    __slots__ = ("name", "translator")
    __array_priority__ = 1000.0

    def __init__(self, name: str, translator: Translator) -> None:
        """Stand for a recorded value."""
        self.name = name
        self.translator = translator

    @property
    def value(self) -> npt.NDArray[Any]:
        """The recorded value."""
        return self.translator.recorder.values[self.name]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.value.size

    @property
    def T(self) -> TracedArray:  # noqa: N802 (numpy's name)
        """The array with its axes reversed."""
        return self.call("T")

    def call(self, name: str, *arguments: Any, **keywords: Any) -> TracedArray:
        """Record a call with this value as its first argument."""
        return TracedArray(self.translator.translate(name, (self, *arguments), keywords), self.translator)

    def __getattr__(self, name: str) -> Callable[..., TracedArray]:
        """Return a method."""
        if name.startswith("_") or name in {"item", "tolist", "copy_"}:
            raise AttributeError(name)
        return lambda *arguments, **keywords: self.call(name, *arguments, **keywords)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the value itself, and note in which format it is rounded; whole numbers and truth values as such."""
        wanted = np.dtype(dtype)
        if wanted.kind != "f":
            return self.value.astype(wanted)
        self.translator.recorder.dtypes.add(wanted.name)
        return self

    def __getitem__(self, index: Any) -> TracedArray:
        """Record what is read."""
        return self.call("__getitem__", index)

    def __iter__(self) -> Iterator[TracedArray]:
        """Iterate over the first axis."""
        return (self[position] for position in range(len(self)))

    def __len__(self) -> int:
        """Length of the first axis."""
        return len(self.value)

    def __bool__(self) -> bool:
        """Take the branch that the value takes."""
        return bool(self.value)

    def __pow__(self, exponent: Any) -> TracedArray:
        """Record a power: the mixin's would go through a function that has no whole exponents."""
        return self.call("power", exponent)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[np.object_]:
        """Return an array without axes that holds this very object: ``np.array(x)[()]`` is the value again."""
        del dtype, copy
        holder = np.empty((), dtype=object)
        holder[()] = self
        return holder

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record a ufunc, or its reduction."""
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            axis = keywords.pop("axis", 0)
            return inputs[0].call(REDUCTIONS[ufunc.__name__], axis=axis, **keywords)
        if method != "__call__" or "out" in keywords:
            raise Untraceable(f"it calls numpy.{ufunc.__name__}.{method}")
        if f"{'d' * ufunc.nin}->?" in ufunc.types:
            return ufunc(*map(_plain, inputs), **keywords)
        return TracedArray(self.translator.translate(ufunc.__name__, inputs, keywords), self.translator)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Record a function of numpy."""
        del types
        name = function.__name__
        if name in TEMPLATES or name in QUERIES:
            return function(*map(_plain, arguments), **keywords)
        return TracedArray(self.translator.translate(name, arguments, keywords), self.translator)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, TracedArray) else value


def translator(recorder: Recorder) -> Translator:
    """Return the translator of numpy's calls."""

    def name_of(value: Any) -> str:
        if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 0:
            value = value[()]
        if isinstance(value, TracedArray):
            return value.name
        array = np.asarray(value)
        if array.dtype == object:
            raise Untraceable("it makes an array of several traced values")
        return recorder.constant(array)

    return Translator(recorder, name_of, NUMPY_CALLS)


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Run the function on traced arrays, inside of the engine's tensors if it has such; return the outputs' names."""
    calls = translator(recorder)
    tensor = getattr(subject.engine.namespace.get("torch"), "Tensor", None)
    recorder.sealed = tensor is None  # a traced array by itself tells its numbers to nobody

    def enter(array: npt.NDArray[Any]) -> Any:
        traced = TracedArray(recorder.leaf(recorder.fresh("x"), array, requires_grad=True), calls)
        return traced if tensor is None else tensor(traced)

    outputs = subject.call(subject.arguments(subject.point, lambda _, array: enter(array)))
    names = []
    for k, output in enumerate(outputs):
        traced = output if tensor is None else getattr(output, "array", output)
        if not isinstance(traced, TracedArray):
            raise Untraceable(f"output {k} comes from something that was not seen")
        names.append(traced.name)
    return tuple(names)
