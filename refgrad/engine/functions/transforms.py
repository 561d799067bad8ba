"""Transforms of functions: Jacobians, Hessians, and functions of rows. Their results can be differentiated again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refgrad.engine.autograd import grad
from refgrad.engine.functions.creation import tensor, zeros
from refgrad.engine.graph.sweep import enable_grad
from refgrad.engine.graph.tensor import Tensor

Function = Callable[..., Any]


def jacobian(function: Function) -> Function:
    """Return the function that returns the Jacobian of the result with respect to the first input.

    Its shape is that of the result, followed by that of the input.
    """

    def derivative(x: Tensor, *others: Any) -> Any:
        with enable_grad():
            moving = x if x.requires_grad else x.detach().requires_grad_()
            output = function(moving, *others)
            units = np.eye(output.numel(), dtype=output.dtype).reshape(-1, *output.shape)
            found = [_gradient(output, moving, unit) for unit in units]
            return found[0].stack(*found[1:]).reshape((*output.shape, *x.shape))

    return derivative


def hessian(function: Function) -> Function:
    """Return the function that returns the Hessian of the result, a scalar, with respect to the first input."""
    return jacobian(lambda x, *others: _gradient(function(x, *others), x, None))


def vmap(function: Function) -> Function:
    """Return the function that applies ``function`` to each row of its inputs, and stacks the results."""

    def mapped(*inputs: Tensor) -> Any:
        first, *others = [function(*(x[row] for x in inputs)) for row in range(inputs[0].shape[0])]
        return first.stack(*others)

    return mapped


def _gradient(output: Tensor, x: Tensor, seed: Any) -> Tensor:
    """Return a recorded gradient, of zeros where the output does not depend on the input."""
    found = None
    if output.requires_grad:
        [found] = grad(output, x, None if seed is None else tensor(seed), create_graph=True, allow_unused=True)
    return zeros(*x.shape, dtype=x.dtype) if found is None else found
