"""Attribution of failures on views to the operators that make the views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refgrad.generation import LAYOUTS
from refgrad.grading.checks.isolation.alone import applications_alone
from refgrad.interpreter import Float64, evaluate
from refgrad.native.observation import Array
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refgrad.grading.reliance import Reliance

SEEING: frozenset[str] = frozenset({"sum", *LAYOUTS})
"""Operators through which operands become views, or an output's cotangent becomes one number repeated."""

PRODUCT = "multiply"
"""Operator that multiplies a view by itself, so that the result has a second derivative."""


def views_are_right(scenario: Scenario, operator: str, check: str, reliance: Reliance) -> bool:
    """Return True if the views in an operator's scenario are right without it, to the order of the scenario."""
    names = sorted(SEEING & scenario.operators - {operator})
    alone = [each for name in names for each in _alone(scenario, name)]
    return not any(reliance.examined(reliance.seeded(each), check).failed for each in alone if reliance.runnable(each))


def _alone(scenario: Scenario, name: str) -> Iterator[Scenario]:
    yield from applications_alone(scenario, name)
    if scenario.gradients:
        values = evaluate(scenario, Float64())
        for step in scenario.applications:
            if step.operator == name and np.isfinite(values[step.arguments[0]]).all():
                yield _bent(step, np.asarray(values[step.arguments[0]]), np.asarray(values[step.name]))


def _bent(step: Apply, operand: Array, result: Array) -> Scenario:
    """Return a scenario that differentiates the product of a view with itself twice."""
    ones = [Constant.of(np.ones(array.shape)) for array in (result, operand)]
    return Scenario((
        Leaf("x", Constant.of(np.ascontiguousarray(operand).reshape(operand.shape)), requires_grad=True),
        Apply("view", step.operator, ("x",), step.attributes),
        Apply("bent", PRODUCT, ("view", "view")),
        Grad("h", "bent", "x", ones[0]),
        Backward("h", ones[1]),
        Read("grad", "x"),
    ))
