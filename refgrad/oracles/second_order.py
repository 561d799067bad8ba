"""What does a cotangent that arrives at a recorded gradient send on to the leaves, certainly?

Let h = seed · ∂l/∂x. What a cotangent u of h sends to a leaf y is ∂(u · h)/∂y, and second derivatives are symmetric
(Schwarz): it is the derivative at t = 0 of seed · ∂l/∂y, taken at x + t u. So the tape runs once more, in series of
length two in t, and the sweep's coefficients of t are the answer, with no rule for second derivatives at all
(B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 1994).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.oracles.arithmetic import Arithmetic
from refgrad.oracles.series_functions import coefficient
from refgrad.scenario import Constant, Grad, Leaf, Scenario, Step

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
    """Return what a cotangent of the recorded gradient ``name`` sends to each leaf that the gradient depends on.

    A gradient of a gradient would need a third derivative: it sends what is not a number.
    """
    step = scenario.definitions[name]
    assert isinstance(step, Grad)
    steps = leading_to(scenario, step.output)
    if any(isinstance(other, Grad) for other in steps):
        return {s.name: _nothing_known(s) for s in steps if isinstance(s, Leaf) and s.requires_grad}
    swept = trace(Scenario(steps), arithmetic.along(step.leaf, cotangent)).vjp(((step.output, step.seed),))
    return {leaf: _slopes(array) for leaf, array in swept.items()}


def leading_to(scenario: Scenario, output: str) -> tuple[Step, ...]:
    """Return the leaves, applications and recorded gradients that an output depends on, itself included, in order."""
    needed = {output}
    found: list[Step] = []
    for step in reversed(tuple(scenario.definitions.values())):
        if step.name in needed:
            needed.update(step.uses)
            found.append(step)
    return tuple(reversed(found))


def _nothing_known(leaf: Leaf) -> ObjectArray:
    return np.full(leaf.value.shape, arb.nan(), dtype=object)


def _slopes(array: ObjectArray) -> ObjectArray:
    slopes = np.empty(array.size, dtype=object)
    slopes[:] = [coefficient(number, 1) for number in array.ravel().tolist()]
    return slopes.reshape(array.shape)
