"""A reverse pass in float64 over a trace: the truth of gradients with too many entries to certify, and their rounding.

The reference engine runs it, so a gradient is only used as the truth if a forward sweep, which shares no rule with that
engine, agrees with it (:mod:`refgrad.oracles.screening`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np

from refgrad import engine
from refgrad.checking.libraries.trees import Array
from refgrad.checking.tracing.recorder import Given
from refgrad.checking.tracing.trace import Trace
from refgrad.engine.operators.recording import record_operators
from refgrad.operators import Operator, operator_table
from refgrad.oracles import screening
from refgrad.oracles.screening import Contributions

ASIDE: Final = 2.0**-30
"""Relative distance of the two points whose mean is the truth; entries that differ between them are at a kink."""

ROUNDED: Final = frozenset({"sum", "mean", "prod", "matmul", "add_at"})
"""Structural operators whose results are rounded; the others move entries."""


@cache
def functions() -> Mapping[str, Any]:
    """Return the operators of the table as functions of the reference engine's tensors."""
    return record_operators(operator_table())


class Tensors:
    """The number system of the reference engine's tensors.

    If there are random numbers, results have relative errors of at most ``unit``, and so do cotangents.
    """

    def __init__(self, trace: Trace, unit: float, choices: np.random.Generator | None) -> None:
        """Differentiate by the inputs of a trace."""
        self.unit, self.choices = unit, choices
        self.leaves: dict[str, Any] = dict.fromkeys(trace.inputs)

    def dual(self, name: str, array: Array) -> Any:
        """Return the array of a leaf."""
        if name not in self.leaves:
            return self.constant(array)
        self.leaves[name] = engine.tensor(array.astype(np.float64), requires_grad=True)
        return self.leaves[name]

    def constant(self, array: Array) -> Any:
        """Return an array that does not vary."""
        return engine.tensor(array if array.dtype == np.bool_ else array.astype(np.float64))

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Apply an operator, and multiply the result by a factor, which also multiplies its cotangent."""
        result = functions()[operator.name](*arguments, **attributes)
        moves = operator.structure is not None and operator.name not in ROUNDED
        if self.choices is None or moves or not result.requires_grad:
            return result
        return result * engine.tensor(1 + self.unit * self.choices.uniform(-1.0, 1.0, result.shape))


def gradients(
    trace: Trace, contributions: Contributions, unit: float = 0.0, choices: np.random.Generator | None = None
) -> dict[str, Array]:
    """Return the gradient of the sum of seed · output with respect to each input, with rounding errors if asked for."""
    system: Any = Tensors(trace, unit, choices)
    with np.errstate(all="ignore"):
        values: Mapping[str, Any] = trace.evaluated(system)
        terms = [(values[name] * np.asarray(seed, np.float64)).sum() for name, seed in contributions]
        recorded = [term for term in terms if term.requires_grad]
        leaves = list(system.leaves.values())
        found = engine.grad(sum(recorded), leaves, allow_unused=True) if recorded else (None,) * len(leaves)
    pairs = zip(trace.shapes.items(), found, strict=True)
    return {name: np.zeros(shape) if each is None else each.numpy() for (name, shape), each in pairs}


def truth(trace: Trace, contributions: Contributions, choices: np.random.Generator) -> dict[str, Array] | None:
    """Return the gradients in float64, NaN for entries at a kink, or None if a forward sweep does not agree."""
    signs = {name: np.where(choices.random(shape) < 1 / 2, -1.0, 1.0) for name, shape in trace.shapes.items()}
    sides = []
    for distance in (ASIDE, -ASIDE):
        recorder = copy(trace.recorder)
        recorder.steps = [
            step._replace(array=step.array + distance * signs[step.name] * (np.abs(step.array) + ASIDE))
            if isinstance(step, Given) and step.name in signs
            else step
            for step in recorder.steps
        ]
        moved = replace(trace, recorder=recorder)
        sides.append(gradients(moved, contributions))
        rounding = screening.Rounding("float64", trace.terms, large=True)
        if not screening.Sweep(moved, sides[-1], choices).passes(contributions, rounding):
            return None
    return {name: _joined(sides[0][name], sides[1][name]) for name in trace.inputs}


def _joined(one: Array, other: Array) -> Array:
    """Return the mean of both sides, NaN where they differ."""
    size = np.abs(one) + np.abs(other) + np.sqrt(np.mean(np.square(one))) if one.size else one
    return np.where(np.abs(one - other) <= ASIDE**0.5 * size, (one + other) / 2, np.nan)
