"""Faults that are planted into a library from outside, by further setup, other spellings and other templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from refgrad.native.adapter import AnyAdapter, find_adapter

Kind = Literal[
    "sizes and ranks",
    "memory",
    "which inputs want gradients",
    "values",
    "precision",
    "time and order",
    "graphs",
    "attributes",
    "windows and indices",
    "neighbours",
    "modes over modes",
    "far out",
    "equal entries",
    "narrow dtypes",
    "behind known failures",
    "calls of users",
]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Plant:
    """What is changed of an engine: the code of its setup, how it spells operators, and its templates."""

    setup: str = ""
    operators: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    templates: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    engine: str = "torch"

    def adapter(self, name: str) -> AnyAdapter:
        """Return the adapter of the engine that is changed like this."""
        right = find_adapter(self.engine)
        return replace(
            right,
            name=name,
            setup=f"{right.setup}\nimport numpy as np\n{self.setup}",
            operators={**right.operators, **self.operators},
            aliases={operator: texts for operator, texts in right.aliases.items() if operator not in self.operators},
            **self.templates,
        )


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """One way to be wrong: ``name`` continues the words "an engine that", ``check`` is the check that must fail."""

    name: str
    kind: Kind
    check: str
    plant: Plant

    @property
    def id(self) -> str:
        """What tells it from all others."""
        return f"{self.plant.engine}, {self.check}: {self.name}"

    @property
    def doubted(self) -> frozenset[str]:
        """The operators that are not what they were."""
        return frozenset(self.plant.operators) | {self.check.partition("/")[2]}


def in_operator(name: str, kind: Kind, check: str, spelling: str, setup: str) -> PlantedFault:
    """Return the fault of the operator that a check is about."""
    return PlantedFault(name, kind, check, Plant(setup, {check.partition("/")[2]: spelling}))


CHANGES: Final = """
class Received(torch.autograd.Function):  # what an operand receives is changed
    @staticmethod
    def forward(ctx, x, change):
        ctx.change = change
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return ctx.change(gradient, x), None

class Instead(torch.autograd.Function):  # the value of one, the gradient of another
    @staticmethod
    def forward(ctx, right, wrong):
        return right.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient

def with_slope(function, slope):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * slope(x)

    return Function.apply

def received(x, change, when=True):
    return Received.apply(x, change) if when else x

def received_twice(x, change, when=True):  # at second order alone
    return received(x, lambda gradient, x: received(gradient, change), when)

def instead(right, wrong):
    return Instead.apply(right.detach(), wrong)

def lost(gradient, x):
    return torch.zeros_like(gradient)

def more(gradient, x):
    return gradient * 1.5

def at(x):  # the number of each entry
    return torch.arange(x.numel()).reshape(x.shape)

def along(x):  # the place of each entry along the last axis
    return torch.arange(x.shape[-1]).expand(x.shape) if x.ndim else at(x)

def lost_where(mask):
    return lambda gradient, x: torch.where(mask(x), 0.0, 1.0).to(x.dtype) * gradient

def with_slopes(function, slopes):  # written down by hand
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *operands):
            ctx.save_for_backward(*operands)
            return function(*operands)

        @staticmethod
        def backward(ctx, gradient):
            found = slopes(gradient, *ctx.saved_tensors)
            return tuple(g.sum_to_size(x.shape) for g, x in zip(found, ctx.saved_tensors))

    return Function.apply

def with_slope_of_both(function, slope):  # of the operand and the result
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = function(x)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return slope(gradient, *ctx.saved_tensors)

    return Function.apply
"""
"""How the gradient of an operator of PyTorch is changed, on certain operands only."""
