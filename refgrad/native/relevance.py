"""The steps and leaves of a scenario that an output depends on."""

from __future__ import annotations

from refgrad.scenario import Apply, Detach, Grad, Jvp, Leaf, Scenario


def needed_results(scenario: Scenario, output: str) -> list[Apply | Grad]:
    """The applications and recorded gradients that ``output`` depends on, in order."""
    needed = {output}
    found: list[Apply | Grad] = []
    for step in reversed(tuple(scenario.definitions.values())):
        if step.name in needed and not isinstance(step, Leaf | Jvp | Detach):
            needed.update(step.uses)
            found.append(step)
    return found[::-1]


def relevant_leaves(scenario: Scenario, output: str) -> list[str]:
    """The leaves that require grad and that ``output`` depends on, in order."""
    used: set[str] = {output}
    for step in needed_results(scenario, output):
        used.update(step.uses)
    return [leaf.name for leaf in scenario.leaves if leaf.requires_grad and leaf.name in used]
