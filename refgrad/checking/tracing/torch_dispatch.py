"""Functions of PyTorch, traced at its dispatcher: every call of an ATen operator below autograd.

PyTorch is passed as an argument from its adapter and never imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from refgrad.checking.libraries.torch_tensors import TorchTensors, function_mode, operator_mode
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.aten import AtenCalls
from refgrad.checking.tracing.recorder import Array, Recorder, Untraceable, call_names

READERS = frozenset({
    "item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__", "__complex__", "__dlpack__",
    "data_ptr", "untyped_storage", "storage",
})  # fmt: skip
"""Methods that take values out of PyTorch. Most of them call no operator."""

TEXTS = frozenset({"__format__", "__repr__"})
"""Methods that print a value. The operators that they call are no part of the function."""


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Run the function once, record the operators that it calls, and return the names of its outputs."""
    assert isinstance(subject.library, TorchTensors)
    tracer = AtenTracer(subject.library, recorder)
    compiled = "torch._dynamo" in sys.modules
    with tracer.torch.compiler.set_stance("force_eager") if compiled else nullcontext():
        run = subject.pullback(subject.point, tracer.watching)
    recorder.run = run
    if tracer.reason:
        raise Untraceable(tracer.reason)
    recorder.sealed = tracer.sealed
    return tracer.names_of_outputs(run.tensors)


class _Operator(NamedTuple):
    """The schema of an ATen operator.

    Each parameter has its name in the table, empty if it is ignored, and its default.
    """

    name: str
    parameters: Mapping[str, tuple[str, Any]]
    written: tuple[str, ...]
    is_constant: bool


@cache
def _operator(function: Any) -> _Operator:
    schema, torch = getattr(function, "_schema", None), call_names("torch")
    if schema is None:
        raise Untraceable(f"it calls {function}, which the operator table does not have")
    written = tuple(each.name for each in schema.arguments if each.alias_info is not None and each.alias_info.is_write)
    name = schema.name.removeprefix("aten::").removeprefix("prims::").removeprefix("special_")
    parameters = {
        each.name: (
            "" if each.name in torch.ignored else torch.parameters.get(each.name, each.name),
            each.default_value,
        )
        for each in schema.arguments
    }
    return _Operator(name.removesuffix("_") if written else name, parameters, written, name in torch.constants)


class _Unnamed(Untraceable):
    """A value is used that depends on the inputs in a way that no row of the table describes."""


_Write = tuple[Any, str]
"""The tensor through which memory was written, and the name of its value after the write."""


@dataclass(slots=True, eq=False)
class _Call:
    """A call of an operator."""

    function: Any
    operator: _Operator
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    values: dict[str, Any]
    """The arguments by their names."""

    target: Any
    """The tensor that is written to, if there is one."""

    name: str = ""
    """Name of the value of the target after the call."""


class AtenTracer(AtenCalls):
    """Stores the names of tensors, and records the operators that are called with named tensors."""

    def __init__(self, tensors: TorchTensors, recorder: Recorder) -> None:
        """Start without named tensors."""
        super().__init__(recorder)
        self.tensors, self.torch = tensors, tensors.torch
        self.names: dict[int, tuple[str, int]] = {}
        """Name of each tensor by its id (empty if no row describes its value), and the number of earlier writes."""

        self.kept: list[Any] = []
        """The named tensors, which are kept alive so that no other tensor gets their ids."""

        self.constants: set[int] = set()
        """Ids of tensors that do not change with the inputs nearby, as comparisons do not."""

        self.writes: list[_Write] = []
        self.paused = False
        self.reason = ""
        self.sealed = True
        """False if a recorded value may depend on the inputs in an unobserved way."""

    @contextmanager
    def watching(self, leaves: Sequence[Any]) -> Iterator[None]:
        """Give names to the inputs, and record the operators that are called in the context."""
        for leaf in leaves:
            self.bind(leaf, self.recorder.leaf(self.recorder.fresh("x"), self.array(leaf), requires_grad=True))
        with function_mode(self.torch, self.called), operator_mode(self.torch, self.run):
            yield

    def array(self, tensor: Any) -> Array:
        """Return a copy of the entries."""
        return np.array(self.tensors.values(tensor))

    def bind(self, tensor: Any, name: str) -> None:
        """Give a tensor a name."""
        self.names[id(tensor)] = name, len(self.writes)
        self.kept.append(tensor)

    def knows(self, value: Any) -> bool:
        """Return True if a value is, or contains, a tensor that depends on the inputs."""
        if isinstance(value, tuple | list):
            return any(map(self.knows, value))
        if id(value) in self.names:
            return True
        return bool(self.writes) and isinstance(value, self.torch.Tensor) and bool(self.writes_to(value))

    def writes_to(self, tensor: Any, since: int = 0) -> list[_Write]:
        """Return the writes to the memory of a tensor."""
        later = self.writes[since:]
        return [each for each in later if _memory(each[0]) == _memory(tensor)] if later else []

    def name_of(self, value: Any) -> str:
        """Return the name of the current value of a tensor, including writes to its memory, or of a new constant."""
        if not isinstance(value, self.torch.Tensor):
            if isinstance(value, bool | int | float | np.number | np.ndarray):
                return self.recorder.constant(np.asarray(value))
            raise Untraceable(f"it calculates with {type(value).__name__}")
        name, since = self.names.get(id(value), (None, 0))
        if name == "":
            raise _Unnamed("it uses a result that the operator table does not have")
        if name is None:
            self.sealed = self.sealed and id(value) in self.constants
            name = self.recorder.constant(self.array(value))
        writes = self.writes_to(value, since)
        for write in writes:
            name = self.rewritten(value, name, write)
        if writes:
            self.bind(value, name)
        return name

    def rewritten(self, tensor: Any, name: str, write: _Write) -> str:
        """Return the name of the value of a tensor after a write to its memory."""
        written, new = write
        own, other = _positions(tensor), _positions(written)
        if np.array_equal(own, other):
            return new
        labels = np.zeros(max(own.max(initial=0), other.max(initial=0)) + 1, np.int64)
        labels[other.ravel()] = own.size + np.arange(1, other.size + 1)
        kept = np.arange(1, own.size + 1).reshape(own.shape)
        return self.entries([name, new], np.where(labels[own], labels[own], kept))

    def plain(self, value: Any) -> Any:
        """Return an argument as numbers, words and tuples. Raise Untraceable if it depends on the inputs."""
        if isinstance(value, self.torch.Tensor):
            if self.knows(value):
                raise Untraceable("it takes a number out of the calculation")
            value = value.tolist()
        return tuple(map(self.plain, value)) if isinstance(value, tuple | list) else value

    def called(self, function: Any, arguments: Any, keywords: Mapping[str, Any]) -> Any:
        """Run a function called from Python. A method that reads values, such as ``item``, ends the recording.

        Methods that print a value run without recording.
        """
        name = getattr(function, "__name__", "")
        if name in READERS and self.knows(arguments) and not self.reason:
            self.reason = f"it calls {name}, which takes a value out of the calculation"
        if name not in TEXTS:
            return function(*arguments, **keywords)
        self.sealed, paused, self.paused = False, self.paused, True
        try:
            return function(*arguments, **keywords)
        finally:
            self.paused = paused

    def is_real(self, value: Any) -> bool:
        """Return True if a value is a tensor through which a derivative goes."""
        if not isinstance(value, self.torch.Tensor) or value.is_meta:
            return False
        return value.is_floating_point() or value.is_complex()  # type: ignore[no-any-return]

    def run(self, function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Run an operator, and record it if all earlier ones could be recorded."""
        if self.paused or self.reason or not (self.knows(arguments) or (keywords and self.knows([*keywords.values()]))):
            return function(*arguments, **keywords)
        call = self.attempted(function, lambda: self.begun(function, arguments, keywords))
        result = function(*arguments, **keywords)
        if call is not None:
            self.attempted(function, lambda: self.ended(call, result))
        return result

    def attempted(self, function: Any, step: Callable[[], Any]) -> Any:
        """Return the result of a step of recording, or note why an operator cannot be recorded.

        The function goes on in any case.
        """
        try:
            return step()
        except Untraceable as error:
            self.reason = str(error)
        except Exception as error:  # noqa: BLE001 (in any case differences are used then)
            self.reason = f"it calls {function} on values without rows: {error}"
        return None

    def begun(self, function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Call:
        """Return a call with named values. A write is recorded before the operator overwrites the old value."""
        operator = _operator(function)
        values = {**dict(zip(operator.parameters, arguments, strict=False)), **keywords}
        if len(operator.written) > 1:
            raise Untraceable(f"it calls {operator.name}, which writes to several tensors")
        target = values[operator.written[0]] if operator.written else None
        call = _Call(function, operator, arguments, keywords, values, target)
        if self.is_real(target) and not self.is_constant(call):
            call.name = self.recorded(call)
        return call

    def ended(self, call: _Call, result: Any) -> None:
        """Give the results of a call their names."""
        if call.operator.written:
            if self.is_real(call.target):
                name = call.name or self.recorder.constant(self.array(call.target))
                self.writes.append((call.target, name))
                self.bind(call.target, name)
            return
        results = _several(result)
        real = list(map(self.is_real, results))
        if not any(real) or self.is_constant(call):
            tensors = [each for each in results if isinstance(each, self.torch.Tensor)]
            self.sealed = self.sealed and bool(tensors)
            self.kept += tensors
            self.constants.update(map(id, tensors))
            return
        try:
            names = self.recorded(call)
            if call.operator.name in {"topk", "sort"}:
                names = self.in_order(call, names, results[1])
        except _Unnamed:
            names = ""
        for tensor, name, has_name in zip_longest(results, _several(names), real, fillvalue=""):
            if has_name:
                self.recorder.dtypes.add(self.tensors.kind(tensor).part)
                self.bind(tensor, name)

    def is_constant(self, call: _Call) -> bool:
        """Return True if the result depends on no entry of a tensor with a name."""
        return call.operator.is_constant and not self.knows((*call.arguments[1:], *call.keywords.values()))

    def recorded(self, call: _Call) -> Any:
        """Record a call and return the name of its result, or the names of several."""
        if call.operator.name in self.call_names.moves:
            return self.moved(call)
        if call.operator.name.endswith(("_backward", "_backward_data")):
            return self.decomposed(call)
        named = {}
        for parameter, value in call.values.items():
            key, default = call.operator.parameters[parameter]
            if key and value is not None and (isinstance(value, self.torch.Tensor) or value != default):
                words = self.call_names.values.get(key)
                named[key] = value if words is None else words.get(str(value), value)
        if named.get("axis") == []:  # no axes mean all
            del named["axis"]
        return self.call(call.operator.name, (), named)

    def in_order(self, call: _Call, name: str, order: Any) -> str:
        """Return the name of sorted entries, or of those at the returned indices if rounding decided these."""
        x = call.values["self"]
        if not x.ndim:
            return name
        labels = np.arange(1, x.numel() + 1).reshape(x.shape)
        taken = np.take_along_axis(labels, order.numpy(force=True), call.values.get("dim", -1))
        same = np.array_equal(self.value(x).ravel()[taken - 1], self.value(name), equal_nan=True)
        return name if same else self.entries([x], taken)

    def moved(self, call: _Call) -> str:
        """Record where each entry comes from, which is found by applying the operator to the numbers of the entries."""
        sources: list[Any] = []

        def labelled(value: Any) -> Any:
            if isinstance(value, tuple | list):
                return [labelled(each) for each in value]
            if not self.is_real(value):
                return value
            start = 1 + sum(each.numel() for each in sources)
            sources.append(value)
            labels = self.torch.arange(start, start + value.numel(), dtype=self.torch.float64, device=value.device)
            return labels.reshape(value.shape)

        if "value" in call.values:
            raise Untraceable(f"it calls {call.operator.name} with a number")
        keywords = {key: labelled(value) for key, value in call.keywords.items()}
        labels = call.function(*map(labelled, call.arguments), **keywords)
        return self.entries(sources, labels.numpy(force=True))

    def decomposed(self, call: _Call) -> list[str]:
        """Record a backward operator, called where the function differentiates itself, by PyTorch's decomposition."""
        rule = import_module("torch._decomp").decomposition_table.get(call.function)
        if rule is None:
            raise Untraceable(f"it calls {call.operator.name}, which the operator table does not have")
        with operator_mode(self.torch, self.run):
            results = rule(*call.arguments, **call.keywords)
        return [self.name_of(each) if self.is_real(each) else "" for each in _several(results)]

    def names_of_outputs(self, outputs: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the names of the outputs. An output that needs no gradient may be a constant."""
        for k, output in enumerate(outputs):
            if not self.knows(output) and getattr(output, "requires_grad", True):
                raise Untraceable(f"output {k} comes from something that was not seen")
        return tuple(map(self.name_of, outputs))


def _several(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _memory(tensor: Any) -> int:
    """Return what identifies the memory of a tensor, 0 if it has none of its own."""
    try:
        return tensor.untyped_storage()._cdata  # type: ignore[no-any-return]  # noqa: SLF001 (its identity)
    except (NotImplementedError, RuntimeError):
        return 0


def _positions(tensor: Any) -> npt.NDArray[np.int64]:
    """Return where in its memory each entry of a tensor is."""
    result = np.array(tensor.storage_offset())
    for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
        result = result[..., None] + stride * np.arange(length)
    return result
