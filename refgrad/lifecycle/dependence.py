"""The tensors that the vjps of an application read: those that a rule saves, and those that it varies with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from refgrad.operators import operator_table
from refgrad.operators.curvature import bending
from refgrad.scenario import Apply

AGREED: Final = frozenset({
    "add", "cos", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sigmoid", "sin", "subtract", "sum",
    "tanh",
})  # fmt: skip
"""Operators of which all engines that save references save the same: what the row's rule needs, and nothing besides."""


@dataclass(frozen=True, slots=True)
class Vjp:
    """The vjp of an application by one of its operands: the names of the tensors that it depends on.

    ``saved`` is what the row's rule keeps for it, ``nonlinear_in`` what of that is more than a choice between branches.
    One that is ``always_zero`` may be sent as zeros that depend on nothing, the cotangent included.
    """

    parent: str
    saved: frozenset[str]
    nonlinear_in: frozenset[str]
    always_zero: bool = False


def vjps_of(step: Apply) -> tuple[Vjp, ...]:
    """Return the vjp of each operand, in order."""
    operator = operator_table()[step.operator]
    names = [a.name for a in operator.arguments for _ in (step.arguments if a.variadic else (0,))]
    tensors = {**dict(zip(names, step.arguments, strict=True)), "out": step.name}
    return tuple(
        Vjp(
            operand,
            frozenset(tensors[saved] for saved in operator.saves(name)),
            frozenset(tensors[saved] for saved in bending(operator, name)),
            operator.vanishes(name),
        )
        for name, operand in zip(names, step.arguments, strict=True)
    )


def saves_agree(step: Apply) -> bool:
    """Whether all engines save the same for an application."""
    return step.operator in AGREED
