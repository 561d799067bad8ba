"""Certified contributions of a cotangent of a recorded gradient to the leaves.

Let h = seed · ∂l/∂x. A cotangent u of h contributes ∂(u · h)/∂y to a leaf y. Second derivatives are symmetric
(Schwarz), so that is the coefficient of e in seed · ∂l/∂y, taken at x + e u, where e² = 0. The tape therefore runs once
more with one more infinitesimal, and its coefficients in the cotangents are the result. No rule for second derivatives
is needed (B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 1994).

The scalars may be of any kind. If l depends on recorded gradients itself, these receive cotangents with an
infinitesimal, and the tape runs with a second one: a gradient of order n needs n - 1 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.oracles.certified.arithmetic import Arithmetic, SeriesArithmetic
from refgrad.scenario import Constant, Grad, Scenario
from refgrad.scenario.rewrite import needed

ObjectArray = npt.NDArray[np.object_]


class Trace(Protocol):
    """The forward part of a scenario on a tape."""

    def vjp(self, contributions: tuple[tuple[str, Constant | None], ...]) -> dict[str, ObjectArray]:
        """Return the cotangent that seeds of outputs contribute to each leaf."""


def sent_through(
    name: str,
    cotangent: list[Any],
    scenario: Scenario,
    arithmetic: Arithmetic,
    trace: Callable[[Scenario, Arithmetic], Trace],
) -> Mapping[str, ObjectArray]:
    """Return the contribution of a cotangent of the recorded gradient ``name`` to each leaf that it depends on."""
    step = scenario.definitions[name]
    assert isinstance(step, Grad)
    moving = arithmetic.along(step.leaf, cotangent)
    swept = trace(Scenario(needed(scenario.steps, {step.output})), moving).vjp(((step.output, step.seed),))
    return {leaf: _slopes(array, moving) for leaf, array in swept.items()}


def _slopes(array: ObjectArray, moving: SeriesArithmetic) -> ObjectArray:
    slopes = np.empty(array.size, dtype=object)
    slopes[:] = [moving.slope(number) for number in array.ravel().tolist()]
    return slopes.reshape(array.shape)
