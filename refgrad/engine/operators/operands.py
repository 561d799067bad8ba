"""What may stand beside a tensor in an operator, and the constant tensor that it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor


def as_array(value: Any) -> Any:
    """Return a number, nested list or array as numpy's scalar or array.

    Raises:
        TypeError: it holds something else than real numbers and truth values.

    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        message = f"expected a Tensor, a number or an array of numbers, not {type(value).__name__}: {value!r}"
        raise TypeError(message)
    return array if array.ndim else array[()]


def operand(value: Any) -> Tensor:
    """Return ``value`` as a constant tensor; a Python number stays one, so that it does not decide the dtype.

    Raises:
        TypeError: it is no tensor, number or array of numbers.

    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, float):  # as numpy.float64 is, too
        return Tensor(float(value))
    return Tensor(value if isinstance(value, int) else as_array(value))


def operands(*values: Any) -> tuple[Tensor, ...]:
    """Return all as tensors; where none is one, the first number becomes numpy's."""
    if any(isinstance(value, Tensor) for value in values):
        return tuple(map(operand, values))
    return Tensor(as_array(values[0])), *map(operand, values[1:])
