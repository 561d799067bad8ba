"""Ingredients of a scenario that faults may hang on, and that other scenarios can do without."""

from __future__ import annotations

from typing import Final

import numpy as np

from refgrad.scenario import Backward, Leaf, Scenario

EMPTY: Final = "empty"
"""An array without entries."""

AVOIDABLE: Final = frozenset({EMPTY})
"""What the scenarios of every family can be drawn without."""


def rare_ingredients(scenario: Scenario) -> frozenset[str]:
    """Return what is special about a scenario: operands used twice, empty arrays, numbers that are not finite."""
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves]
    found = {
        EMPTY: any(array.size == 0 for array in arrays),
        "not finite": not all(np.all(np.isfinite(array)) for array in arrays),
        "shared": any(len(set(step.arguments)) < len(step.arguments) for step in scenario.applications),
    }
    return frozenset(name for name, holds in found.items() if holds)


def starts_at_leaf(scenario: Scenario) -> bool:
    """Whether a backward starts where nothing was computed, as no drawn scenario's does."""
    leaves = {step.name for step in scenario.steps if isinstance(step, Leaf)}
    return any(isinstance(step, Backward) and step.output in leaves for step in scenario.steps)
