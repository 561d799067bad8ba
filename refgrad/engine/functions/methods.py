"""Names and arguments of operators as users call them: functions, methods and Python operators.

A row is called by its own name, its aliases or PyTorch's name; attributes are passed by position, by their own names or
by PyTorch's. PyTorch functions that need several operators, or whose arguments differ otherwise, are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partialmethod
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.functions.creation import OPERATORS
from refgrad.engine.functions.in_place import filler, full_index, in_place, item_writer, plain_index
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.node_classes import is_plain
from refgrad.engine.operators.recording import Function
from refgrad.engine.operators.vocabulary import cast_with
from refgrad.engine.printing import printed
from refgrad.operators import Operator

# PyTorch's names, and the names of the rows.
SPELLINGS: Mapping[str, str] = MappingProxyType({
    "cat": "concatenate",
    "mm": "matmul",
    "permute": "transpose",
    "t": "transpose",
    "unsqueeze": "expand_dims",
    "view": "reshape",
})
# Attributes of rows, and PyTorch's names for them.
ATTRIBUTE_SPELLINGS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "axes": ("dims",),
    "axis": ("dim", "dims"),
    "indices": ("index",),
    "keepdims": ("keepdim",),
    "lower": ("min",),
    "shape": ("size",),
    "upper": ("max",),
})
# Defaults of attributes that are optional, or may be None, in PyTorch but not in the row.
ATTRIBUTE_DEFAULTS: Mapping[str, Any] = MappingProxyType({"lower": -inf, "upper": inf})
SEQUENCES = frozenset({"shape", "broadcast_shape", "any_shape", "expanded_shape", "permutation", "repeats"})


def spelled_functions(table: Mapping[str, Operator], functions: Mapping[str, Function]) -> Mapping[str, Function]:
    """Return the functions of ``table`` under all their names, as users call them."""
    named: dict[str, Function] = {}
    for row in table.values():
        function = functions[row.name] if is_plain(row) else _lenient(row, functions[row.name])
        named.update(dict.fromkeys((row.name, *row.aliases), function))
    named.update({name: named[row_name] for name, row_name in SPELLINGS.items() if row_name in named})
    return MappingProxyType(named)


def _lenient(row: Operator, function: Function) -> Function:
    """Wrap ``function`` to accept attributes by position or PyTorch's names, and variadic arrays as a list, too."""
    keywords = {other: name for name in row.attribute_names for other in ATTRIBUTE_SPELLINGS.get(name, ())}
    defaults = {name: ATTRIBUTE_DEFAULTS[name] for name in row.attribute_names if name in ATTRIBUTE_DEFAULTS}
    sequence = bool(row.attributes) and row.attributes[0].type in SEQUENCES

    def call(*positional: Any, **named: Any) -> Any:
        operands, rest = _split(row, positional)
        if sequence and rest and not isinstance(rest[0], list | tuple | None):
            rest = (tuple(rest),)
        if len(rest) > len(row.attributes):
            raise TypeError(
                f"{row.name}() takes {len(row.attributes)} attributes {list(row.attribute_names)}, not {len(rest)}"
            )
        values = dict(zip(row.attribute_names, rest, strict=False))
        values.update({keywords.get(name, name): value for name, value in named.items()})
        for name, value in defaults.items():
            values[name] = value if values.get(name) is None else values[name]
        return function(*operands, **{name: plain_attribute(value) for name, value in values.items()})

    call.__name__ = call.__qualname__ = row.name
    call.__doc__ = function.__doc__
    return call


def _split(row: Operator, positional: Sequence[Any]) -> tuple[Sequence[Any], tuple[Any, ...]]:
    if not any(argument.variadic for argument in row.arguments):
        count = len(row.arguments)
        return positional[:count], tuple(positional[count:])
    if positional and isinstance(positional[0], list | tuple):
        return positional[0], tuple(positional[1:])
    count = sum(isinstance(item, Tensor | np.ndarray) for item in positional)
    return positional[:count], tuple(positional[count:])


def plain_attribute(value: Any) -> Any:
    """Return an attribute with tensors as arrays, lists as tuples, and numpy integers as Python's."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, np.integer):
        return int(value)
    return tuple(map(plain_attribute, value)) if isinstance(value, list | tuple) else value


def composite_functions(functions: Mapping[str, Function]) -> Mapping[str, Function]:
    """Return the composites, built from ``functions``, those of the operator table as users call them."""

    def transpose(x: Tensor, dim0: Any = None, dim1: int | None = None, *, axes: Any = None) -> Tensor:
        """Swap two axes as PyTorch does, permute by a tuple as numpy does, or reverse all."""
        if dim1 is None:
            return functions["transpose"](x, axes=dim0 if axes is None else axes)  # type: ignore[no-any-return]
        order = list(range(x.ndim))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return functions["transpose"](x, axes=tuple(order))  # type: ignore[no-any-return]

    def squeeze(x: Tensor, dim: int | None = None, *, axis: int | None = None) -> Tensor:
        """Remove one axis of length one, or all of them."""
        axis = dim if axis is None else axis
        if axis is not None:
            return functions["squeeze"](x, axis=axis) if x.shape[axis] == 1 else x
        return functions["reshape"](x, shape=tuple(n for n in x.shape if n != 1))  # type: ignore[no-any-return]

    return MappingProxyType({"transpose": transpose, "squeeze": squeeze})


# Python's binary operators (with plain, reflected and in-place methods), and the operators of the table.
BINARY: Mapping[str, str] = MappingProxyType({
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
})
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
        "contiguous": lambda tensor: tensor,
        "__repr__": printed,
        "T": property(lambda tensor: tensor.transpose(), doc="The tensor with all its axes reversed."),
        "mT": property(lambda tensor: tensor.transpose(-2, -1), doc="The tensor with its last two axes swapped."),
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


def _python_operators(operators: Mapping[str, Function], functions: Mapping[str, Function]) -> dict[str, Function]:
    methods = {"__neg__": operators["negative"], "__abs__": operators["abs"]}
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


def _conversions(operators: Mapping[str, Function]) -> dict[str, Any]:
    cast = cast_with(operators)

    def to(tensor: Tensor, dtype: Any) -> Tensor:
        """Return the tensor in a dtype (or that of another tensor); itself if it already has it."""
        target = np.dtype(dtype.dtype if isinstance(dtype, Tensor) else dtype)
        return tensor if tensor.dtype == target else cast(tensor, target)

    named = {name: partialmethod(to, dtype=dtype) for name, dtype in CONVERSIONS.items()}
    return {"to": to, "type": to, **named}
