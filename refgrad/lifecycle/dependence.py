"""The tensors that the vjps of an application depend on: those that a rule saves, and those it is nonlinear in."""

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
"""Operators for which all engines that save references save the same tensors: only those that the row's rule needs."""


@dataclass(frozen=True, slots=True)
class Vjp:
    """The vjp of an application with respect to one operand, as the names of the tensors that it depends on.

    ``saved`` are the tensors that the row's rule keeps for it, ``nonlinear_in`` those of them that do more than choose
    between branches. A vjp that is ``always_zero`` may be sent as zeros that depend on nothing, not even the cotangent.
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
    """Return True if all engines save the same tensors for an application."""
    return step.operator in AGREED
