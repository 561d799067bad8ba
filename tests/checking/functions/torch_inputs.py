"""Inputs of PyTorch, and functions with a backward of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.checking.functions.case import Function, numbers, signed

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")


def positive(*shapes: tuple[int, ...], dtype: Any = torch.float64) -> Callable[[], tuple[Any, ...]]:
    """Return what makes leaves of numbers between 0.4 and 1.6."""
    return lambda: tuple(
        torch.tensor(numbers(*shape, seed=i), dtype=dtype, requires_grad=True) for i, shape in enumerate(shapes)
    )


def normal(*shapes: tuple[int, ...], dtype: Any = torch.float64) -> Callable[[], tuple[Any, ...]]:
    """Return what makes leaves of normal numbers away from 0."""
    return lambda: tuple(
        torch.tensor(signed(*shape, seed=i), dtype=dtype, requires_grad=True) for i, shape in enumerate(shapes)
    )


def constant(*shape: int, dtype: Any = torch.float64, seed: int = 9) -> Any:
    """Return a tensor of normal numbers that needs no gradient."""
    return torch.tensor(signed(*shape, seed=seed), dtype=dtype)


def own(forward: Function, backward: Function) -> Function:
    """Return ``forward`` with a backward of its cotangents, and the inputs behind them."""

    class Own(torch.autograd.Function):  # type: ignore[misc]
        """A function that saves its inputs."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return backward(*cotangents, *ctx.saved_tensors)

    return Own.apply  # type: ignore[no-any-return]
