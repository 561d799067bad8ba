"""Scenarios that differentiate a gradient: those of first order, with their backward replaced by two."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.random_graphs import random_scenario
from refgrad.generation.single_operators.continuation import (
    add_gradient,
    add_product,
    add_random_leaf,
    continued,
    leaves_of,
    value_of,
)
from refgrad.generation.single_operators.first_order import operator_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Backward, Read, Scenario

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
    return differentiated_twice(first, choices, profile, weighted=weighted)


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
    multiplies = profile.allows("multiply")
    penalty = PENALTY if multiplies else 0.0
    return _twice(first, choices, profile, weighted=multiplies and choices.boolean(WEIGHTED), penalty=penalty)


def differentiated_twice(
    first: Scenario, choices: Choices, profile: Profile, *, weighted: bool, by: str = ""
) -> Scenario:
    """Return a scenario of one backward with that replaced by two, as :func:`second_order_scenario` does it.

    Where ``by`` names a leaf, the first gradient is that by it, and every gradient is read.
    """
    return _twice(first, choices, profile, weighted=weighted, penalty=0.0, by=by)


def _twice(  # noqa: PLR0913 (each of them is the caller's to say, by name)
    first: Scenario, choices: Choices, profile: Profile, *, weighted: bool, penalty: float, by: str = ""
) -> Scenario:
    draft, backward = continued(first, choices, profile)
    output = value_of(draft, backward.output)
    leaves = leaves_of(draft, output)
    leaf = value_of(draft, by) if by else choices.choice(leaves)
    if weighted:
        weights = add_random_leaf(draft, "w", output.shape)
        leaves.append(weights)
        output = add_product(draft, "weighted", output, weights)
    start = gradient = add_gradient(draft, "h", output, leaf, backward.seed)
    if choices.boolean(penalty):
        start = add_product(draft, "penalty", gradient, gradient)
    cotangent = random_seed(choices, leaf.shape, profile)
    read = [choices.choice(leaves)] if not by and choices.boolean(ONE_READ) else leaves
    reads = [*(Read("grad", leaf.name) for leaf in read), Read("value", "h")]
    draft.steps += [Backward(start.name, cotangent), *reads]
    return draft.scenario
