"""Tensors made from nothing, from Python's numbers and from numpy's arrays; floats are float64 by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.operands import as_array
from refgrad.engine.operators.tracing import refuse_while_tracing

DTypeLike = Any


class _Source:
    """The generator behind ``rand`` and its kin, until ``manual_seed`` replaces it."""

    __slots__ = ("generator",)

    def __init__(self) -> None:
        self.generator = np.random.default_rng()


SOURCE = _Source()


def manual_seed(seed: int) -> None:
    """Make the random tensors that follow the same in every run."""
    SOURCE.generator = np.random.default_rng(seed)


def _generator() -> np.random.Generator:
    refuse_while_tracing()
    return SOURCE.generator


def _made(array: Any, dtype: DTypeLike, requires_grad: bool) -> Tensor:
    converted = np.asarray(array, dtype=dtype)
    return Tensor(converted if converted.ndim else converted[()]).requires_grad_(requires_grad)


def tensor(data: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf with a copy of ``data``: a number, nested lists (of numbers or tensors), an array or a tensor.

    Raises:
        RuntimeError: ``requires_grad`` of a dtype that is not floating.
        TypeError: ``data`` holds something else than real numbers.

    """
    return _made(np.array(as_array(_plain(data))), dtype, requires_grad)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data.array
    return [_plain(item) for item in data] if isinstance(data, list | tuple) else data


def as_tensor(data: Any, dtype: DTypeLike = None) -> Tensor:
    """Return ``data`` itself if it is a tensor; a numpy array is shared if its dtype is the wanted one."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        return from_numpy(data.astype(dtype or data.dtype, copy=False))
    return tensor(data, dtype)


def from_numpy(array: Any) -> Tensor:
    """Return a tensor that shares memory with ``array``; what numpy writes there goes unnoticed."""
    if not isinstance(array, np.ndarray):
        message = f"expected np.ndarray (got {type(array).__name__}): tensor(…) takes numbers and lists"
        raise TypeError(message)
    as_array(array)
    return Tensor(array)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    listed = size[0] if len(size) == 1 and isinstance(size[0], list | tuple) else size
    return tuple(int(n) for n in listed)


def zeros(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Zeros of shape ``size``."""
    return _made(np.zeros(_shape(size)), dtype, requires_grad)


def ones(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Ones of shape ``size``."""
    return _made(np.ones(_shape(size)), dtype, requires_grad)


def full(size: Any, fill_value: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Shape ``size``, every entry ``fill_value``, whose kind of number decides the dtype."""
    return _made(np.full(_shape((size,)), fill_value), dtype, requires_grad)


def empty(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Shape ``size``, to be filled; zeros, so that nothing depends on what memory held."""
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def eye(n: int, m: int | None = None, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal of an n-by-m (or n-by-n) matrix."""
    return _made(np.eye(n, m), dtype, requires_grad)


def rand(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from [0, 1)."""
    return _made(_generator().random(_shape(size)), dtype, requires_grad)


def randn(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    return _made(_generator().standard_normal(_shape(size)), dtype, requires_grad)


def randint(low: int, high: int, size: Any, dtype: DTypeLike = None) -> Tensor:
    """Whole numbers from ``low`` up to, not including, ``high``."""
    return _made(_generator().integers(low, high, _shape((size,))), dtype, requires_grad=False)


def randperm(n: int) -> Tensor:
    """The whole numbers below ``n`` in random order."""
    return Tensor(_generator().permutation(n))


def arange(*bounds: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Numbers from a start (0) up to, not including, an end, by a step (1); floats if any of these is one."""
    return _made(np.arange(*bounds), dtype, requires_grad)


def linspace(start: float, end: float, steps: int, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included."""
    return _made(np.linspace(start, end, steps), dtype, requires_grad)


def zeros_like(x: Tensor, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape and dtype of ``x``."""
    return _made(np.zeros(x.shape), dtype or x.dtype, requires_grad)


def ones_like(x: Tensor, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape and dtype of ``x``."""
    return _made(np.ones(x.shape), dtype or x.dtype, requires_grad)


def full_like(x: Tensor, fill_value: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """``fill_value`` in every entry, with the shape and dtype of ``x``."""
    return _made(np.full(x.shape, fill_value), dtype or x.dtype, requires_grad)


def empty_like(x: Tensor, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape and dtype of ``x``, to be filled."""
    return zeros_like(x, dtype, requires_grad)


def rand_like(x: Tensor, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from [0, 1) with the shape and dtype of ``x``."""
    return _made(_generator().random(x.shape), dtype or x.dtype, requires_grad)


def randn_like(x: Tensor, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1 with the shape and dtype of ``x``."""
    return _made(_generator().standard_normal(x.shape), dtype or x.dtype, requires_grad)
