"""Scenarios with seeds, put to an engine that takes none, or ignores them.

``seed · Jacobian`` is the gradient of the sum of the output weighted with the seed, so each seeded backward becomes one
from such a sum: the rules still meet cotangents of any size and sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from refgrad.scenario import Apply, Backward, Grad, Leaf, Scenario, Step


def without_seeds(scenario: Scenario) -> Scenario:
    """Return a scenario with the same gradients whose backward calls start from scalars, without seeds."""
    taken = set(scenario.definitions)
    return Scenario(tuple(new for step in scenario.steps for new in _weighted(step, taken)))


def _weighted(step: Step, taken: set[str]) -> Iterator[Step]:
    if not isinstance(step, Backward | Grad) or step.seed is None:
        yield step
        return
    weights, weighted = _fresh("weights", taken), _fresh("weighted", taken)
    yield Leaf(weights, step.seed, requires_grad=False)
    yield Apply(weighted, "multiply", (step.output, weights))
    output = weighted
    if step.seed.shape != ():
        output = _fresh("total", taken)
        yield Apply(output, "sum", (weighted,))
    yield replace(step, output=output, seed=None)


def _fresh(stem: str, taken: set[str]) -> str:
    name = stem
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name
