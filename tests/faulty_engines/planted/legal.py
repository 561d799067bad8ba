"""Choices that an engine is free to make, planted into PyTorch: none of them may be called a fault."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, Kind, Plant, PlantedFault, in_operator

SETUP: Final = (
    CHANGES
    + """
import random
from torch.utils.checkpoint import checkpoint

chance = random.Random(3)

def first_of_ties(x, axis, keepdims):
    y = torch.amax(x, dim=all_axes(x, axis), keepdim=keepdims)
    return torch.max(x, dim=axis, keepdim=keepdims).values if isinstance(axis, int) and x.ndim else y

class Second(torch.autograd.Function):  # takes the second operand where both are equal
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return torch.maximum(x, y)

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return (gradient * (x > y)).sum_to_size(x.shape), (gradient * (x <= y)).sum_to_size(y.shape)

def shuffled(x, axis, keepdims):
    if axis is not None or x.ndim != 1:
        return torch.mean(x, dim=all_axes(x, axis), keepdim=keepdims)
    order = list(range(len(x)))
    chance.shuffle(order)
    return torch.mean(x[order], dim=0, keepdim=keepdims)

def by_doubling(x, axis):  # adds what stands 1, 2, 4, .. entries before
    if not x.ndim:
        return torch.cumsum(x, axis)
    x, step = x.movedim(axis, -1), 1
    while step < x.shape[-1]:
        x = x + torch.nn.functional.pad(x, (step, 0))[..., : x.shape[-1]]
        step *= 2
    return x.movedim(-1, axis) + 0

def short_norm(x, axes, keepdims):  # half as long as a unit vector
    y = torch.linalg.vector_norm(x, 2, axes, True)
    count = max(1, x.numel() // max(1, y.numel()))
    half = torch.where(y == 0, 0.5 / count**0.5, 0.0).detach()
    return instead(torch.linalg.vector_norm(x, 2, axes, keepdims), (y + (x * half).sum(axes, True)).sum(axes, keepdims))
"""
)


def _choice(name: str, check: str, spelling: str, kind: Kind = "values") -> PlantedFault:
    return in_operator(name, kind, check, spelling, SETUP)


_rounded = partial(_choice, kind="precision")

LEGAL_CHOICES: Final = (
    _choice(
        "has the slope one half of relu at zero",
        "edges/relu",
        "with_slope(torch.relu, lambda x: torch.where(x == 0, 0.5, (x > 0).to(x.dtype)))({x})",
    ),
    _choice(
        "has the slope one of an absolute value at zero",
        "edges/abs",
        "with_slope(torch.abs, lambda x: torch.where(x == 0, 1.0, torch.sign(x)))({x})",
    ),
    _choice("takes the first of tied entries", "edges/max", "first_of_ties({x}, {axis}, {keepdims})"),
    _choice("takes the second of equal operands", "edges/maximum", "Second.apply({x}, {y})"),
    _choice(
        "has a short subgradient of a norm at zero",
        "edges/l2_norm",
        "short_norm({x}, all_axes({x}, {axis}), {keepdims})",
    ),
    _choice(
        "sorts equal entries the other way round",
        "edges/sort",
        "torch.sort(torch.flip({x}, ({axis},) if {x}.ndim else ()), dim={axis}, descending={descending}, "
        "stable=True).values",
    ),
    _choice("forgets the sign of a zero whose sign is taken", "exceptional/copysign", "torch.copysign({x}, {y} + 0.0)"),
    _choice(
        "answers negative zeros for zeros",
        "operators/where",
        "torch.where({condition}, {x}, received({y}, lambda g, y: torch.where(g == 0, -0.0, g).to(g.dtype)))",
    ),
    PlantedFault(
        "answers zeros for what nothing was sent to",
        "time and order",
        "several/leaves_that_nothing_uses_have_none",
        Plant(
            templates={
                "grads": "torch.autograd.grad({outputs}, {leaves}, {seeds}, allow_unused=True, materialize_grads=True)"
            }
        ),
    ),
    _rounded(
        "adds from the end",
        "operators/sum",
        "torch.sum(torch.flip({x}, tuple(range({x}.ndim))), dim=all_axes({x}, {axis}), keepdim=True)"
        ".flip(tuple(range({x}.ndim))).reshape(torch.sum({x}, dim=all_axes({x}, {axis}), keepdim={keepdims}).shape)",
    ),
    _rounded("is off by a last bit", "operators/exp", "torch.exp({x}) * (1 + 2.0**-52)"),
    _rounded("has a softmax of a logarithm", "operators/softmax", "torch.exp(torch.log_softmax({x}, dim={axis}))"),
    _rounded(
        "multiplies matrices of float32 in double precision",
        "operators/matmul",
        "torch.matmul({x}.double(), {y}.double()).to(torch.promote_types({x}.dtype, {y}.dtype))",
    ),
    _rounded(
        "computes half precision in single precision",
        "half_precision/gelu",
        "torch.nn.functional.gelu({x}.float()).to({x}.dtype) if {x}.dtype in (torch.float16, torch.bfloat16) "
        "else torch.nn.functional.gelu({x})",
    ),
    _rounded("adds by doubling steps", "operators/cumsum", "by_doubling({x}, {axis})"),
    _choice("adds in another order each time", "operators/mean", "shuffled({x}, {axis}, {keepdims})", "time and order"),
    _choice(
        "computes a forward again on the way back",
        "operators/mish",
        "checkpoint(torch.nn.functional.mish, {x}, use_reentrant=False)",
        "time and order",
    ),
    _choice(
        "gives gradients that lie transposed in memory",
        "operators/sin",
        "torch.sin(received({x}, lambda g, x: g.mT.contiguous().mT if g.ndim > 1 else g))",
        "memory",
    ),
)
