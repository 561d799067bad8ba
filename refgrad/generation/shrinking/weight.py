"""The weight of a scenario, a measure of its complexity."""

from __future__ import annotations

from typing import Any

from refgrad.generation.shrinking.simpler_values import complexity
from refgrad.scenario import Backward, Grad, Scenario
from refgrad.scenario.formats import FORMATS


def weight(scenario: Scenario) -> tuple[Any, ...]:
    """Return the complexity of a scenario, what matters most first. Every simplification that is kept reduces it."""
    steps = scenario.steps
    seeds = [step.seed for step in steps if isinstance(step, Backward | Grad) and step.seed is not None]
    tangents = [tangent for step in scenario.jvps for _, tangent in step.tangents]
    constants = [leaf.value for leaf in scenario.leaves] + seeds + tangents
    attributes = [step.to_text() for step in scenario.applications]
    return (
        len(scenario.applications),
        len(scenario.backwards) + len(scenario.gradients) + len(scenario.jvps),
        sum(len(step.arguments) for step in scenario.applications),
        len(scenario.leaves),
        len(steps),
        sum(len(constant.shape) for constant in constants),
        sum(constant.size for constant in constants),
        len(seeds) + sum(step.retain_graph for step in steps if isinstance(step, Backward)),
        sum(map(len, attributes)),
        attributes,
        sum(leaf.requires_grad for leaf in scenario.leaves),
        sum(constant.dtype in FORMATS and constant.dtype != "float64" for constant in constants),
        sum(complexity(constant)[0] for constant in constants),
        [complexity(constant)[1] for constant in constants],
    )
