"""Scenarios that differentiate a gradient: those of first order, with their backward replaced by two."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.random_graphs import random_scenario
from refgrad.generation.single_operators.first_order import operator_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Grad, Leaf, Read, Scenario, Step

WEIGHTED: Final = 0.5
"""How often the output is multiplied by a leaf before it is differentiated, so that its cotangent is recorded too."""

PENALTY: Final = 0.3
"""How often the second backward starts from the gradient's square and not from the gradient."""

ONE_READ: Final = 0.3
"""How often one leaf's gradient is all that is read."""

ATTEMPTS: Final = 20

ANOTHER: Final = 2**70
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""


def second_order_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted: bool | None = None
) -> Scenario:
    """Return the scenario, following from a seed, that applies one operator to fresh leaves and differentiates twice.

    First the seeded gradient with respect to one leaf is recorded, then a backward starts from it, and the gradients
    of the leaves are read. Where ``weighted`` (by default: half of the time, and always where an operator's derivative
    does not depend on its operands) the operator's output is first multiplied by a leaf of its shape.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    row = operator_table()[operator]
    if weighted is None:
        bent = any(row.saves(argument.name) for argument in row.arguments)
        weighted = not bent or choices.boolean(WEIGHTED)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    return _twice(first, choices, profile, weighted=weighted, penalty=0.0)


def scenario_with_entries(seed: int, operator: str, profile: Profile) -> Scenario:
    """Return a scenario without empty arrays: whether those are recorded is an engine's own affair."""
    for attempt in range(ATTEMPTS):
        scenario = operator_scenario(seed + attempt * ANOTHER, operator, profile)
        if all(array.size for array in evaluate(scenario, Float64()).values()):
            return scenario
    raise GenerationError(f"the profile admits only empty arrays for operator {operator!r}")


def double_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that differentiates a gradient of a random graph.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    multiplies = profile.operators is None or "multiply" in profile.operators
    penalty = PENALTY if multiplies else 0.0
    return _twice(first, choices, profile, weighted=multiplies and choices.boolean(WEIGHTED), penalty=penalty)


def _twice(first: Scenario, choices: Choices, profile: Profile, *, weighted: bool, penalty: float) -> Scenario:
    ((at, backward),) = first.backwards
    steps = list(first.steps[:at])
    leaves = reached(first, backward.output)
    leaf = choices.choice(leaves)
    shape = seed_shape(backward)
    output = backward.output
    if weighted:
        weights = Leaf("w", random_seed(choices, shape, profile), requires_grad=True)
        steps += [weights, Apply("weighted", "multiply", (output, "w"))]
        leaves.append(weights)
        output = "weighted"
    steps.append(Grad("h", output, leaf.name, backward.seed))
    start = "h"
    if choices.boolean(penalty):
        steps.append(Apply("penalty", "multiply", ("h", "h")))
        start = "penalty"
    cotangent = random_seed(choices, leaf.value.shape, profile)
    read = [choices.choice(leaves)] if choices.boolean(ONE_READ) else leaves
    reads: list[Step] = [*(Read("grad", leaf.name) for leaf in read), Read("value", "h")]
    return Scenario((*steps, Backward(start, cotangent), *reads))


def applications_to(scenario: Scenario, output: str) -> list[Apply]:
    """Return the applications that the output depends on, its own first."""
    needed = {output}
    found = []
    for step in reversed(scenario.applications):
        if step.name in needed:
            needed.update(step.arguments)
            found.append(step)
    return found


def reached(scenario: Scenario, output: str) -> list[Leaf]:
    """Return the leaves that require grad and that the output depends on."""
    needed = {output}.union(*(step.arguments for step in applications_to(scenario, output)))
    return [leaf for leaf in scenario.leaves if leaf.requires_grad and leaf.name in needed]


def seed_shape(backward: Backward) -> tuple[int, ...]:
    """Return the shape of the output that a backward starts from."""
    return () if backward.seed is None else backward.seed.shape
