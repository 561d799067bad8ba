"""A mode of PyTorch that sees every call, method and property of its tensors while a function runs.

The library comes as an argument, out of its adapter: nothing here imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.subject import Subject
from refgrad.checking.tracing.calls import Call, Translator, same, swap_axes
from refgrad.checking.tracing.recorder import Recorder, Untraceable

QUERIES = frozenset({
    "shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "grad_fn", "layout", "size", "dim", "numel",
    "nelement", "ndimension", "__len__", "stride", "is_contiguous", "is_floating_point", "element_size",
    "requires_grad_", "is_complex", "__bool__", "is_nonzero", "__hash__", "itemsize", "nbytes", "_version", "names",
    "is_sparse", "is_cuda", "is_quantized", "get_device", "_is_view", "is_same_size", "__format__", "__repr__",
    "is_nested",
})  # fmt: skip
"""Calls that tell nothing of a value, or, as a branch does, only where it lies."""

TEMPLATES = frozenset({
    "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full",
})  # fmt: skip
"""Calls that make constants in the likeness of a value."""

NARROW = 4
"""Numbers of fewer bytes are read as float32: numpy has no bfloat16."""

TORCH_CALLS: Mapping[str, Call] = MappingProxyType({
    "transpose": swap_axes,
    "t": lambda t, x: t.row("transpose", x, axes=None),
    **dict.fromkeys(("clone", "contiguous", "detach", "data", "to", "double", "float", "cpu", "positive"), same),
})


def trace(subject: Subject, recorder: Recorder) -> tuple[str, ...]:
    """Run the function once under the mode, recording what it does, and return the names of its outputs."""
    torch = subject.engine.namespace["torch"]
    watch = _Watch(torch, recorder)
    compiled = "torch._dynamo" in sys.modules
    with torch.compiler.set_stance("force_eager") if compiled else nullcontext():
        run = subject.pullback(subject.point, watch.watching)
    recorder.run = run
    if watch.refusal:
        raise Untraceable(watch.refusal)
    return watch.names_of_outputs(run.tensors)


class _Watch:
    """Knows which tensor is which name of the scenario."""

    def __init__(self, torch: Any, recorder: Recorder) -> None:
        self.torch = torch
        self.recorder = recorder
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []
        self.translator = Translator(recorder, self.name_of, TORCH_CALLS)
        self.refusal = ""

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

    def bind(self, tensor: Any, name: str) -> None:
        self.names[id(tensor)] = name
        self.kept.append(tensor)

    def name_of(self, value: Any) -> str:
        if id(value) in self.names:
            return self.names[id(value)]
        if isinstance(value, self.torch.Tensor):
            return self.recorder.constant(_array(value))
        if isinstance(value, bool | int | float | np.number | np.ndarray):
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
        if name in QUERIES and not isinstance(result, self.torch.Tensor):
            return
        if name in TEMPLATES:
            return
        if isinstance(result, self.torch.Tensor) and not result.is_floating_point():
            return
        if name == "unbind":
            self.unbind(arguments, keywords, result)
            return
        first = result[0] if isinstance(result, tuple) and _is_extremum(self.torch, result) else result
        if not isinstance(first, self.torch.Tensor):
            raise Untraceable(f"it calls {name}, which takes a value out of the calculation")
        self.bind(first, self.translator.translate(name, arguments, keywords))

    def unbind(self, arguments: Any, keywords: Mapping[str, Any], result: Any) -> None:
        axis = int(keywords.get("dim", arguments[1] if len(arguments) > 1 else 0))
        for position, tensor in enumerate(result):
            index = (*(slice(None),) * (axis % arguments[0].ndim), position)
            self.bind(tensor, self.translator.translate("__getitem__", (arguments[0], index), {}))

    def names_of_outputs(self, outputs: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the recorded names of what the function returned."""
        for k, output in enumerate(outputs):
            if id(output) not in self.names:
                raise Untraceable(f"output {k} comes from something that was not seen")
        return tuple(self.names[id(output)] for output in outputs)


def _is_extremum(torch: Any, result: Any) -> bool:
    """Whether a result is a pair of values and indices, as ``max`` along an axis returns it."""
    return len(result) == 2 and isinstance(result[1], torch.Tensor) and not result[1].is_floating_point()  # noqa: PLR2004


def _name(function: Any) -> str:
    """The name of a function, or of the property that is read."""
    name: str = function.__name__
    return function.__self__.__name__ if name == "__get__" else name


def _array(tensor: Any) -> Any:
    tensor = tensor.detach().resolve_neg().cpu()
    return (tensor.float() if tensor.element_size() < NARROW and tensor.is_floating_point() else tensor).numpy()


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
