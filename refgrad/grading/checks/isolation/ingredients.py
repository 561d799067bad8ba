"""Rare ingredients of a scenario that a fault may depend on, and that other scenarios can do without."""

from __future__ import annotations

from typing import Final

import numpy as np

from refgrad.scenario import Backward, Leaf, Scenario

EMPTY: Final = "empty"
"""Name of the ingredient of an array without entries."""

AVOIDABLE: Final = frozenset({EMPTY})
"""Ingredients without which the scenarios of every family can be drawn."""


def rare_ingredients(scenario: Scenario) -> frozenset[str]:
    """Return the rare ingredients of a scenario: operands used twice, empty arrays, numbers that are not finite."""
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves]
    found = {
        EMPTY: any(array.size == 0 for array in arrays),
        "not finite": not all(np.all(np.isfinite(array)) for array in arrays),
        "shared": any(len(set(step.arguments)) < len(step.arguments) for step in scenario.applications),
    }
    return frozenset(name for name, holds in found.items() if holds)


def starts_at_leaf(scenario: Scenario) -> bool:
    """Return True if a backward starts at a leaf, as in no drawn scenario."""
    leaves = {step.name for step in scenario.steps if isinstance(step, Leaf)}
    return any(isinstance(step, Backward) and step.output in leaves for step in scenario.steps)
