"""Application of operators to tensors: conversion of operands, evaluation, and recording of nodes.

Every row becomes one function on tensors. That of a formula without attributes is compiled, that of a composite calls
the functions of its steps, and that of any other row is the closure in ``_general``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, product, starmap
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.graph.node import FLOAT64, next_number
from refgrad.engine.graph.sweep import RECORDING, is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.node_classes import OperatorSets, is_plain, listing, node_class, skip_identity
from refgrad.engine.operators.tracing import is_traced, noted
from refgrad.engine.operators.vocabulary import BESSEL, CONVERSIONS, ON_ARRAYS, documentation
from refgrad.operators import Composite, Operator


def as_array(value: Any) -> Any:
    """Return a number, nested list or array as a numpy scalar or array.

    Raises:
        TypeError: it contains something other than real numbers and truth values.

    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected a Tensor, a number or an array of numbers, not {type(value).__name__}: {value!r}")
    return array if array.ndim else array[()]


def operand(value: Any) -> Tensor:
    """Return ``value`` as a tensor; a Python number is stored as it is, so that it does not determine the dtype.

    Raises:
        TypeError: it is not a tensor, number or array of numbers.

    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, float):  # numpy.float64 is one, too
        return Tensor(float(value))
    return Tensor(value if isinstance(value, int) else as_array(value))


def operands(*values: Any) -> tuple[Tensor, ...]:
    """Return all values as tensors; if none is a tensor, the first is converted to a numpy scalar or array."""
    if any(isinstance(value, Tensor) for value in values):
        return tuple(map(operand, values))
    return Tensor(as_array(values[0])), *map(operand, values[1:])


def is_mixed(*tensors: Tensor) -> bool:
    """Return True if the tensors have several floating dtypes; a Python number has none."""
    return len(_floating_dtypes(tensors)) > 1


def promote(conversions: Mapping[str, Callable[..., Tensor]], *tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors, with those of narrower floating dtypes converted to the widest dtype among them.

    The conversion is recorded, so a rule computes with all operands in the dtype of the result: the gradient of a
    float64 operand is never rounded to the float32 of another operand.
    """
    dtypes = _floating_dtypes(tensors)
    if len(dtypes) < 2:  # noqa: PLR2004 (two make a mixture)
        return tensors
    widest = np.result_type(*dtypes)
    convert = conversions[f"to_{widest.name}"]
    return tuple(convert(x) if _floating_dtypes((x,)) - {widest} else x for x in tensors)


def _floating_dtypes(tensors: tuple[Tensor, ...]) -> set[np.dtype[Any]]:
    dtypes = (getattr(x, "dtype", None) for x in tensors)
    return {dtype for dtype in dtypes if dtype is not None and dtype.kind == "f"}


Function = Callable[..., Any]

APPLY_NAMES: Mapping[str, Any] = MappingProxyType({
    "FLOAT64": FLOAT64,
    "Tensor": Tensor,
    "float64": np.float64,
    "is_mixed": is_mixed,
    "is_traced": is_traced,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "next_number": next_number,
    "noted": noted,
    "operands": operands,
    "recording": RECORDING.get,
})


def record_operators(table: Mapping[str, Operator]) -> Mapping[str, Function]:
    """Return a function on tensors, by name, for every row of ``table``, every Bessel function and every conversion.

    A function takes tensors, numbers or arrays in the order of the row's arguments, and its attributes by name.
    """
    rows = {**table, **BESSEL, **CONVERSIONS}
    functions: dict[str, Function] = {}
    simple = {name: row for name, row in rows.items() if row.composite is None}
    sets = OperatorSets(_operators_on_arrays(simple), functions)
    for row in simple.values():
        functions[row.name] = _named(row, (_plain if is_plain(row) else _general)(row, sets))
    operators = SimpleNamespace(**functions)
    for row in rows.values():
        if row.composite is not None:
            functions[row.name] = _named(row, _composite(row, row.composite, operators))
            setattr(operators, row.name, functions[row.name])
    return MappingProxyType(functions)


def _composite(row: Operator, composite: Composite, operators: SimpleNamespace) -> Function:
    """Return the function of a composite, which runs its steps one after another and records each.

    Constants get the dtype of the operands, so that they do not promote the result.
    """
    steps = composite.forward if composite.computed is None else composite.computed
    promoted = partial(promote, vars(operators))

    @cache
    def operators_on(dtype: Any) -> SimpleNamespace:
        return SimpleNamespace(**{**vars(operators), "constant": partial(_constant, dtype)})

    def apply(*operands: Any, **attributes: Any) -> Any:
        tensors = promoted(*map(_strong_operand, operands))
        dtypes = {x.dtype for x in tensors if x.dtype.kind != "b"} or {FLOAT64}
        return steps(operators_on(np.result_type(*dtypes)), *tensors, **row.bind(attributes))

    return apply


def _constant(dtype: Any, array: Any) -> Tensor:
    array = np.asarray(array)
    return Tensor(array if array.dtype.kind == "b" else array.astype(dtype))


def _named(row: Operator, function: Function) -> Function:
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = documentation(row)
    return function


def _operators_on_arrays(rows: Mapping[str, Operator]) -> SimpleNamespace:
    forwards = {row.name: _with_defaults(row) if row.structure else row.on_arrays(ON_ARRAYS) for row in rows.values()}
    shortcut = {"equal": ON_ARRAYS["equal"], "reshape": skip_identity(forwards["reshape"])}
    return SimpleNamespace(**{**forwards, **shortcut}, cast=lambda array, dtype: array.astype(dtype))


def _with_defaults(row: Operator) -> Function:
    defaults = {attribute.name: attribute.default for attribute in row.attributes if not attribute.required}
    return partial(row.on_arrays(ON_ARRAYS), **defaults)


# Generated as text, as dataclasses do, for speed: on scalars, most of the time is spent in the interpreter.
APPLY = """
def apply({tensors}):
    if {any_foreign}:
        {tensors}, = operands({tensors})
        if is_traced(({tensors},)):
            return noted(table_row, array_operators, apply, promoted({tensors}), {{}})
    {arrays}
    if ({may_be_mixed}) and is_mixed({tensors}):
        return apply(*promoted({tensors}))
    result = new(Tensor)
    result.array = out = {forward}
    result.writes = out_writes = []
    {nodes}
    if ({all_constant}) or not recording():
        result.node = None
        return result
    {branches}
    node.number = next_number()
    if type(out) is float64:
        node.shape, node.dtype = (), FLOAT64
    else:
        node.shape, node.dtype = out.shape, out.dtype
    node.watch = None
    result.node = node
    return result
"""
# A cheap test that is False for most operands: those of one type and dtype, and Python floats.
MAY_BE_MIXED = (
    "(type({0}) is ndarray and {0}.dtype is not {1}.dtype if type({0}) is type({1})"
    " else type({0}) is not float and type({1}) is not float)"
)
BRANCH = """if {condition}:
        node = {kind}()
        node.parents = ({parents})
        node.values = ({values})
        node.guards = ({guards})
    """


def _plain(row: Operator, sets: OperatorSets) -> Function:
    """Compile the function of a formula without attributes, with a branch for each subset of recorded arguments."""
    assert row.forward is not None
    names, variables = row.argument_names, row.differentiable_arguments
    kinds: dict[str, Any] = {}
    branches = []
    for pattern in product((True, False), repeat=len(variables)):
        needed = [name for name, need in zip(variables, pattern, strict=True) if need]
        if needed:
            kind = "_".join(["node_of", *needed])
            kinds[kind] = node_class(row, tuple(name in needed for name in names), sets)
            branches.append(_branch(kind, kinds[kind].saves, needed, variables))
    text = APPLY.format(
        tensors=", ".join(f"{name}_tensor" for name in names),
        any_foreign=" or ".join(f"type({name}_tensor) is not Tensor" for name in names),
        arrays="; ".join(f"{name} = {name}_tensor.array" for name in names),
        may_be_mixed=" or ".join(starmap(MAY_BE_MIXED.format, pairwise(names))) or "False",
        forward=row.forward.folded_calls,
        nodes="; ".join(f"{name}_node = {name}_tensor.node" for name in variables),
        all_constant=" and ".join(f"{name}_node is None" for name in variables),
        branches="el".join(branches),
    )
    promoted = partial(promote, sets.functions)
    names_of_row = {"array_operators": sets.arrays, "promoted": promoted, "table_row": row}
    namespace = {**ON_ARRAYS, **kinds, **APPLY_NAMES, **names_of_row}
    exec(text, namespace)  # the text is made of names and formulas of the table, which are checked
    return namespace["apply"]  # type: ignore[no-any-return]


def _branch(kind: str, saves: Sequence[str], needed: Sequence[str], variables: Sequence[str]) -> str:
    tests = [f"{name}_node is {'not ' if name in needed else ''}None" for name in variables]
    return BRANCH.format(
        condition=" and ".join(tests),
        kind=kind,
        parents=listing(f"{name}_node" for name in needed),
        values=listing(saves),
        guards=listing("out_writes" if name == "out" else f"{name}_tensor.writes" for name in saves),
    )


def _general(row: Operator, sets: OperatorSets) -> Function:
    forward = row.on_arrays(ON_ARRAYS)
    lift = operand if row.elementwise else _strong_operand
    kind_for = cache(lambda needs: node_class(row, needs, sets))
    promoted = partial(promote, sets.functions)
    takes_one = len(row.arguments) == 1 and not row.arguments[0].variadic

    def apply(*operands: Any, **attributes: Any) -> Tensor:
        tensors = tuple(x if type(x) is Tensor else lift(x) for x in operands)
        tensors = tensors if takes_one else promoted(*tensors)
        if is_traced(tensors):
            return noted(row, sets.arrays, apply, tensors, attributes)
        bound = row.bind(attributes)
        arrays = [x.array for x in tensors]
        out = owned(forward(*arrays, **bound), arrays)
        result = Tensor(out)
        parents = tuple(x.node for x in tensors if x.node is not None)
        if not parents or out.dtype.kind != "f" or not is_grad_enabled():
            return result
        kind = kind_for(tuple(x.node is not None for x in tensors))
        result.node = node = kind()
        sources = dict(zip((*row.argument_names, "out"), (*tensors, result), strict=False)) if kind.saves else {}
        node.parents = parents
        node.values = tuple(sources[name].array for name in kind.saves)
        node.guards = tuple(sources[name].writes for name in kind.saves)
        node.number = next_number()
        node.shape, node.dtype = out.shape, out.dtype
        node.watch = None
        node.attributes = bound
        node.shapes = tuple(np.shape(array) for array in arrays)
        return result

    return apply


def _strong_operand(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(as_array(value))


def owned(out: Any, arrays: Sequence[Any]) -> Any:
    """Return ``out``, or a copy if it may share memory with an operand: results never do."""
    if not isinstance(out, np.ndarray):
        return out
    if not out.ndim:
        return out[()]
    return out.copy() if out.base is not None or any(out is array for array in arrays) else out
