"""Scenarios that show whether a backward rule changes anything except the gradients that it adds to."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.corners import corner_scenarios
from refgrad.generation.single_operators.derivatives import Continuation
from refgrad.generation.single_operators.first_order import scenario_with_entries
from refgrad.generation.single_operators.variety import various
from refgrad.generation.single_operators.views import with_random_view
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Backward, Constant, Read, Scenario
from refgrad.scenario.rewrite import with_seeds

SUMMED: Final = 0.5
"""Probability that the output is summed over its first axis, so that its cotangent is one array repeated."""

VIEWED: Final = 0.5
"""Probability that one of the operands is a view, if the profile allows an operator that makes one."""

ANOTHER, YET_ANOTHER = 2**71, 2**72
"""Offsets added to a seed, so that these choices are independent of those of the scenario of first order."""

OF_ONES: Final = 2
"""Largest number of scenarios with seeds of ones."""


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that runs backward through one operator twice, and another backward in between.

    The backward in between reaches only one of the leaves. It reveals gradients that share memory with each other, with
    a seed or with an operand. All of these are read. Operands may be views.

    Raises :class:`GenerationError` if the profile admits none.
    """
    plain = scenario_with_entries(seed, operator, profile)
    first = with_random_view(plain, SeededChoices(seed + YET_ANOTHER), profile, VIEWED)
    return _with_three_backwards(first, SeededChoices(seed + ANOTHER), profile, SUMMED)


def _with_three_backwards(first: Scenario, choices: Choices, profile: Profile, summed: float) -> Scenario:
    """Return the scenario with its backward run twice, and one in between that reaches only one leaf.

    ``summed`` is the probability that the output is summed.
    """
    made = Continuation(first, choices, profile)
    defined = [leaf.name for leaf in made.draft.leaves]
    leaves = [leaf for leaf in made.draft.leaves if leaf.requires_grad and leaf.uses]
    chosen = choices.choice(leaves)
    numbers = made.random_seed(chosen.shape)
    backward = made.backward
    if profile.allows("sum") and backward.seed is not None and made.output.shape and choices.boolean(summed):
        total = made.add_sum("total", made.output)
        backward = Backward(total.name, made.random_seed(total.shape))
    made.add_product("between", chosen, made.add_leaf("factor", numbers, requires_grad=False))
    between = Backward("between", made.random_seed(chosen.shape))
    gradients = [Read("grad", leaf.name) for leaf in leaves]
    values = [Read("value", name) for name in (*defined, made.output.name)]
    kept = Backward(backward.output, backward.seed, retain_graph=True)
    return made.ended(kept, *gradients, between, *gradients, backward, *gradients, *values)


@lru_cache(maxsize=512)
def contract_scenarios_of_ones(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios of that kind whose seeds are ones, for which a rule may return an array that it has saved.

    They are made of the first ``most`` fixed cases of the operator, one of them with operands of one shape, if there is
    one: of operands that are stretched, a rule makes copies.
    """
    corners = sorted(various(corner_scenarios(operator, profile, most)), key=_has_scalar_output)
    alike = [corner for corner in corners if len({leaf.value.shape for leaf in corner.leaves}) == 1]
    chosen = list(dict.fromkeys((*alike[:1], *corners)))[:OF_ONES]
    return tuple(_seeded_with_ones(_with_three_backwards(each, SeededChoices(0), profile, 0.0)) for each in chosen)


def _has_scalar_output(scenario: Scenario) -> bool:
    """Return True if the output is 0-d, so that a seed may be a number, which cannot be written to."""
    ((_, backward),) = scenario.backwards
    return not evaluate(scenario, Float64())[backward.output].ndim


def _seeded_with_ones(scenario: Scenario) -> Scenario:
    values = evaluate(scenario, Float64())
    return Scenario(with_seeds(scenario.steps, lambda start: Constant.of(np.ones(values[start.output].shape))))
