"""Functions of tensors without a gradient: comparisons, tests, argmax and argmin, which return constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.operands import operand
from refgrad.engine.operators.tracing import is_traced, noted

NUMPY_NAMES: Mapping[str, str] = MappingProxyType({
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_not": "logical_not",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
})  # fmt: skip
REDUCTIONS = ("argmax", "argmin", "all", "any")
OPERATORS: Mapping[str, str] = MappingProxyType({
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__invert__": "logical_not", "__and__": "logical_and", "__or__": "logical_or",
})  # fmt: skip


def discrete_functions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions by PyTorch's names."""
    entrywise = {name: _entrywise(getattr(np, numpy_name)) for name, numpy_name in NUMPY_NAMES.items()}
    reductions = {name: _reduction(getattr(np, name)) for name in REDUCTIONS}
    return MappingProxyType({**entrywise, **reductions, "equal": equal, "allclose": allclose})


def equal(x: Tensor, y: Tensor) -> bool:
    """Return True if two tensors have the same shape and entries."""
    return np.array_equal(x.array, y.array)


def allclose(x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Return True if all entries differ by at most ``atol + rtol * abs(y)``."""
    return np.allclose(x.array, y.array, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _value(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def _entrywise(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def apply(*operands: Any) -> Tensor:
        if is_traced(operands):
            return noted(function, None, apply, operand, operands, {})
        return Tensor(function(*map(_value, operands)))

    return apply


def _reduction(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def along(array: Any, dim: int | None, keepdim: bool) -> Any:
        return function(array, axis=dim, keepdims=keepdim)

    def reduce(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if is_traced((x,)):
            return noted(along, None, reduce, operand, (x,), {"dim": dim, "keepdim": keepdim})
        return Tensor(along(x.array, dim, keepdim))

    return reduce
