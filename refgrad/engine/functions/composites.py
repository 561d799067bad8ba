"""PyTorch functions that are an operator with other arguments, or a sequence of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from refgrad.engine.graph.tensor import Tensor

Function = Callable[..., Any]


def composite_functions(functions: Mapping[str, Function]) -> Mapping[str, Function]:
    """Return the composites, built from ``functions``, those of the operator table as users call them."""

    def transpose(x: Tensor, dim0: Any = None, dim1: int | None = None, *, axes: Any = None) -> Tensor:
        """Swap two axes as PyTorch does, permute by a tuple as numpy does, or reverse all."""
        if dim1 is None:
            return functions["transpose"](x, axes=dim0 if axes is None else axes)  # type: ignore[no-any-return]
        order = list(range(x.ndim))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return functions["transpose"](x, axes=tuple(order))  # type: ignore[no-any-return]

    def t(x: Tensor) -> Tensor:
        """Transpose a matrix; a vector stays as it is."""
        return functions["transpose"](x)  # type: ignore[no-any-return]

    def squeeze(x: Tensor, dim: int | None = None, *, axis: int | None = None) -> Tensor:
        """Remove one axis of length one, or all of them."""
        axis = dim if axis is None else axis
        if axis is not None:
            return functions["squeeze"](x, axis=axis) if x.shape[axis] == 1 else x
        return functions["reshape"](x, shape=tuple(n for n in x.shape if n != 1))  # type: ignore[no-any-return]

    made = (transpose, t, squeeze)
    return MappingProxyType({function.__name__: function for function in made})
