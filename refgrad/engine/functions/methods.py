"""The methods of tensors, installed once from the operators and the functions of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.functions.discrete import OPERATORS
from refgrad.engine.functions.in_place import filler, full_index, in_place, item_writer, plain_index
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.additional import cast_with
from refgrad.engine.printing import shown

Function = Callable[..., Any]

# Python's binary operators (with plain, reflected and in-place methods), and the operators of the table.
BINARY: Mapping[str, str] = MappingProxyType({
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
})
UNARY: Mapping[str, str] = MappingProxyType({"__neg__": "negative", "__abs__": "abs"})
CONVERSIONS: Mapping[str, Any] = MappingProxyType({
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "long": np.int64,
    "bool": np.bool_,
})


def install_methods(kind: type[Tensor], operators: Mapping[str, Function], functions: Mapping[str, Function]) -> None:
    """Install all methods on a class, from ``operators`` of the table and ``functions`` as users call them."""
    methods = {
        **{name: function for name, function in functions.items() if not hasattr(kind, name)},
        **_conversions(operators),
        **_in_place_methods(operators, functions),
        **_python_operators(operators, functions),
        **_item_methods(operators),
        "backward": backward,
        "clone": operators["clone"],
        "contiguous": _itself,
        "__repr__": shown,
        "T": property(_transposed),
        "mT": property(_matrices_transposed),
    }
    for name, method in methods.items():
        setattr(kind, name, method)


def backward(
    tensor: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to the leaves: see :func:`refgrad.engine.autograd.backward`."""
    autograd.backward(tensor, None if gradient is None else [gradient], retain_graph, create_graph, inputs)


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _transposed(tensor: Tensor) -> Tensor:
    """Return the tensor with all its axes reversed."""
    return tensor.transpose()  # type: ignore[no-any-return]


def _matrices_transposed(tensor: Tensor) -> Tensor:
    """Return the tensor with its last two axes swapped."""
    return tensor.transpose(-2, -1)  # type: ignore[no-any-return]


def _python_operators(operators: Mapping[str, Function], functions: Mapping[str, Function]) -> dict[str, Function]:
    methods = {name: operators[operator] for name, operator in UNARY.items()}
    methods.update({name: functions[function] for name, function in OPERATORS.items()})
    for name, operator in BINARY.items():
        methods[f"__{name}__"] = operators[operator]
        methods[f"__r{name}__"] = _reflected(operators[operator])
        methods[f"__i{name}__"] = in_place(operators[operator])
    return methods


def _reflected(function: Function) -> Function:
    return lambda x, y: function(y, x)


def _in_place_methods(operators: Mapping[str, Function], functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return an in-place method, such as ``add_``, for every function; it raises if the shape would change."""
    fill = filler(operators)
    methods = {f"{name}_": in_place(function) for name, function in functions.items()}
    return {**methods, "fill_": fill, "copy_": fill, "zero_": lambda tensor: fill(tensor, 0.0)}


def _item_methods(operators: Mapping[str, Function]) -> dict[str, Function]:
    index = operators["index"]

    def get(tensor: Tensor, key: Any) -> Tensor:
        return index(tensor, index=full_index(plain_index(key), tensor.ndim))  # type: ignore[no-any-return]

    def rows(tensor: Tensor) -> Iterator[Tensor]:
        return (get(tensor, position) for position in range(len(tensor)))

    return {"__getitem__": get, "__setitem__": item_writer(operators), "__iter__": rows}


def _conversions(operators: Mapping[str, Function]) -> dict[str, Function]:
    cast = cast_with(operators)

    def to(tensor: Tensor, dtype: Any) -> Tensor:
        """Return the tensor in a dtype (or that of another tensor); itself if it already has it."""
        wanted = np.dtype(dtype.dtype if isinstance(dtype, Tensor) else dtype)
        return tensor if tensor.dtype == wanted else cast(tensor, wanted)

    named = {name: _to(to, dtype) for name, dtype in CONVERSIONS.items()}
    return {"to": to, "type": to, **named}


def _to(to: Function, dtype: Any) -> Function:
    return lambda tensor: to(tensor, dtype)
