"""Functions of the kinds that PyTorch's tutorials teach, right, and with the mistakes that their readers report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_graphs import SortedWithPlaces
from tests.checking.functions.torch_inputs import normal, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")
functional: Any = torch.nn.functional
func: Any = torch.func


def saving(forward: Any, backward: Any, *, keep: str = "input", once: bool = False) -> Any:
    """Return a function with a rule of the cotangent and of what the forward kept: its inputs, or its output."""

    def pulled(ctx: Any, cotangent: Any) -> Any:
        return backward(cotangent, *ctx.saved_tensors)

    class Saving(torch.autograd.Function):  # type: ignore[misc]
        """A function in the old style, whose forward has the context."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            result = forward(*inputs)
            ctx.save_for_backward(*((result,) if keep == "output" else inputs))
            return result

    Saving.backward = staticmethod(torch.autograd.function.once_differentiable(pulled) if once else pulled)
    return Saving.apply


def layer(rule: Any) -> Any:
    """Return a layer whose bias may be missing, with a rule that gets what needs a gradient."""

    class Layer(torch.autograd.Function):  # type: ignore[misc]
        """The rows times the weights, and a bias."""

        @staticmethod
        def forward(ctx: Any, x: Any, weight: Any, bias: Any = None) -> Any:
            ctx.save_for_backward(x, weight, bias)
            result = x.mm(weight.t())
            return result if bias is None else result + bias

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return rule(cotangents[0], ctx.needs_input_grad, *ctx.saved_tensors)

    return Layer.apply


def layer_rule(g: Any, needs: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The rule, for what needs it."""
    return (
        g.mm(weight) if needs[0] else None,
        g.t().mm(x) if needs[1] else None,
        g.sum(0) if bias is not None and needs[2] else None,
    )


def layer_that_inverts_what_needs(g: Any, needs: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The rule with a condition that is the wrong way round."""
    first, second, third = layer_rule(g, (True, True, True), x, weight, bias)
    return first if needs[0] else None, None if needs[1] else second, third


class SortedWrongly(SortedWithPlaces):
    """The same, gathering where it should scatter."""

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents[0][ctx.saved_tensors[0]]


def in_place(rule: Any) -> Any:
    """Return the exponential, written over its input, with a rule of the cotangent and of what was kept."""

    class InPlace(torch.autograd.Function):  # type: ignore[misc]
        """A function that says that it writes to its input."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return rule(cotangents[0], *ctx.saved_tensors)

    return lambda x: InPlace.apply(x * 1.0)


def with_context(factor: float) -> Any:
    """Return the cube in the new style: a context of its own, a tangent, and a rule for batches that is generated."""

    class Cube(torch.autograd.Function):  # type: ignore[misc]
        """The cube, which keeps its slope."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            (x,), (_, slope) = inputs, output
            ctx.mark_non_differentiable(slope)
            ctx.save_for_backward(x, slope)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return factor * cotangents[0] * ctx.saved_tensors[1]

    return lambda x: Cube.apply(x)[0]


def by_hand_batched(factor: float) -> Any:
    """Return the sine with a rule for batches written by hand, whose backward is off by a factor."""

    class Sine(torch.autograd.Function):  # type: ignore[misc]
        """The sine."""

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            del output
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return factor * cotangents[0] * ctx.saved_tensors[0].cos()

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            del info
            return Sine.apply(x), in_dims[0]

    return torch.vmap(Sine.apply)


def legendre(factor: float) -> Any:
    """Return the third Legendre polynomial with the leading factor of its derivative."""
    return saving(lambda x: 0.5 * (5 * x**3 - 3 * x), lambda g, x: g * factor * (5 * x**2 - 1))


def written_before_saving(x: Any) -> Any:
    """What was saved is written before the backward, behind the back of the graph."""
    y = x * 2
    z = y.exp()
    z.data.add_(1)
    return z


def sample_losses(weight: Any, rows: Any) -> Any:
    """The losses of single samples."""
    return ((rows @ weight).tanh() - 0.5) ** 2


def ensemble(weights: Any, x: Any) -> Any:
    """Several models at once."""
    return torch.vmap(lambda w, rows: functional.softplus(rows @ w), in_dims=(0, None))(weights, x)


def sample_gradients(weight: Any, rows: Any) -> Any:
    """The gradients of the losses of single samples."""
    one = func.grad(lambda w, row: sample_losses(w, row[None]).sum())
    return torch.vmap(one, in_dims=(None, 0))(weight, rows)


def sample_gradients_detached(weight: Any, rows: Any) -> Any:
    """The same, of weights that are detached."""
    return sample_gradients(weight.detach(), rows) + 0 * weight.sum()


def jacobian(x: Any) -> Any:
    """A Jacobian in reverse mode."""
    return func.jacrev(lambda row: (row * row.sum()).sin())(x)


def jacobian_forward(x: Any) -> Any:
    """A Jacobian in forward mode."""
    return func.jacfwd(lambda row: (row * row.sum()).sin())(x)


LAYER = normal((4, 3), (2, 3), (2,))

CASES = (
    Case("exponential that keeps its output", saving(torch.exp, lambda g, y: g * y, keep="output"), normal((3,))),
    Case(
        "exponential that keeps its input",
        saving(torch.exp, lambda g, x: g * x),
        normal((3,)),
        "what was saved is the input, and the rule takes it for the output",
    ),
    Case(
        "exponential without the cotangent",
        saving(torch.exp, lambda g, y: y + 0 * g, keep="output"),
        normal((3,)),
        "the factor of the cotangent is forgotten",
    ),
    Case("Legendre polynomial", legendre(1.5), normal((4,))),
    Case("Legendre polynomial, factor", legendre(0.5), normal((4,)), "a factor of 3 is missing"),
    Case("layer without bias", layer(layer_rule), normal((4, 3), (2, 3))),
    Case("layer with bias", layer(layer_rule), LAYER),
    Case("layer, inverted condition", layer(layer_that_inverts_what_needs), LAYER, "None for what needs a gradient"),
    Case(
        "layer, wrong order",
        layer(lambda g, needs, x, w, b: (g.t().mm(x), g.mm(w), g.sum(0))),
        normal((2, 2), (2, 2), (2,)),
        "the gradients come in another order than the inputs",
    ),
    Case(
        "layer, mean over the rows",
        layer(lambda g, needs, x, w, b: (g.mm(w), g.t().mm(x), g.mean(0))),
        LAYER,
        "mean for sum",
    ),
    Case(
        "layer, sum over everything",
        layer(lambda g, needs, x, w, b: (g.mm(w), g.t().mm(x), g.sum().expand(2))),
        LAYER,
        "the cotangent is summed over the columns too",
    ),
    Case("layer, one too few", layer(lambda g, needs, x, w, b: (g.mm(w), g.t().mm(x))), LAYER, "a gradient is missing"),
    Case("sort with places", lambda x: SortedWithPlaces.apply(x)[0], normal((5,))),
    Case(
        "sort, gathered",
        lambda x: SortedWrongly.apply(x)[0],
        lambda: (torch.tensor([2.0, 3.0, 1.0]).double(),),
        "gathered",
    ),
    Case("in place, by its output", in_place(lambda g, y: g * y), normal((3,))),
    Case("in place, by its input", in_place(lambda g, y: g * y.log()), positive((3,)), "the overwritten input is used"),
    Case("cube with a context", with_context(1.0), normal((3,))),
    Case("cube with a context, half", with_context(0.5), normal((3,)), "half"),
    Case("batched by hand", by_hand_batched(1.0), normal((2, 3))),
    Case("batched by hand, twice", by_hand_batched(2.0), normal((2, 3)), "twice too large"),
    Case("once differentiable", saving(torch.sin, lambda g, x: g * x.cos(), once=True), normal((3,))),
    Case(
        "double backward of a rule by numbers",
        saving(torch.sin, lambda g, x: g * torch.from_numpy(np.cos(x.detach().numpy()))),
        normal((3,)),
        "not marked as differentiable once only: its own gradient lacks a term",
        options={"order": 2},
    ),
    Case("saved and overwritten", written_before_saving, normal((3,)), "the saved output is overwritten"),
    Case("ensemble", ensemble, normal((2, 3, 2), (4, 3))),
    Case("sample gradients", sample_gradients, normal((3,), (4, 3))),
    Case("sample gradients, detached", sample_gradients_detached, normal((3,), (4, 3)), "the weights are detached"),
    Case("Jacobian in reverse mode", jacobian, normal((3,))),
    Case("Jacobian in forward mode", jacobian_forward, normal((3,))),
    Case("root kept away from 0", lambda x: torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0), normal((4,))),
    Case("clamped from below", lambda x: x.clamp(min=0.1).log(), normal((4,))),
)
