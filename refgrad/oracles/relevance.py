"""The steps of a scenario that some outputs depend on."""

from __future__ import annotations

from refgrad.scenario import Scenario


def leading_to(scenario: Scenario, outputs: set[str]) -> Scenario:
    """Return a scenario of the steps that define the outputs and everything that these depend on, in order."""
    needed = set(outputs)
    found = []
    for step in reversed(scenario.steps):
        if step.defines in needed:
            needed.update(step.uses)
            found.append(step)
    return Scenario(tuple(reversed(found)))
