"""Scenarios without seeds, for engines that take none, or ignore them.

``seed · Jacobian`` is the gradient of the sum of the output weighted with the seed, so each backward with a seed
becomes one from such a sum: the rules still receive cotangents of any size and sign. If products cannot be relied on,
outputs are summed without weights, and the cotangents are ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from refgrad.scenario import Apply, Backward, Grad, Leaf, Scenario, Step

WEIGHT: Final = "multiply"
"""Operator that multiplies outputs by weights."""


def without_seeds(scenario: Scenario, *, weighs: bool = True) -> Scenario:
    """Return a scenario with the same gradients whose backward calls start from scalars, without seeds.

    If ``weighs`` is False, the gradients are those for seeds of ones.
    """
    taken = set(scenario.definitions)
    return Scenario(tuple(new for step in scenario.steps for new in _seedless(step, taken, weighs=weighs)))


def _seedless(step: Step, taken: set[str], *, weighs: bool) -> Iterator[Step]:
    if not isinstance(step, Backward | Grad) or step.seed is None:
        yield step
        return
    output = step.output
    if weighs:
        weights, output = _fresh("weights", taken), _fresh("weighted", taken)
        yield Leaf(weights, step.seed, requires_grad=False)
        yield Apply(output, WEIGHT, (step.output, weights))
    if step.seed.shape != ():
        total = _fresh("total", taken)
        yield Apply(total, "sum", (output,))
        output = total
    yield replace(step, output=output, seed=None)


def _fresh(stem: str, taken: set[str]) -> str:
    name = stem
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name
