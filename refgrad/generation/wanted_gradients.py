"""Scenarios without the gradients of some leaves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from refgrad.scenario import Leaf, Read, Scenario


def without_gradients_of(scenario: Scenario, leaves: Collection[str]) -> Scenario:
    """Return the scenario in which these leaves do not require grad, and none of their gradients is read."""
    kept = (s for s in scenario.steps if not (isinstance(s, Read) and s.what == "grad" and s.name in leaves))
    return Scenario(
        tuple(replace(s, requires_grad=False) if isinstance(s, Leaf) and s.name in leaves else s for s in kept)
    )
