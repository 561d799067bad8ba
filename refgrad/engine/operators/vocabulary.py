"""The functions that formulas call, on arrays and on tensors, and the docstrings of operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import pi
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.operators import Argument, Attribute, Formula, Operator, Structure
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.table import Operands, signature

float64 = np.float64

COMPARISONS: Mapping[str, str] = MappingProxyType({
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
})  # fmt: skip
"""NumPy's names of comparisons, which formulas use, by the names in PyTorch and in the module `operator`."""

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    name: getattr(operator, short) for short, name in COMPARISONS.items()
})


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return ``numpy.where``, with fast paths for scalars and for the most frequent case in rules, an array or 0."""
    if type(condition) is np.bool_:
        chosen = then if condition else otherwise
        if type(chosen) is float64 and not isinstance(then, np.ndarray) and not isinstance(otherwise, np.ndarray):
            return chosen
    elif type(otherwise) is int and otherwise == 0 and alike(condition, then):
        return masked(condition, then)
    result = np.where(condition, then, otherwise)
    return result if result.ndim else result[()]


def alike(condition: Any, values: Any) -> bool:
    """Return True if these are a boolean array and a float64 array of the same shape."""
    both = isinstance(condition, np.ndarray) and isinstance(values, np.ndarray) and condition.shape == values.shape
    return both and condition.dtype == np.bool_ and values.dtype == float64


def masked(condition: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return ``values`` where the condition holds, else exactly 0: a product would make NaN of infinity.

    The bits are masked, since ``numpy.where`` branches at every entry (128 by 256 random signs: 133 µs against 26 µs
    here).
    """
    bits = condition.astype(np.int64)
    np.negative(bits, out=bits)
    np.bitwise_and(bits, values.view(np.int64), out=bits)
    return bits.view(float64)


ON_ARRAYS: Mapping[str, Any] = MappingProxyType(
    # Python's comparisons give the same results as numpy's, and are several times faster on scalars.
    {**NUMPY_FUNCTIONS, **COMPARE, "where": where}
)


def on_tensors(operators: Mapping[str, Callable[..., Tensor]]) -> Mapping[str, Any]:
    """Return the vocabulary for tensors, in terms of the operators of the table.

    A function that the operator table lacks returns constants if it is piecewise constant; otherwise a call raises
    LookupError.
    """
    absent = {name: _constant_function(name) for name in FUNCTIONS if name not in operators}
    present = {name: _called_by_formulas(name, operators[name]) for name in FUNCTIONS if name in operators}
    conditions = {name: on_values(ON_ARRAYS[name]) for name in (*COMPARE, "logical_and", "logical_or", "logical_not")}
    rest = {"where": operators["where"], "number": float, "pi": pi}
    return MappingProxyType({**present, **absent, **conditions, **rest})


def _called_by_formulas(name: str, operator: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return an operator as formulas call it: with integer parameters, which are its attributes, by position."""
    parameters, integers = FUNCTIONS[name].parameters, FUNCTIONS[name].integers
    if not integers:
        return operator

    def called(*operands: Any) -> Tensor:
        values = dict(zip(parameters, operands, strict=True))
        tensors = [values[parameter] for parameter in parameters if parameter not in integers]
        return operator(*tensors, **{parameter: values[parameter] for parameter in integers})

    return called


def _constant_function(name: str) -> Callable[..., Tensor]:
    if FUNCTIONS[name].nature != "stepped":
        return partial(_refused, name)
    function = on_values(NUMPY_FUNCTIONS[name])
    return lambda *arguments: Tensor(function(*arguments))


def _refused(name: str, *_: Any) -> Tensor:
    raise LookupError(
        f"formulas may call {name!r}, but no row of the operator table says how to differentiate it again"
    )


def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays as one that also takes tensors, and uses their values."""
    return lambda *arguments: function(*(a.array if isinstance(a, Tensor) else a for a in arguments))


# PyTorch's names, where they are not the shortest name of the row.
NAMES: Mapping[str, str] = MappingProxyType({
    "add_at": "IndexPut",
    "broadcast_to": "Expand",
    "clip": "Clamp",
    "concatenate": "Cat",
    "expand_dims": "Unsqueeze",
    "matmul": "Mm",
    "reshape": "View",
    **dict.fromkeys(("to_float16", "to_float32", "to_float64"), "ToCopy"),
})


def node_name(operator: Operator) -> str:
    """Return the name of the node's class: ``MulBackward0`` for multiply."""
    shortest = min((operator.name, *operator.aliases), key=len)
    return f"{NAMES.get(operator.name, shortest.capitalize())}Backward0"


SHAPES: Mapping[Operands, str] = MappingProxyType({
    "any": "any",
    "broadcast": "operands broadcast against each other",
    "same": "the same for all operands",
    "join": "the same for all operands, except along the axis that they are joined on",
    "matmul": "(..., n, k) and (..., k, m) give (..., n, m); a vector is a row on the left, a column on the right",
})


def documentation(row: Operator) -> str:
    """Return the docstring of a row: its summary and signature, then shapes, formula, domain, aliases and source."""
    parts = [f"{row.summary[0].upper()}{row.summary[1:]}.", "", f"    {row.name}{signature(row)}", ""]
    return "\n".join([*parts, *(f"{title}: {text}" for title, text in _entries(row) if text)])


def _entries(row: Operator) -> Iterator[tuple[str, str]]:
    yield "Shape", _shapes(row)
    yield "Formula", "" if row.formula is None else row.formula.source
    yield "Domain", "" if row.domain is None else row.domain.source
    yield "Also called", ", ".join(row.aliases)
    yield "Source", row.source


def _shapes(row: Operator) -> str:
    if row.shapes:
        pairs = zip(row.argument_names, row.shapes, strict=True)
        return ", ".join(f"{name} ({', '.join(pattern.split())})" for name, pattern in pairs)
    entrywise = "; the result has the common shape" if row.operands == "broadcast" else "; the result has the same"
    return SHAPES[row.operands] + (entrywise if row.elementwise else "")


FLOATS = ("float16", "float32", "float64")


def _pass_on(_operators: Any, cotangent: Any, _node: Any) -> tuple[Any]:
    """Return the cotangent unchanged; its dtype is fitted to the argument's as for every contribution."""
    return (cotangent,)


def _row(name: str, summary: str, forward: Callable[[Any], Any]) -> Operator:
    return Operator(name, "conversions", summary, (Argument("x"),), structure=Structure(forward, _pass_on))


def _to(dtype: str) -> Operator:
    return _row(f"to_{dtype}", f"the same values as {dtype}", lambda x: x.astype(dtype))


CONVERSIONS: Mapping[str, Operator] = MappingProxyType({
    "clone": _row("clone", "a copy", lambda x: x.copy()),
    **{f"to_{dtype}": _to(dtype) for dtype in FLOATS},
})


def cast_with(functions: Mapping[str, Callable[..., Tensor]]) -> Callable[[Tensor, Any], Tensor]:
    """Return a function that converts tensors; ``functions`` record it if the result can have a gradient."""

    def cast(tensor: Tensor, dtype: Any) -> Tensor:
        name = np.dtype(dtype).name
        return functions[f"to_{name}"](tensor) if name in FLOATS else Tensor(tensor.array.astype(dtype))

    return cast


def _bessel(name: str, summary: str, partial: str) -> Operator:
    called = Formula(f"{name}(n, x)")
    order = Attribute("n", "int")
    partials = {"x": Formula(partial)}
    return Operator(
        name, "bessel", summary, (Argument("x"),), (order,), formula=called, forward=called, partials=partials
    )


# DLMF 10.29.1 and 10.51.2
BESSEL: Mapping[str, Operator] = MappingProxyType({
    "besseli": _bessel("besseli", "modified", "(besseli(n - 1, x) + besseli(n + 1, x)) / 2"),
    "besselie": _bessel(
        "besselie", "modified, times e to the -|x|", "(besselie(n - 1, x) + besselie(n + 1, x)) / 2 - sign(x) * out"
    ),
    "sphericalj": _bessel(
        "sphericalj",
        "spherical, of the order |n|",
        "(n * sphericalj(n - 1, x) - (n + 1) * sphericalj(n + 1, x)) / (2 * n + 1)",
    ),
})
