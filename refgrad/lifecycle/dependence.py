"""On which tensors does what an application sends back depend, and on which of them surely?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from refgrad.operators import operator_table
from refgrad.operators.curvature import bending
from refgrad.scenario import Apply

SETTLED: Final = frozenset({
    "add", "cos", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sigmoid", "sin", "subtract", "sum",
    "tanh",
})  # fmt: skip
"""Operators of which all engines that save references save the same: what the row's rule needs, and nothing besides."""


@dataclass(frozen=True, slots=True)
class Slope:
    """What an application sends to one of its operands: the names of the tensors that this depends on.

    ``saved`` is what the row's rule keeps for it, ``bends`` what of it is more than a choice between branches. What
    ``vanishes`` is always zero, and may be sent as zeros that depend on nothing, the cotangent included.
    """

    parent: str
    saved: frozenset[str]
    bends: frozenset[str]
    vanishes: bool = False


def slopes_of(step: Apply) -> tuple[Slope, ...]:
    """Return the slope of each operand, in order."""
    operator = operator_table()[step.operator]
    names = [a.name for a in operator.arguments for _ in (step.arguments if a.variadic else (0,))]
    tensors = {**dict(zip(names, step.arguments, strict=True)), "out": step.name}
    return tuple(
        Slope(
            operand,
            frozenset(tensors[saved] for saved in operator.saves(name)),
            frozenset(tensors[saved] for saved in bending(operator, name)),
            operator.vanishes(name),
        )
        for name, operand in zip(names, step.arguments, strict=True)
    )


def settled(step: Apply) -> bool:
    """Whether all engines save the same for an application."""
    return step.operator in SETTLED
