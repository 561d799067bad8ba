"""Functions of PyTorch whose second derivative, forward mode or batched gradient is another question."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_inputs import normal, own

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

once_differentiable: Any = torch.autograd.function.once_differentiable


def with_forward_mode(factor: float) -> Any:
    """Return the sine with rules of both modes, that of forward mode off by a factor."""

    class Sine(torch.autograd.Function):  # type: ignore[misc]
        """The sine."""

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            del output
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            return cotangents[0] * x.cos()

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            return tangents[0] * x.cos() * factor

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            del info
            return Sine.apply(x), in_dims[0]

    return Sine.apply


class Once(torch.autograd.Function):  # type: ignore[misc]
    """A square that can be differentiated once, and says so."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (x,) = ctx.saved_tensors
        return cotangents[0] * 2 * x


SECOND = {"order": 2}
FORWARD = {"forward": True}
BATCHED = {"batched": True}

detached_rule = own(lambda x: x**3, lambda g, x: g * 3 * x.detach() ** 2)
right_rule = own(lambda x: x**3, lambda g, x: g * 3 * x**2)

CASES = (
    Case("second order", right_rule, normal((3,)), options=SECOND),
    Case("second order of a network", lambda x, w: (x @ w).tanh(), normal((2, 3), (3, 2)), options=SECOND),
    Case("second order, detached", detached_rule, normal((3,)), "the backward detaches its input", options=SECOND),
    Case("first order of the same", detached_rule, normal((3,))),
    Case("differentiable once", lambda x: Once.apply(x), normal((3,))),  # noqa: PLW0108 (gradcheck wants a function)
    Case("forward mode", with_forward_mode(1.0), normal((3,)), options=FORWARD),
    Case("forward mode, twice", with_forward_mode(2.0), normal((3,)), "the tangent is twice", options=FORWARD),
    Case("forward mode of a network", lambda x, w: (x @ w).tanh(), normal((2, 3), (3, 2)), options=FORWARD),
    Case("batched gradients", lambda x: x.exp() * x, normal((3,)), options=BATCHED),
    Case("batched rule", with_forward_mode(1.0), normal((3,)), options=BATCHED),
)
