"""Functions of PyTorch that are wrong or odd by what leaves the graph, and further operators."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_inputs import constant, normal, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")


@cache
def with_compiler() -> Any:
    """Return a compiled function: to import the compiler takes seconds, which only the test of it needs to spend."""
    return torch.compile(lambda x: (x.sin() * x).sum(), backend="eager")


def compiled(x: Any) -> Any:
    return with_compiler()(x)


class Rounded(torch.autograd.Function):  # type: ignore[misc]
    """Rounding with the gradient of the identity, on purpose: it is no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        del ctx
        return x.round()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        del ctx
        return cotangents[0]


class SavedOutput(torch.autograd.Function):  # type: ignore[misc]
    """exp that saves its output, and lets nobody know that it writes to it afterwards."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.kept = y
        result = y.clone()
        y.add_(1)
        return result

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents[0] * ctx.kept


class Dirty(torch.autograd.Function):  # type: ignore[misc]
    """exp in place, as the documentation of mark_dirty has it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (y,) = ctx.saved_tensors
        return cotangents[0] * y


class SortedWithPlaces(torch.autograd.Function):  # type: ignore[misc]
    """Sorting, whose second output is not differentiable."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        values, places = x.sort()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return values, places

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (places,) = ctx.saved_tensors
        return torch.zeros_like(cotangents[0]).scatter(0, places, cotangents[0])


class KeptInTheClass(torch.autograd.Function):  # type: ignore[misc]
    """A square that keeps its input where the next call overwrites it."""

    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        del ctx
        KeptInTheClass.kept = x
        return x * x

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        del ctx
        return 2 * KeptInTheClass.kept * cotangents[0]


class OneBuffer(torch.autograd.Function):  # type: ignore[misc]
    """A square whose gradients all lie in the same memory."""

    buffer = torch.zeros(3).double()

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (x,) = ctx.saved_tensors
        return OneBuffer.buffer.copy_(2 * x * cotangents[0])


def in_place(x: Any) -> Any:
    """Operators in place on a copy."""
    y = x.clone()
    y.mul_(2).add_(x)
    y[0] = x[1] * 3
    return y.tanh_()


def rows_written(x: Any) -> Any:
    """A result that is written row by row."""
    result = torch.zeros(4, 3, dtype=x.dtype)
    for i in range(4):
        result[i] = x[i % 2] ** (i + 1)
    return result


def accumulated(x: Any) -> Any:
    """A loop with a state."""
    state = torch.zeros(3, dtype=x.dtype)
    for row in x:
        state = torch.tanh(row + 0.5 * state)
    return state


def safe_square_root(x: Any) -> Any:
    """A square root whose other branch is not a number in the backward."""
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x))


def safer_square_root(x: Any) -> Any:
    """A square root that is asked only where it exists."""
    inside = torch.where(x > 0, x, torch.ones_like(x))
    return torch.where(x > 0, inside.sqrt(), torch.zeros_like(x))


def detached_mean(x: Any) -> Any:
    """A normalization with a mean that is taken out of the graph."""
    return x / x.detach().mean()


def rebuilt(x: Any) -> Any:
    """A tensor that is made of numbers."""
    return x * torch.tensor([float(number) for number in x])


def without_recording(x: Any) -> Any:
    """A factor that is computed without being recorded."""
    with torch.no_grad():
        factor = x.sum()
    return x * factor


def by_numpy(x: Any) -> Any:
    """A factor that goes through numpy."""
    return x * torch.from_numpy(x.detach().numpy().copy()).exp()


def hook_that_scales(x: Any) -> Any:
    """A hook that doubles the gradient."""
    y = x * x
    y.register_hook(lambda gradient: gradient * 2)
    return y.sum()


def hook_that_looks(x: Any) -> Any:
    """A hook that only looks."""
    y = x * x
    y.register_hook(lambda gradient: None)
    return y.exp().sum()


def hook_that_clips(x: Any) -> Any:
    """A hook that clips the gradient."""
    y = x * 3
    y.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
    return (y * y).sum()


def straight_through(x: Any) -> Any:
    """Rounding by the trick of a detached difference."""
    return x + (x.round() - x).detach()


MASK = torch.tensor([True, False, True])
WEIGHT = constant(3, 3)
PLACES = torch.tensor([2, 0, 0])

CASES = (
    Case("in place", in_place, positive((2, 3))),
    Case("rows written", rows_written, positive((2, 3))),
    Case("a loop", accumulated, normal((3, 3))),
    Case("exp in place", lambda x: Dirty.apply(x.clone()), normal((3,))),
    Case("sorted", lambda x: SortedWithPlaces.apply(x), normal((5,))),  # noqa: PLW0108 (gradcheck wants a function)
    Case("where, NaN not taken", safe_square_root, lambda: (signs(),), "NaN of the branch that is not taken"),
    Case("where, safe", safer_square_root, lambda: (signs(),)),
    Case("detached mean", detached_mean, positive((4,)), "the mean is detached"),
    Case("rebuilt of numbers", rebuilt, positive((3,)), "numbers leave the graph"),
    Case("no_grad", without_recording, positive((3,)), "a factor is not recorded"),
    Case("by numpy", by_numpy, positive((3,)), "a factor goes through numpy"),
    Case("straight through", straight_through, normal((4,)), "the gradient of the identity"),
    Case("rounded", lambda x: Rounded.apply(x), normal((4,)), "the gradient of the identity"),  # noqa: PLW0108
    Case("saved and written", lambda x: SavedOutput.apply(x), normal((3,)), "what is saved changes"),  # noqa: PLW0108
    Case("kept in the class", lambda x: KeptInTheClass.apply(x), normal((3,))),  # noqa: PLW0108
    Case(
        "kept in the class, twice",
        lambda x: KeptInTheClass.apply(x) + KeptInTheClass.apply(2 * x),
        normal((3,)),
        "the second call overwrites what the first one kept",
    ),
    Case("one buffer", lambda x: OneBuffer.apply(x), normal((3,)), "gradients share memory"),  # noqa: PLW0108
    Case("sorted values", lambda x: torch.sort(x).values.cumsum(0), normal((5,))),
    Case("singular values", torch.linalg.svdvals, normal((3, 2))),
    Case("compiled", compiled, normal((3,))),
    Case("written by its user", lambda x: x.mul_(2).exp(), normal((3,))),
    Case("hook that scales", hook_that_scales, normal((3,)), "a hook doubles the gradient"),
    Case("hook that looks", hook_that_looks, normal((3,))),
    Case("hook that clips", hook_that_clips, normal((3,)), "a hook clips the gradient"),
    Case("mask", lambda x: x[:, MASK].exp(), normal((2, 3))),
    Case("gather", lambda x: x[PLACES] * x, normal((3,))),
    Case("index_add", lambda x, y: x.index_add(0, PLACES, y), normal((3, 2), (3, 2))),
    Case("scatter_reduce", lambda x: x.new_zeros(3).scatter_reduce(0, PLACES, x, "sum"), normal((3,))),
    Case("einsum", lambda x, y: torch.einsum("bi,ij,bj->b", x, WEIGHT, y), normal((2, 3), (2, 3))),
    Case("cholesky", lambda x: torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(3).double()), normal((3, 3))),
    Case("eigenvalues", lambda x: torch.linalg.eigvalsh(x + x.mT), normal((3, 3))),
    Case("inverse", lambda x: torch.linalg.inv(x + 4 * torch.eye(3).double()), normal((3, 3))),
    Case("solve", lambda a, b: torch.linalg.solve(a + 4 * torch.eye(3).double(), b), normal((3, 3), (3, 2))),
    Case("log determinant", lambda x: torch.logdet(x @ x.mT + torch.eye(3).double()), normal((3, 3))),
    Case("convolution", torch.nn.functional.conv2d, normal((1, 2, 4, 4), (3, 2, 2, 2), (3,))),
    Case("max pooling", lambda x: torch.nn.functional.max_pool2d(x, 2), normal((1, 1, 4, 4))),
    Case("cross entropy", lambda x: torch.nn.functional.cross_entropy(x, PLACES), normal((3, 4))),
    Case("attention", torch.nn.functional.scaled_dot_product_attention, normal((1, 3, 2), (1, 3, 2), (1, 3, 2))),
    Case("cosine similarity", torch.nn.functional.cosine_similarity, normal((2, 3), (2, 3))),
    Case("norm", lambda x: x.norm(), normal((5,))),
    Case("distances", torch.cdist, normal((3, 2), (4, 2))),
    Case("logsumexp", lambda x: torch.logsumexp(100 * x, 0), normal((4,))),
    Case("fft", lambda x: torch.fft.rfft(x).abs().sum(), normal((6,))),
    Case("multivariate gamma", lambda x: torch.mvlgamma(x + 3, 2), positive((3,))),
    Case(
        "normal distribution", lambda m, s: torch.distributions.Normal(m, s).log_prob(WEIGHT[0]), positive((3,), (3,))
    ),
    Case("relu at 0", torch.relu, lambda: (torch.tensor([0.0, 1.0, -1.0]).double().requires_grad_(),)),
    Case("no entries", lambda x: x * 2, lambda: (torch.zeros(0, 3).double().requires_grad_(),)),
    Case("identity", lambda x: x, normal((3,))),
    Case("a view", lambda x: x.t(), normal((2, 3))),
    Case("not used", lambda x, y: x * 2, normal((3,), (2,))),
    Case("large", lambda x: (x * 1e12).sum(), normal((3,))),
    Case("rapid", lambda x: torch.sin(200 * x), normal((3,))),
    Case("a scalar", lambda x: x**3, lambda: (torch.tensor(1.5).double().requires_grad_(),)),
)


def signs() -> Any:
    """Return numbers of both signs."""
    return torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
