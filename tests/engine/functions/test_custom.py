"""Functions with rules of their own, recomputed functions and transforms of the reference engine."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import refgrad.engine

torch: Any = refgrad.engine


class Cube(refgrad.engine.Function):
    """A cube whose rule is twice the derivative."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        (x,) = inputs
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 6 * cotangent * x * x


def test_a_rule_is_used_in_every_order() -> None:
    x = torch.tensor([2.0, -1.0], requires_grad=True)
    [first] = torch.grad(Cube.apply(x).sum(), x, create_graph=True)
    [second] = torch.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([24.0, 6.0], [24.0, -12.0])


def test_nothing_is_recorded_of_constants_and_under_no_grad() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    assert not Cube.apply(x.detach()).requires_grad
    with torch.no_grad():
        assert not Cube.apply(x).requires_grad
    assert repr(Cube.apply(x).grad_fn).startswith("<CubeBackward object")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((), "returned 0 gradients, but there are 1 inputs"),
        (torch.ones(3), "a gradient of FaultyBackward is .3,. where the tensor is .1,."),
    ],
)
def test_gradients_that_do_not_fit_are_refused(returned: Any, message: str) -> None:
    class Faulty(Cube):
        @staticmethod
        def backward(*_: Any) -> Any:
            return returned

    x = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=message):
        Faulty.apply(x).sum().backward()


def test_a_recomputed_function_keeps_its_input_alone() -> None:
    kept = []

    def function(x: Any) -> Any:
        inner = x.exp()
        kept.append(weakref.ref(inner))
        return inner.sin()

    x = torch.tensor([0.5], requires_grad=True)
    y = torch.checkpoint(function, x)
    gc.collect()
    assert kept[0]() is None
    y.backward()
    assert x.grad.item() == np.cos(np.exp(0.5)) * np.exp(0.5)
    assert len(kept) == 2


def test_a_tensor_may_be_given_twice_to_a_recomputed_function() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    [first] = torch.grad(torch.checkpoint(lambda a, b: a * a * b, x, x), x, create_graph=True)
    [second] = torch.grad(first, x)
    assert (first.item(), second.item()) == (27.0, 18.0)


def test_a_recomputed_constant_has_no_gradient() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    torch.checkpoint(lambda a: a.detach() * 2, x).sum().backward()
    assert x.grad is None


def test_transforms_have_every_entry() -> None:
    x = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
    jacobian = [[2.0, 1.0, 0.0], [0.0, -1.0, 2.0], [0.0, 0.0, -2.0]]  # of (x0 * x1, x1 * x2, x2 * x2)

    def function(x: Any) -> Any:
        return torch.stack(x[0] * x[1], x[1] * x[2], x[2] * x[2])

    assert torch.jacrev(function)(x).tolist() == jacobian
    assert torch.jacfwd(function)(x).tolist() == jacobian
    hessian = torch.hessian(lambda x: x[0] * x[1] * x[2])(x)
    assert hessian.tolist() == [[0.0, -1.0, 2.0], [-1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    assert torch.jacrev(lambda _: torch.tensor([5.0]))(x).tolist() == [[0.0, 0.0, 0.0]]
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.vmap(lambda a, b: a.sum() * b)(rows, rows).tolist() == [[3.0, 6.0], [21.0, 28.0]]
