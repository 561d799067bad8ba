"""A mode of PyTorch that sees every call, method and property of its tensors while a function runs.

The library comes as an argument, out of its adapter: nothing here imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.libraries.numbers import NEARBY_TOLERANCE, near
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.calls import Translator
from refgrad.checking.tracing.recorder import Recorder, Untraceable
from refgrad.checking.tracing.spellings import ParsedCall, Spellings
from refgrad.checking.tracing.torch_calls import TORCH_CALLS, signature_of, written_in_place
from refgrad.native.engine import Engine

QUERIES = frozenset({
    "shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "grad_fn", "layout", "size", "dim", "numel",
    "nelement", "ndimension", "__len__", "stride", "is_contiguous", "is_floating_point", "element_size",
    "requires_grad_", "is_complex", "__bool__", "is_nonzero", "__hash__", "itemsize", "nbytes", "_version", "names",
    "is_sparse", "is_cuda", "is_quantized", "get_device", "_is_view", "is_same_size", "__format__", "__repr__",
    "is_nested", "register_hook", "retain_grad",
})  # fmt: skip
"""Calls that tell nothing of a value, or, as a branch does, only where it lies."""

TEXTS = frozenset({"__format__", "__repr__"})
"""Calls that tell a value as text."""

TEMPLATES = frozenset({
    "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "empty_like", "new_empty",
    "rand_like", "randn_like", "randint_like",
})  # fmt: skip
"""Calls that make constants in the likeness of a value."""

PARTS = frozenset({"unbind", "split", "chunk", "tensor_split", "broadcast_tensors"})
"""Calls that give several values."""

NARROW = 4
"""Numbers of fewer bytes are read as float32: numpy has no bfloat16."""

ABSENT: Mapping[str, float] = MappingProxyType({"bias": 0.0, "weight": 1.0})
"""What an argument that was left out is as good as."""


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Run the function once under the mode, recording what it does, and return the names of its outputs."""
    torch = subject.engine.namespace["torch"]
    watch = _Watch(torch, recorder, subject)
    compiled = "torch._dynamo" in sys.modules
    with torch.compiler.set_stance("force_eager") if compiled else nullcontext():
        run = subject.pullback(subject.point, watch.watching)
    recorder.run = run
    if watch.refusal:
        raise Untraceable(watch.refusal)
    recorder.sealed = watch.sealed
    return watch.names_of_outputs(run.tensors)


class _Watch:
    """Knows which tensor is which name of the scenario."""

    def __init__(self, torch: Any, recorder: Recorder, subject: CheckedFunction) -> None:
        self.torch = torch
        self.subject = subject
        self.recorder = recorder
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []
        self.translator = Translator(recorder, self.name_of, TORCH_CALLS)
        self.refusal = ""
        self.sealed = True
        """Whether nothing was recorded that may come from the inputs unseen, or that was found by what it gave."""

    def watching(self, leaves: Sequence[Any]) -> AbstractContextManager[Any]:
        """Enter the inputs, and return the mode to run the function in."""
        for leaf in leaves:
            self.bind(leaf, self.recorder.leaf(self.recorder.fresh("x"), _array(leaf), requires_grad=True))
        mode: AbstractContextManager[Any] = _mode_class(self.torch)(self)
        return mode

    def saw(self, function: Any, arguments: Any, keywords: Mapping[str, Any], result: Any) -> None:
        """Record a call, as long as all calls before could be recorded; the function goes on in any case."""
        if self.refusal:
            return
        try:
            self.seen(function, arguments, keywords, result)
        except Untraceable as refusal:
            self.refusal = str(refusal)
        except Exception as error:  # noqa: BLE001 (whatever it is: the function is judged by differences)
            self.refusal = f"it calls {_name(function)} on values that cannot be read: {error}"

    def bind(self, tensor: Any, name: str) -> None:
        self.names[id(tensor)] = name
        self.kept.append(tensor)

    def name_of(self, value: Any) -> str:
        if id(value) in self.names:
            return self.names[id(value)]
        if isinstance(value, self.torch.Tensor):
            self.sealed = False
            return self.recorder.constant(_array(value))
        if isinstance(value, bool | int | float | np.number | np.ndarray):
            self.sealed = self.sealed and not isinstance(value, np.ndarray)
            return self.recorder.constant(np.asarray(value))
        raise Untraceable(f"it calculates with {type(value).__name__}")

    def known(self, value: Any) -> bool:
        if isinstance(value, tuple | list):
            return any(self.known(item) for item in value)
        return id(value) in self.names

    def seen(self, function: Any, arguments: Any, keywords: Mapping[str, Any], result: Any) -> None:
        """Record a call whose arguments include a value that the inputs lead to."""
        if not (self.known(arguments) or self.known(tuple(keywords.values()))):
            return
        name = _name(function)
        if name in TEMPLATES or self.tells_nothing(name, result):
            return
        if name in PARTS:
            self.parts(name, arguments, keywords, result)
            return
        written = written_in_place(name)
        if name == "__setitem__" or (written is not None and result is arguments[0]):
            self.write(function, name, arguments, keywords)
            return
        if name == "dropout":
            self.bind(result, self.dropped(arguments[0], result))
            return
        first = result[0] if isinstance(result, tuple) and _is_pair(self.torch, result) else result
        if not isinstance(first, self.torch.Tensor):
            raise Untraceable(f"it calls {name}, which takes a value out of the calculation")
        self.bind(first, self.record(function, name, arguments, keywords, first))

    def tells_nothing(self, name: str, result: Any) -> bool:
        """Whether a result is no value: a query, or a tensor of integers or truth values."""
        if isinstance(result, self.torch.Tensor):
            return not (result.is_floating_point() or result.is_complex())
        self.sealed = self.sealed and name not in TEXTS
        return name in QUERIES

    def record(self, function: Any, name: str, arguments: Any, keywords: Mapping[str, Any], result: Any) -> str:
        """Record a call under the name of a row, or as an adapter's spelling has it, and return its result's name."""
        mark = self.recorder.mark()
        try:
            return self.translator.translate(name, arguments, keywords)
        except Untraceable as refusal:
            self.recorder.back_to(mark)
            try:
                return self.spelled(function, arguments, keywords, result)
            except Untraceable as better:
                raise (better if _spellings(self.subject.engine).has(function) else refusal) from None

    def spelled(self, function: Any, arguments: Any, keywords: Mapping[str, Any], result: Any) -> str:
        """Record a call as the row that is spelled so and gives the same. Raises Untraceable where there is none."""
        self.sealed = False
        wanted = _array(result)
        mark = self.recorder.mark()
        refusal = Untraceable(f"it calls {_name(function)} in a way that no row of the operator table is spelled")
        tolerance = NEARBY_TOLERANCE.get(str(result.dtype).removeprefix("torch."), 0.0)
        for reading in _spellings(self.subject.engine).readings(function, arguments, keywords):
            for given in self.completed(reading):
                try:
                    name = self.translator.row(reading.row.name, *given, **reading.attributes)
                except Untraceable as error:
                    self.recorder.back_to(mark)
                    refusal = error
                    continue
                value = self.recorder.values[name]
                if value.shape == wanted.shape and near(wanted, value, tolerance):
                    return name
                self.recorder.back_to(mark)
        raise refusal

    def completed(self, reading: ParsedCall) -> Iterator[list[Any]]:
        """Yield the arguments of a row, with what stands for those that were left out in shapes that may fit."""
        names = reading.row.argument_names
        given = list(reading.arguments[0]) if names == ("arrays",) else list(reading.arguments)
        if not any(value is None for value in given):
            yield given
            return
        shapes = {
            shape
            for value in given
            if isinstance(value, self.torch.Tensor)
            for shape in (tuple(value.shape[:1]), tuple(value.shape[1:2]), tuple(value.shape[-1:]))
        }
        if all(name in ABSENT for name, value in zip(names, given, strict=True) if value is None):
            for shape in sorted(shapes):
                yield [
                    np.full(shape, ABSENT[name]) if value is None else value
                    for name, value in zip(names, given, strict=True)
                ]

    def dropped(self, tensor: Any, result: Any) -> str:
        """Record which entries were dropped as a factor, which comes again with the same random numbers."""
        if not bool(tensor.all()):
            raise Untraceable("it calls dropout on a zero, of which nothing shows whether it was dropped")
        return self.translator.row("multiply", tensor, np.asarray(_array(result) / _array(tensor)))

    def write(self, function: Any, name: str, arguments: Any, keywords: Mapping[str, Any]) -> None:
        """Record a call that writes to its first argument, which is another value from then on."""
        target = arguments[0]
        if id(target) not in self.names and name != "__setitem__":
            raise Untraceable(f"it calls {name}, which writes to what was not calculated here")
        plain = name if name == "__setitem__" else written_in_place(name) or name
        self.bind(target, self.record(getattr(self.torch.Tensor, plain, function), plain, arguments, keywords, target))

    def parts(self, name: str, arguments: Any, keywords: Mapping[str, Any], result: Any) -> None:
        """Record the parts that a call cuts a value into, or the values that it stretches to one shape."""
        if name == "broadcast_tensors":
            for tensor, source in zip(result, arguments, strict=True):
                given = (source, tuple(tensor.shape))
                self.bind(tensor, self.translator.translate("broadcast_to", given, {}))
            return
        behind = 1 if name == "unbind" else 2
        axis = int(keywords.get("dim", arguments[behind] if len(arguments) > behind else 0)) % arguments[0].ndim
        start = 0
        for tensor in result:
            stop = start + 1 if name == "unbind" else start + tensor.shape[axis]
            part = start if name == "unbind" else slice(start, stop)
            index = (*(slice(None),) * axis, part)
            self.bind(tensor, self.translator.translate("__getitem__", (arguments[0], index), {}))
            start = stop

    def names_of_outputs(self, outputs: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the recorded names of what the function returned; what needs no gradient may be a constant."""
        for k, output in enumerate(outputs):
            if id(output) not in self.names and getattr(output, "requires_grad", True):
                raise Untraceable(f"output {k} comes from something that was not seen")
        return tuple(map(self.name_of, outputs))


@cache
def _spellings(engine: Engine) -> Spellings:
    torch = engine.namespace["torch"]
    return Spellings(engine.adapter, engine.namespace, lambda function: signature_of(torch, function))


def _is_pair(torch: Any, result: Any) -> bool:
    """Whether a result is a pair of values and indices, as ``max`` along an axis returns it."""
    return len(result) == 2 and isinstance(result[1], torch.Tensor) and not result[1].is_floating_point()  # noqa: PLR2004


def _name(function: Any) -> str:
    """Return the name of a function, or of the property that is read."""
    name: str = function.__name__
    return function.__self__.__name__ if name == "__get__" else name


def _array(tensor: Any) -> Any:
    narrow = tensor.element_size() < NARROW and tensor.is_floating_point()
    return (tensor.float() if narrow else tensor).numpy(force=True)


@cache
def _mode_class(torch: Any) -> type:
    """Return PyTorch's mode, as a class of this library."""

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        """Lets every call happen as it would, and shows it to the watch."""

        def __init__(self, watch: _Watch) -> None:
            super().__init__()
            self.watch = watch

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            self.watch.saw(func, args, kwargs or {}, result)
            return result

    return Mode
