"""The steps of a scenario that some outputs depend on."""

from __future__ import annotations

from refgrad.scenario import Scenario


def leading_to(scenario: Scenario, outputs: set[str]) -> Scenario:
    """Return the steps that define what the outputs depend on, themselves included, in order."""
    needed = set(outputs)
    found = []
    for step in reversed(scenario.steps):
        if step.defines in needed:
            needed.update(step.uses)
            found.append(step)
    return Scenario(tuple(reversed(found)))
