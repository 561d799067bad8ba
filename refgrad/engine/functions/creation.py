"""Functions that create tensors, and functions with discrete results, which have no derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.recording import as_array, operand
from refgrad.engine.operators.tracing import is_traced, noted, refuse_while_tracing
from refgrad.engine.operators.vocabulary import COMPARISONS, on_values

__all__ = [
    "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace", "manual_seed",
    "ones", "ones_like", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "tensor", "zeros",
    "zeros_like",
]  # fmt: skip

DTypeLike = Any


SOURCE = SimpleNamespace(generator=np.random.default_rng())
"""Holder of the random generator of ``rand`` and similar functions, which ``manual_seed`` replaces."""


def manual_seed(seed: int) -> None:
    """Seed the random numbers, so that the tensors drawn from now on are the same in every run."""
    SOURCE.generator = np.random.default_rng(seed)


def _generator() -> np.random.Generator:
    refuse_while_tracing()
    return SOURCE.generator  # type: ignore[no-any-return]


def _tensor(array: Any, dtype: DTypeLike, requires_grad: bool) -> Tensor:
    converted = np.asarray(array, dtype=dtype)
    return Tensor(converted if converted.ndim else converted[()]).requires_grad_(requires_grad)


def tensor(data: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf with a copy of ``data``: a number, nested lists (of numbers or tensors), an array or a tensor.

    Raises:
        RuntimeError: ``requires_grad`` is True and the dtype is not floating.
        TypeError: ``data`` contains something other than real numbers and truth values.

    """
    return _tensor(np.array(as_array(_plain(data))), dtype, requires_grad)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data.array
    return [_plain(item) for item in data] if isinstance(data, list | tuple) else data


def as_tensor(data: Any, dtype: DTypeLike = None) -> Tensor:
    """Return ``data`` as a tensor: a tensor of the right dtype is returned itself, and a numpy array of it shared."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        return from_numpy(data.astype(dtype or data.dtype, copy=False))
    return tensor(data, dtype)


def from_numpy(array: Any) -> Tensor:
    """Return a tensor that shares memory with ``array``; writes by numpy are not detected."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__}): tensor(…) takes numbers and lists")
    as_array(array)
    return Tensor(array)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    listed = size[0] if len(size) == 1 and isinstance(size[0], list | tuple) else size
    return tuple(int(n) for n in listed)


def zeros(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return zeros of shape ``size``."""
    return _tensor(np.zeros(_shape(size)), dtype, requires_grad)


def ones(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return ones of shape ``size``."""
    return _tensor(np.ones(_shape(size)), dtype, requires_grad)


def full(size: Any, fill_value: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of shape ``size`` with ``fill_value`` in every entry, whose type is the default dtype."""
    return _tensor(np.full(_shape((size,)), fill_value), dtype, requires_grad)


def empty(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of shape ``size`` to be filled: zeros, so that nothing depends on uninitialized memory."""
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def eye(n: int, m: int | None = None, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return an n-by-m (or n-by-n) matrix with ones on the diagonal."""
    return _tensor(np.eye(n, m), dtype, requires_grad)


def rand(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return uniform random numbers from [0, 1)."""
    return _tensor(_generator().random(_shape(size)), dtype, requires_grad)


def randn(*size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return normal random numbers of mean 0 and variance 1."""
    return _tensor(_generator().standard_normal(_shape(size)), dtype, requires_grad)


def randint(low: int, high: int, size: Any, dtype: DTypeLike = None) -> Tensor:
    """Return random integers from ``low`` up to, not including, ``high``."""
    return _tensor(_generator().integers(low, high, _shape((size,))), dtype, requires_grad=False)


def randperm(n: int) -> Tensor:
    """Return the integers from 0 up to, not including, ``n`` in random order."""
    return Tensor(_generator().permutation(n))


def arange(*bounds: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return numbers from a start (0) up to, not including, an end, by a step (1); floats if any of these is one."""
    return _tensor(np.arange(*bounds), dtype, requires_grad)


def linspace(start: float, end: float, steps: int, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    return _tensor(np.linspace(start, end, steps), dtype, requires_grad)


def _like(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that creates a tensor with the shape and, unless another is given, the dtype of a tensor."""

    def like(x: Tensor, *entries: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
        return create(x.shape, *entries, dtype=dtype or x.dtype, requires_grad=requires_grad)

    like.__name__, like.__doc__ = f"{create.__name__}_like", f"{create.__doc__} Shape and dtype are those of ``x``."
    return like


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
full_like, rand_like, randn_like = _like(full), _like(rand), _like(randn)


ENTRYWISE = ("logical_and", "logical_or", "logical_not", "isnan", "isinf", "isfinite")
REDUCTIONS = ("argmax", "argmin", "all", "any")
OPERATORS: Mapping[str, str] = MappingProxyType({
    **{f"__{name}__": name for name in COMPARISONS},
    "__invert__": "logical_not", "__and__": "logical_and", "__or__": "logical_or",
})  # fmt: skip


def discrete_functions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions by PyTorch's names."""
    names = {**COMPARISONS, **{name: name for name in ENTRYWISE}}
    entrywise = {name: _entrywise(getattr(np, numpy_name)) for name, numpy_name in names.items()}
    reductions = {name: _reduction(getattr(np, name)) for name in REDUCTIONS}
    return MappingProxyType({**entrywise, **reductions, "equal": equal, "allclose": allclose})


def equal(x: Tensor, y: Tensor) -> bool:
    """Return True if two tensors have the same shape and entries."""
    return np.array_equal(x.array, y.array)


def allclose(x: Tensor, y: Tensor, *tolerances: Any, **named: Any) -> bool:
    """Return True if all entries differ by at most ``atol + rtol * abs(y)``; ``numpy.allclose`` has the arguments."""
    return np.allclose(x.array, y.array, *tolerances, **named)


def _entrywise(function: Callable[..., Any]) -> Callable[..., Tensor]:
    values = on_values(function)

    def apply(*operands: Any) -> Tensor:
        if is_traced(operands):
            return noted(function, None, apply, list(map(operand, operands)), {})
        return Tensor(values(*operands))

    return apply


def _reduction(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def along(array: Any, dim: int | None, keepdim: bool) -> Any:
        return function(array, axis=dim, keepdims=keepdim)

    def reduce(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if is_traced((x,)):
            return noted(along, None, reduce, (x,), {"dim": dim, "keepdim": keepdim})
        return Tensor(along(x.array, dim, keepdim))

    return reduce
