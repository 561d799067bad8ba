"""Transforms of functions: Jacobians, Hessians, and functions of rows. Their results can be differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refgrad.engine.autograd import grad
from refgrad.engine.functions.creation import tensor, zeros
from refgrad.engine.graph.sweep import enable_grad
from refgrad.engine.graph.tensor import Tensor

Function = Callable[..., Any]


def jacrev(function: Function) -> Function:
    """Return the function that returns the Jacobian of the result with respect to the first input, in reverse mode.

    Its shape is that of the result, followed by that of the input.
    """

    def derivative(x: Tensor, *others: Any) -> Any:
        moving, output = _called(function, x, others)
        rows = [_gradient(output, moving, unit) for unit in _units(output)]
        return rows[0].stack(*rows[1:]).reshape((*output.shape, *x.shape))

    return derivative


def jacfwd(function: Function) -> Function:
    """Return the function that returns the same Jacobian in forward mode: by the gradient of a gradient's cotangent."""

    def derivative(x: Tensor, *others: Any) -> Any:
        moving, output = _called(function, x, others)
        cotangent = zeros(*output.shape, dtype=output.dtype, requires_grad=True)
        pulled = _gradient(output, moving, cotangent)
        columns = [_gradient(pulled, cotangent, unit) for unit in _units(x)]
        last = columns[0].reshape(-1).stack(*(each.reshape(-1) for each in columns[1:]), axis=1)
        return last.reshape((*output.shape, *x.shape))

    return derivative


def hessian(function: Function) -> Function:
    """Return the function that returns the Hessian of the result, a scalar, with respect to the first input."""
    return jacfwd(lambda x, *others: _gradient(function(x, *others), x, None))


def vmap(function: Function) -> Function:
    """Return the function that applies ``function`` to each row of its inputs, and stacks the results."""

    def mapped(*inputs: Tensor) -> Any:
        first, *others = [function(*(x[row] for x in inputs)) for row in range(inputs[0].shape[0])]
        return first.stack(*others)

    return mapped


def _called(function: Function, x: Tensor, others: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Return the first input, or a copy that requires a gradient, and the result, which is recorded."""
    moving = x if x.requires_grad else x.detach().requires_grad_()
    with enable_grad():
        return moving, function(moving, *others)


def _units(x: Tensor) -> Sequence[Tensor]:
    """Return the arrays of the shape of ``x`` that have one entry of 1, and zeros elsewhere."""
    return [tensor(unit) for unit in np.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)]


def _gradient(output: Tensor, x: Tensor, seed: Tensor | None) -> Tensor:
    """Return a recorded gradient, of zeros where the output does not depend on the input."""
    gradient = None
    if output.requires_grad:
        with enable_grad():
            [gradient] = grad(output, x, seed, create_graph=True, allow_unused=True)
    return zeros(*x.shape, dtype=x.dtype) if gradient is None else gradient
