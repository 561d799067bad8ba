"""Conversion of an operator's operands to tensors: numbers, lists and arrays, and tensors of mixed dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor


def as_array(value: Any) -> Any:
    """Return a number, nested list or array as a numpy scalar or array.

    Raises:
        TypeError: it contains something other than real numbers and truth values.

    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        message = f"expected a Tensor, a number or an array of numbers, not {type(value).__name__}: {value!r}"
        raise TypeError(message)
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
