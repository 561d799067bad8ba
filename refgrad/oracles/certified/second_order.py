"""What a cotangent that arrives at a recorded gradient sends on to the leaves, certified.

Let h = seed · ∂l/∂x. What a cotangent u of h sends to a leaf y is ∂(u · h)/∂y, and second derivatives are symmetric
(Schwarz): it is the coefficient of e in seed · ∂l/∂y, taken at x + e u, where e² = 0. So the tape runs once more with
one more infinitesimal, and the sweep's coefficients of it are the answer, with no rule for second derivatives at all
(B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 1994).

Nothing in this asks what the scalars are. Where l depends on recorded gradients itself, cotangents arrive at those with
an infinitesimal in them, and the tape runs with a second one: a gradient of order n is found with n - 1 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.oracles.certified.arithmetic import Arithmetic, SeriesArithmetic
from refgrad.scenario import Constant, Grad, Scenario, Step

ObjectArray = npt.NDArray[np.object_]


class Trace(Protocol):
    """A scenario's forward part on a tape."""

    def vjp(self, contributions: tuple[tuple[str, Constant | None], ...]) -> dict[str, ObjectArray]:
        """Return what seeds of outputs send to each leaf."""


def sent_through(
    name: str,
    cotangent: list[Any],
    scenario: Scenario,
    arithmetic: Arithmetic,
    trace: Callable[[Scenario, Arithmetic], Trace],
) -> Mapping[str, ObjectArray]:
    """Return what a cotangent of the recorded gradient ``name`` sends to each leaf that the gradient depends on."""
    step = scenario.definitions[name]
    assert isinstance(step, Grad)
    moving = arithmetic.along(step.leaf, cotangent)
    swept = trace(Scenario(leading_to(scenario, step.output)), moving).vjp(((step.output, step.seed),))
    return {leaf: _slopes(array, moving) for leaf, array in swept.items()}


def leading_to(scenario: Scenario, output: str) -> tuple[Step, ...]:
    """Return the leaves, applications and recorded gradients that an output depends on, itself included, in order."""
    needed = {output}
    found: list[Step] = []
    for step in reversed(tuple(scenario.definitions.values())):
        if step.name in needed:
            needed.update(step.uses)
            found.append(step)
    return tuple(reversed(found))


def _slopes(array: ObjectArray, moving: SeriesArithmetic) -> ObjectArray:
    slopes = np.empty(array.size, dtype=object)
    slopes[:] = [moving.slope(number) for number in array.ravel().tolist()]
    return slopes.reshape(array.shape)
