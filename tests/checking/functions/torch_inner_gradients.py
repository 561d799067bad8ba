"""Functions of PyTorch that differentiate inside: penalties, physics, forces, meta-learning, transforms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_inputs import constant, normal, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

WEIGHT = constant(3, 4)
TARGET = constant(2, 4, seed=3)


def network(x: Any, w: Any) -> Any:
    """A small network with a scalar for each row."""
    return torch.tanh(x @ w).sum(-1)


def penalty(x: Any, w: Any) -> Any:
    """The gradient penalty of WGAN-GP, as a function of the weights."""
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(network(x, w).sum(), x, create_graph=True)
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def penalty_without_graph(x: Any, w: Any) -> Any:
    """The same, with the graph of the inner gradient forgotten."""
    (slope,) = torch.autograd.grad(network(x, w).sum(), x, retain_graph=True)
    return (slope**2).sum() + w.sum()


def residual(x: Any, w: Any) -> Any:
    """The residual of u'' + u = 0 of a physics-informed network."""
    u = torch.tanh(x * w).sum(-1, keepdim=True)
    (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    return ((second + u) ** 2).mean()


def forces(positions: Any) -> Any:
    """Forces of a Lennard-Jones potential."""
    energy = potential(positions)
    (gradient,) = torch.autograd.grad(energy, positions, create_graph=True)
    return -gradient


def potential(positions: Any) -> Any:
    """A pair potential."""
    first, second = torch.triu_indices(len(positions), len(positions), 1)
    distances = (positions[first] - positions[second]).norm(dim=-1) + 1
    return (distances**-12 - 2 * distances**-6).sum()


def forces_detached(positions: Any) -> Any:
    """The same without a graph."""
    (gradient,) = torch.autograd.grad(potential(positions), positions)
    return -gradient * positions.sum()


def adapted(w: Any) -> Any:
    """A step of MAML: the loss after one step of gradient descent."""
    (slope,) = torch.autograd.grad(loss(w), w, create_graph=True)
    return loss(w - 0.1 * slope)


def adapted_first_order(w: Any) -> Any:
    """The same with the second derivative left out."""
    (slope,) = torch.autograd.grad(loss(w), w)
    return loss(w - 0.1 * slope)


def loss(w: Any) -> Any:
    """A loss of weights."""
    return ((torch.tanh(WEIGHT.t()[:2, :3] @ w) - TARGET) ** 2).mean()


def inner_jvp(x: Any) -> Any:
    """A directional derivative by forward mode."""
    return torch.func.jvp(lambda y: y.sin() * y.sum(), (x,), (torch.ones_like(x),))[1]


def inner_hessian(x: Any) -> Any:
    """A Hessian by torch.func."""
    return torch.func.hessian(lambda y: (y**3).sum() * y[0])(x)


def per_sample(w: Any) -> Any:
    """Gradients of each sample."""

    def single(weight: Any, row: Any) -> Any:
        return (row @ weight).tanh().sum()

    return torch.vmap(torch.func.grad(single), in_dims=(None, 0))(w, WEIGHT.t())


def inner_jacobian(x: Any) -> Any:
    """A Jacobian in the old way."""
    return torch.autograd.functional.jacobian(lambda y: y.exp() * y.sum(), x, create_graph=True)


def laplacian(x: Any) -> Any:
    """The Laplacian by a loop over the axes."""
    (slope,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
    terms = [torch.autograd.grad(slope[i], x, create_graph=True)[0][i] for i in range(len(x))]
    return torch.stack(terms).sum()


CASES = (
    Case("gradient penalty", lambda w: penalty(WEIGHT.t(), w), normal((3, 4))),
    Case("gradient penalty without graph", penalty_without_graph, normal((2, 3), (3, 4)), "no graph inside"),
    Case("physics-informed residual", residual, normal((4, 1), (1, 3))),
    Case("forces", forces, normal((4, 3))),
    Case("forces detached", forces_detached, normal((4, 3)), "the gradient inside has no graph"),
    Case("MAML", adapted, normal((3, 4))),
    Case("MAML of first order", adapted_first_order, normal((3, 4)), "the second derivative is left out"),
    Case("jvp inside", inner_jvp, normal((3,))),
    Case("Hessian inside", inner_hessian, normal((3,))),
    Case("gradients of samples", per_sample, normal((3, 2))),
    Case("Jacobian inside", inner_jacobian, positive((3,))),
    Case("Laplacian", laplacian, normal((3,))),
    Case("vmap", torch.vmap(lambda row: row.softmax(0) * row[0]), normal((2, 3))),
    Case("grad of torch.func", torch.func.grad(lambda x: (x.exp() * x).sum()), normal((3,))),
)
