"""Tensors of PyTorch: dtypes that NumPy lacks, memory out of order, modules, random numbers, its own gradients.

PyTorch itself is taken from its adapter: nothing here imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any

import numpy as np

from refgrad.checking.libraries.library import (
    Change,
    Function,
    Source,
    TensorLibrary,
    UnsupportedError,
    source_of,
    together,
)
from refgrad.checking.libraries.trees import Array, Kind, from_real, is_numeric
from refgrad.native.engine import Engine
from refgrad.scenario.formats import FLOAT64, FORMATS

MOST_NODES = 2_000
"""Largest number of nodes of a graph that are visited."""

ONCE = "Error"
"""Type of the node after a gradient that once_differentiable guards.

`backward` runs this node, which raises an error. `grad` with inputs finds no path from the node to the inputs and
returns None.
"""

EXACT = frozenset(
    """
    clone cat stack index index_select gather embedding where neg abs relu select_backward slice_backward
    masked_fill constant_pad_nd repeat amax amin max min maximum minimum zeros ones full empty zeros_like
    ones_like full_like empty_like new_zeros new_empty empty_strided fill zero masked_select topk sort flip roll
    scatter index_put resize threshold_backward embedding_dense_backward sign
    """.split()  # noqa: SIM905 (fifty words)
)
"""Operators that do not round, or that only add terms most of which are zero."""

LONGEST_SUM = 8
"""Largest number of additions in a row that count as separate roundings. More count as one sum in float32."""


class TorchTensors(TensorLibrary):
    """Makes and reads tensors of PyTorch."""

    def __init__(self, engine: Engine) -> None:
        """Take PyTorch from the engine's namespace."""
        super().__init__(engine)
        self.torch = engine.namespace["torch"]
        self.direct = True
        self.conjugates = False
        self.counts_floats = False
        self.narrow = {getattr(self.torch, name): name for name in FORMATS if FORMATS[name].narrow}
        """Names of the dtypes of at most 16 bits."""
        self.cpu = self.torch.device("cpu")
        self.plain: dict[Any, Kind] = {}
        """Kinds of tensors whose memory is in order, by dtype."""

    def is_tensor(self, value: Any) -> bool:
        """Return True for a tensor, or an array of numbers, which becomes one."""
        return isinstance(value, self.torch.Tensor) or (isinstance(value, np.ndarray) and is_numeric(value.dtype))

    def kind(self, tensor: Any) -> Kind:
        """Return the dtype, the strides if the memory is not in order, and the device if it is not the CPU.

        Raises UnsupportedError for a tensor that is no array of numbers.
        """
        if not isinstance(tensor, self.torch.Tensor):
            return Kind(np.asarray(tensor).dtype.name)
        strided, known = tensor.layout == self.torch.strided, self.plain.get(tensor.dtype)
        if known and strided and tensor.device == self.cpu and not tensor.is_nested and tensor.is_contiguous():
            return known
        if tensor.is_nested or tensor.is_quantized or tensor.is_meta or tensor.is_mkldnn:
            kinds = (name for name in ("nested", "quantized", "meta", "mkldnn") if getattr(tensor, f"is_{name}"))
            raise UnsupportedError(f"there is a {next(kinds)} tensor, whose numbers cannot be read and written")
        in_order = not strided or tensor.is_contiguous() or 0 in tensor.stride()
        device = "" if tensor.device == self.cpu else str(tensor.device)
        return Kind(self._plain(tensor.dtype).dtype, None if in_order else tensor.stride(), device)

    def _plain(self, dtype: Any) -> Kind:
        if dtype not in self.plain:
            if dtype == self.torch.complex32:
                raise UnsupportedError("there is a tensor of complex32, which NumPy does not have")
            self.plain[dtype] = Kind(str(dtype).removeprefix("torch."))
        return self.plain[dtype]

    def values(self, tensor: Any) -> Array:
        """Return the values of a tensor. Formats of at most 16 bits are converted to float32."""
        if not isinstance(tensor, self.torch.Tensor):
            return np.asarray(tensor)
        if tensor.layout != self.torch.strided:
            tensor = tensor.detach().to_dense()
        if tensor.dtype in self.narrow:
            tensor = tensor.detach().float()
        return tensor.numpy(force=True)  # type: ignore[no-any-return]

    def make(self, array: Array, kind: Kind, *, requires_grad: bool) -> Any:
        """Return a new tensor of these numbers with the dtype, device and strides of ``kind``."""
        tensor = self.seed(array, kind)
        if kind.strides is not None:
            tensor = self.torch.empty_strided(
                tensor.shape, kind.strides, dtype=tensor.dtype, device=tensor.device
            ).copy_(tensor)
        return tensor.requires_grad_() if requires_grad else tensor

    def seed(self, array: Array, kind: Kind) -> Any:
        """Return a new cotangent."""
        tensor = self.torch.from_numpy(np.array(from_real(array, kind), order="C"))
        dtype = getattr(self.torch, kind.dtype)
        return tensor if tensor.dtype == dtype and not kind.device else tensor.to(kind.device or tensor.device, dtype)

    def dtype_code(self, kind: Kind) -> str:
        """Return code for the dtype of a tensor, followed by its device if that is not the CPU."""
        return f"{kind.dtype}, device={kind.device!r}" if kind.device else kind.dtype

    def parameters(self, function: Function) -> dict[str, Any]:
        """Return the parameters of a module that require a gradient."""
        if not isinstance(function, self.torch.nn.Module):
            return {}
        return {name: parameter for name, parameter in function.named_parameters() if parameter.requires_grad}

    def with_parameters(self, function: Function, names: Sequence[str]) -> Function:
        """Return a module as a function of its parameters, too. Its writes to buffers are discarded."""
        if not isinstance(function, self.torch.nn.Module):
            return function

        def functional(*arguments: Any) -> Any:
            positional = arguments[: len(arguments) - len(names)]
            state = {name: buffer.clone() for name, buffer in function.named_buffers()}
            state.update(zip(names, arguments[len(positional) :], strict=True))
            return self.torch.func.functional_call(function, state, positional)

        return functional

    def module_call(self, parameters: str, arguments: str) -> str:
        """Return code that calls a module with other parameters, given both as code."""
        return f"torch.func.functional_call(function, {{{parameters}}}, ({arguments},))"

    def compiled(self) -> float:
        """Return the seconds of torch.compile, which counts them once it is imported."""
        dynamo = sys.modules.get("torch._dynamo.utils")
        return 0.0 if dynamo is None else dynamo.calculate_time_spent().get("total_wall_time", 0.0)

    def sources(self) -> tuple[Source, ...]:
        """Return the generators of PyTorch, one for each device that is in use, NumPy and Python."""
        torch = self.torch
        used = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        own = [torch.default_generator, *(torch.cuda.default_generators[i] for i in used)]
        return together([source for each in own if (source := source_of(each))]), *super().sources()

    def inner_dtypes(self, subject: Any, tensors: Sequence[Any]) -> Collection[str]:
        """Return the dtypes of the gradients that pass through the graph of some outputs."""
        del subject
        pairs = ((getattr(node, "_input_metadata", ()), number) for node, number in self.nodes(tensors))
        dtypes = {metadata[number].dtype for metadata, number in pairs if number < len(metadata)}
        return {self._plain(dtype).dtype for dtype in dtypes}  # float32 for an output without gradient

    def nodes(self, tensors: Sequence[Any]) -> Iterator[tuple[Any, int]]:
        """Yield the nodes of the graph of some outputs, each with the number of its output that is used."""
        recorded = (tensor for tensor in tensors if isinstance(tensor, self.torch.Tensor) and tensor.grad_fn)
        waiting = [(tensor.grad_fn, tensor.output_nr) for tensor in recorded]
        seen = set(waiting)
        while waiting and len(seen) < MOST_NODES:
            node, number = waiting.pop()
            yield node, number
            for edge in node.next_functions:
                if edge[0] is not None and edge not in seen:
                    seen.add(edge)
                    waiting.append(edge)

    def raised(self, function: Function) -> Function | None:
        """Return the function under a mode in which every operator computes in float64."""

        def higher(*arguments: Any) -> Any:
            with raised_mode(self.torch)():
                return function(*arguments)

        return higher

    def rerounded(self, change: Change) -> AbstractContextManager[Any]:
        """Return a context in which ``change`` is called for each rounded result of at most 16 bits."""
        return operator_mode(self.torch, RoundedResults(self, change).run)  # type: ignore[no-any-return]

    def jvp(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return outputs and their tangents by forward mode. Raises UnsupportedError if there is none."""
        forward = self.torch.autograd.forward_ad
        with forward.dual_level():
            duals = [forward.make_dual(p.detach(), t) for p, t in zip(primals, tangents, strict=True)]
            try:
                outputs = function(*duals)
            except NotImplementedError as error:
                raise UnsupportedError(str(error).partition("\n")[0]) from error
            parts = [forward.unpack_dual(output) for output in outputs]
        return tuple(part.primal for part in parts), tuple(part.tangent for part in parts)

    def gradients(
        self, tensors: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any], *, batched: bool = False
    ) -> Sequence[Any]:
        """Return the gradients of the leaves: by vmap if ``batched``, by ``backward`` if a checkpoint is reentrant."""
        options = {"retain_graph": True, "allow_unused": True, "is_grads_batched": batched}
        try:
            return self.torch.autograd.grad(tensors, leaves, seeds, **options)  # type: ignore[no-any-return]
        except RuntimeError as error:
            if batched or "torch.utils.checkpoint" not in str(error):
                raise
        self.torch.autograd.backward(tensors, seeds, retain_graph=True)
        gradients = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return gradients

    def gradient_function(self, function: Function, count: int) -> Function:
        """Return the gradient, with its graph, as a function of inputs and cotangents."""

        def gradient(*arguments: Any) -> Any:
            inputs, seeds = arguments[:count], arguments[count:]
            outputs = function(*inputs)
            gradients = self.torch.autograd.grad(outputs, inputs, seeds, create_graph=True, allow_unused=True)
            if any(type(node).__name__ == ONCE for node, _ in self.nodes(gradients)):
                raise RuntimeError("a function on the way is marked with once_differentiable")
            return tuple(self.torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients, strict=True))

        return gradient


Run = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Any]
"""Function that runs a function or an operator of PyTorch with its arguments and its keywords."""


def operator_mode(torch: Any, run: Run) -> Any:
    """Return a mode in which a function runs each operator below autograd and autocast."""
    return _mode(torch.utils._python_dispatch.TorchDispatchMode)(run)  # noqa: SLF001 (it has no public name)


def function_mode(torch: Any, run: Run) -> Any:
    """Return a mode in which a function runs each function and method of PyTorch that Python calls."""
    return _mode(torch.overrides.TorchFunctionMode)(run)


@cache
def _mode(base: Any) -> Any:
    """Return the class of modes that call a function."""

    class CallMode(base):  # type: ignore[misc]
        """Passes calls to the function."""

        supports_higher_order_operators = True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Return False: to hide each call from the compiler takes longer than most functions."""
            return False

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run = run

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            return self.run(func, args, kwargs or {})

        __torch_function__ = __torch_dispatch__

    return CallMode


@cache
def raised_mode(torch: Any) -> Callable[[], Any]:
    """Return a function that makes a mode in which every operator computes in float64, whatever dtype is requested."""
    real = (getattr(torch, name) for name in FORMATS)
    higher = {**dict.fromkeys(real, torch.float64), torch.complex64: torch.complex128}

    def raised(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(higher[value.dtype]) if value.dtype in higher else value
        if isinstance(value, torch.dtype):
            return higher.get(value, value)
        if isinstance(value, list | tuple):
            return type(value)(raised(item) for item in value)
        return value

    def run(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        first = 1 if function._schema.is_mutable else 0  # noqa: SLF001 (PyTorch's own modes use it)
        others = (raised(argument) for argument in arguments[first:])
        return function(*arguments[:first], *others, **{name: raised(value) for name, value in keywords.items()})

    return partial(operator_mode, torch, run)


class RoundedResults:
    """Runs operators of PyTorch, and passes their rounded results of at most 16 bits to a function."""

    def __init__(self, tensors: TorchTensors, change: Change) -> None:
        """Remember no sums."""
        self.tensors, self.torch, self.narrow, self.change = tensors, tensors.torch, tensors.narrow, change
        self.additions: dict[int, tuple[Any, int]] = {}

    def run(self, function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return the results of an operator, which may be changed."""
        result = function(*arguments, **keywords)
        for tensor in result if isinstance(result, list | tuple) else (result,):
            dtype = self.narrow.get(getattr(tensor, "dtype", None), "")
            if dtype and self.rounds(function._schema, arguments, tensor):  # noqa: SLF001 (PyTorch's own modes use it)
                bits = tensor.detach().view(self.torch.int16 if tensor.element_size() > 1 else self.torch.int8)
                array = bits.numpy(force=True).copy()
                self.change(dtype, array, array if bits.element_size() > 1 else self.tensors.values(arguments[-1]))
                bits.copy_(self.torch.from_numpy(array))
        return result

    def rounds(self, schema: Any, arguments: Any, result: Any) -> bool:
        """Return True if an operator rounded its result."""
        name = schema.name.partition("::")[2].removesuffix("_")
        views = any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)
        if views or name in EXACT or not result.numel():
            return False
        if name in {"_to_copy", "copy"}:
            source = FORMATS.get(str(arguments[-1].dtype).removeprefix("torch."), FLOAT64)
            return source.bits > FORMATS[self.narrow[result.dtype]].bits
        if name not in {"add", "sub"}:
            return True
        before = max(self.additions.get(id(each), (None, 0))[1] for each in arguments)
        self.additions[id(result)] = result, before + 1
        return before < LONGEST_SUM
