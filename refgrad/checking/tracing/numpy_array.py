"""Functions of NumPy, traced by an array that records what is called with it.

The array holds no numbers of its own: the recorder has them. A call without a row ends the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.recorder import (
    Recorder,
    Row,
    Translator,
    Untraceable,
    axes,
    position,
    reduction,
    sizes,
)
from refgrad.operators.structures import kept_shape

REDUCTIONS: Mapping[str, str] = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
"""Reductions that are methods of ufuncs."""

TEMPLATES = frozenset({"zeros_like", "ones_like", "full_like"})
QUERIES = frozenset({"shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj"})


def _permute(t: Translator, x: Any, axes: Any = None, *more: Any) -> str:
    return t.row("transpose", x, axes=None if axes is None else sizes(axes, more))


def _take(t: Translator, x: Any, indices: Any, axis: Any = None) -> str:
    if axis is None:
        x, axis = t.ravel(x), 0
    return t.row("take", x, axis=int(axis), indices=position(indices))


def _variance(t: Translator, x: Any, axis: Any = None, keepdims: Any = None, ddof: Any = 0) -> str:
    axis = axes(axis)
    deviations = t.row("subtract", x, t.row("mean", x, axis=axis, keepdims=True))
    squares = t.row("sum", t.row("square", deviations), axis=axis, keepdims=bool(keepdims))
    count = prod(t.shape(x)) // max(prod(kept_shape(t.shape(x), axis)), 1)
    return t.row("divide", squares, float(count - ddof))


def _view(t: Translator, x: Any, kind: Any = None) -> str:
    return t.same(x) if isinstance(kind, type) else t.reshape(x, kind)


NUMPY: Mapping[str, Row] = MappingProxyType({
    **{name: reduction(name) for name in ("sum", "mean", "prod", "max", "min")},
    "amax": reduction("max"),
    "amin": reduction("min"),
    "var": _variance,
    "reshape": Translator.reshape,
    "view": _view,
    **dict.fromkeys(("flatten", "ravel"), Translator.ravel),
    "broadcast_to": Translator.broadcast,
    "swapaxes": Translator.swap_axes,
    "transpose": _permute,
    "expand_dims": "expand_dims",
    "squeeze": Translator.squeeze,
    "flip": lambda t, x, axis=None: t.row("flip", x, axis=None if axis is None else sizes(axis)),
    **dict.fromkeys(("concatenate", "concat"), lambda t, arrays, axis=0: t.row("concatenate", arrays, axis=int(axis))),
    "stack": lambda t, arrays, axis=0: t.row("stack", arrays, axis=int(axis)),
    "getitem": Translator.index,
    "take": _take,
    **dict.fromkeys(("power", "pow"), Translator.power),
    "clip": Translator.clip,
    **dict.fromkeys(("matmul", "dot"), "matmul"),
    "copy": Translator.same,
})
"""Functions of NumPy and methods of its arrays."""


class TracedArray(NDArrayOperatorsMixin):
    """A value inside a function, known by its name in the recorder."""

    __slots__ = ("name", "translator")
    __array_priority__ = 1000.0

    def __init__(self, name: str, translator: Translator) -> None:
        """Create an array for a recorded value."""
        self.name = name
        self.translator = translator

    @property
    def value(self) -> npt.NDArray[Any]:
        """The recorded value."""
        return self.translator.recorder.values[self.name]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the entries."""
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
        return self.call("transpose")

    def call(self, name: str, *arguments: Any, **keywords: Any) -> TracedArray:
        """Record a call with this value as its first argument."""
        return TracedArray(self.translator.translate(name, (self, *arguments), keywords), self.translator)

    def __getattr__(self, name: str) -> Callable[..., TracedArray]:
        """Return a method."""
        if name.startswith("_") or name in {"item", "tolist", "copy_"}:
            raise AttributeError(name)
        return lambda *arguments, **keywords: self.call(name, *arguments, **keywords)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the value itself and note the format to which it is rounded. Return integers and booleans as such."""
        wanted = np.dtype(dtype)
        if wanted.kind != "f":
            return self.value.astype(wanted)
        self.translator.recorder.dtypes.add(wanted.name)
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


class NumpyTranslator(Translator):
    """Records calls of NumPy."""

    rows = NUMPY
    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({
        "a": "x", "a_min": "lower", "a_max": "upper", "min": "lower", "max": "upper", "newshape": "shape",
    })  # fmt: skip

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
