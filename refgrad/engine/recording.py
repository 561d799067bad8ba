"""How is the application of an operator recorded?

Every row of the operator table becomes one function of tensors. Those of formulas with one or two arguments are written out
twice below, for speed: they are most of what runs, and on scalars the recording is most of its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.conversions import CONVERSIONS, cast_array
from refgrad.engine.modes import RECORDING
from refgrad.engine.node import likeness, next_number
from refgrad.engine.nodes import Dialects, GeneralNode, is_plain, node_class, skip_identity
from refgrad.engine.operands import as_array, operand, operand_pair
from refgrad.engine.tensor import Tensor
from refgrad.engine.vocabulary import ON_ARRAYS
from refgrad.operators import Operator

Function = Callable[..., Any]

float64 = np.float64
new = object.__new__
recording = RECORDING.get


def record_operators(table: Mapping[str, Operator]) -> Mapping[str, Function]:
    """Return a function of tensors for every row of ``table`` and every conversion, by the row's name.

    A function takes tensors, numbers or arrays in the order of the row's arguments, and its attributes by name.
    """
    rows = {**table, **CONVERSIONS}
    functions: dict[str, Function] = {}
    dialects = Dialects(_operators_on_arrays(rows), functions)
    for row in rows.values():
        functions[row.name] = _recorder(row, dialects)
    return MappingProxyType(functions)


def _recorder(row: Operator, dialects: Dialects) -> Function:
    if not is_plain(row):
        function = _general(row, dialects)
    elif len(row.arguments) == 1:
        function = _unary(row, dialects)
    else:
        function = _binary(row, dialects)
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = row.summary
    return function


def _operators_on_arrays(rows: Mapping[str, Operator]) -> SimpleNamespace:
    forwards = {row.name: _with_defaults(row) if row.structure else forward_function(row) for row in rows.values()}
    shortcut = {"cast": cast_array, "equal": ON_ARRAYS["equal"], "reshape": skip_identity(forwards["reshape"])}
    return SimpleNamespace(**{**forwards, **shortcut})


def _with_defaults(row: Operator) -> Function:
    forward = forward_function(row)
    return lambda *arrays, **attributes: forward(*arrays, **row.bind(attributes))


def forward_function(row: Operator) -> Function:
    """The row's function of arrays, with attributes by name."""
    if row.structure is not None:
        structure = row.structure
        return lambda *arrays, **attributes: structure.forward(np, *arrays, **attributes)
    assert row.forward is not None
    return row.forward.function((*row.argument_names, *row.attribute_names), ON_ARRAYS)


def _keeper(saves: Sequence[str], arguments: tuple[str, ...]) -> Function:
    """Compile what picks the values to save and their writes out of (values of arguments, out, writes of all these)."""
    names = (*arguments, "out")
    signature = ", ".join([*names, *(f"{name}_writes" for name in names)])
    values = "".join(f"{name}, " for name in saves)
    guards = "".join(f"{name}_writes, " for name in saves)
    return eval(f"lambda {signature}: (({values}), ({guards}))")  # type: ignore[no-any-return]  # noqa: S307 (names from the table)


def _unary(row: Operator, dialects: Dialects) -> Function:
    forward = forward_function(row)
    node_type = node_class(row, (True,), dialects)
    keep = _keeper(node_type.saves, row.argument_names)

    def apply(x: Any) -> Tensor:
        if type(x) is not Tensor:
            x = x if isinstance(x, Tensor) else Tensor(as_array(x))
        array = x.array
        result = new(Tensor)
        result.array = out = forward(array)
        result.writes = writes = []
        parent = x.node
        if parent is None or not recording():
            result.node = None
            return result
        result.node = node = new(node_type)
        node.parents = (parent,)
        node.values, node.guards = keep(array, out, x.writes, writes)
        node.number = next_number()
        node.like = float64 if type(out) is float64 else (out.shape, out.dtype)
        node.watch = None
        return result

    return apply


def _binary(row: Operator, dialects: Dialects) -> Function:
    forward = forward_function(row)
    first, second, both = (node_class(row, needs, dialects) for needs in ((True, False), (False, True), (True, True)))
    keep_first, keep_second, keep_both = (_keeper(kind.saves, row.argument_names) for kind in (first, second, both))

    def apply(x: Any, y: Any) -> Tensor:
        if type(x) is not Tensor or type(y) is not Tensor:
            x, y = operand_pair(x, y)
        a = x.array
        b = y.array
        result = new(Tensor)
        result.array = out = forward(a, b)
        result.writes = writes = []
        p = x.node
        q = y.node
        if (p is None and q is None) or not recording():
            result.node = None
            return result
        if q is None:
            node = new(first)
            node.parents = (p,)
            node.values, node.guards = keep_first(a, b, out, x.writes, y.writes, writes)
        elif p is None:
            node = new(second)
            node.parents = (q,)
            node.values, node.guards = keep_second(a, b, out, x.writes, y.writes, writes)
        else:
            node = new(both)
            node.parents = (p, q)
            node.values, node.guards = keep_both(a, b, out, x.writes, y.writes, writes)
        node.number = next_number()
        node.like = float64 if type(out) is float64 else (out.shape, out.dtype)
        node.watch = None
        result.node = node
        return result

    return apply


def _general(row: Operator, dialects: Dialects) -> Function:
    forward = forward_function(row)
    lift = operand if row.elementwise else _strong_operand

    @cache
    def kind_and_keeper(needs: tuple[bool, ...]) -> tuple[type[GeneralNode], Function]:
        kind = node_class(row, needs, dialects)
        return kind, _keeper(kind.saves, row.argument_names if kind.saves else tuple(f"a{i}" for i in range(len(needs))))

    def apply(*operands: Any, **attributes: Any) -> Tensor:
        tensors = [x if type(x) is Tensor else lift(x) for x in operands]
        bound = row.bind(attributes)
        arrays = [x.array for x in tensors]
        out = _owned(forward(*arrays, **bound), arrays)
        result = Tensor(out)
        parents = tuple(x.node for x in tensors if x.node is not None)
        if not parents or out.dtype.kind != "f" or not recording():
            return result
        kind, keep = kind_and_keeper(tuple(x.node is not None for x in tensors))
        result.node = node = new(kind)
        node.parents = parents
        node.values, node.guards = keep(*arrays, out, *(x.writes for x in tensors), result.writes)
        node.number = next_number()
        node.like = likeness(out)
        node.watch = None
        node.attributes = bound
        node.shapes = tuple(np.shape(array) for array in arrays)
        return result

    return apply


def _strong_operand(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(as_array(value))


def _owned(out: Any, arrays: Sequence[Any]) -> Any:
    """Return ``out`` itself if it is fresh, else a copy: results never share memory with operands."""
    if not isinstance(out, np.ndarray):
        return out
    if not out.ndim:
        return out[()]
    return out.copy() if out.base is not None or any(out is array for array in arrays) else out
