"""Faults of what users do between a forward pass and a backward pass."""

from __future__ import annotations

from typing import Any, Final

from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault

SETUP: Final = (
    CHANGES
    + """
class Keeping(torch.autograd.Function):  # its value is not among those that are freed
    @staticmethod
    def forward(ctx, x, function, slope):
        ctx.x, ctx.slope = x, slope
        return function(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.slope(ctx.x.detach()), None, None

def fitting(seed, output):
    if seed is None or seed.shape == output.shape:
        return seed
    if seed.numel() == output.numel():
        return seed.reshape(output.shape)
    return seed

def stretched(seed, output):
    try:
        return seed if seed is None else seed.expand(output.shape)
    except RuntimeError:
        return seed

zero = {}

def shared_zeros(leaf):
    if leaf.grad is not None:
        leaf.grad = zero.setdefault((leaf.shape, leaf.dtype), torch.zeros_like(leaf.grad)).zero_()

def of_first_order(h):
    return h.detach().requires_grad_() if h.grad_fn is not None and "Mul" not in h.grad_fn.name() else h

def passing(leaf, gradient):
    leaf.grad = None
    return gradient
"""
)

BACKWARD: Final = "{output}.backward({seed}, retain_graph={retain_graph})"


def _call(name: str, check: str, operators: dict[str, str] | None = None, **templates: Any) -> PlantedFault:
    return PlantedFault(name, "calls of users", check, Plant(SETUP, operators or {}, templates))


CALL_FAULTS: Final = (
    _call(
        "keeps the operand of an exponential beyond its graph",
        "contracts/exp",
        {"exp": "Keeping.apply({x}, torch.exp, torch.exp)"},
    ),
    _call(
        "keeps the operand of a sine beyond its graph",
        "contracts/sin",
        {"sin": "Keeping.apply({x}, torch.sin, torch.cos)"},
    ),
    _call(
        "keeps the operand of a logarithm beyond its graph",
        "contracts/log",
        {"log": "Keeping.apply({x}, torch.log, torch.reciprocal)"},
    ),
    _call(
        "takes a seed of as many entries",
        "seeds/seed_shape_must_match",
        backward="{output}.backward(fitting({seed}, {output}), retain_graph={retain_graph})",
    ),
    _call(
        "stretches a seed",
        "seeds/seed_shape_must_match",
        backward="{output}.backward(stretched({seed}, {output}), retain_graph={retain_graph})",
    ),
    _call(
        "adds to one array of zeros for all leaves",
        "accumulation/zeros_are_added_to",
        zero_grad_to_zeros="shared_zeros({leaf})",
    ),
    _call(
        "forgets what was accumulated while gradients are recorded",
        "higher_order/recording_touches_no_leaf",
        grad="passing({leaf}, torch.autograd.grad({output}, {leaf}, {seed}, create_graph=True)[0])",
    ),
    _call(
        "records gradients of the first order alone",
        "higher_order/orders_go_on",
        grad="of_first_order(torch.autograd.grad({output}, {leaf}, {seed}, create_graph=True)[0])",
    ),
)
