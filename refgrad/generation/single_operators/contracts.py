"""Scenarios that hold a backward rule to its contract: it changes nothing but the gradients that it adds to."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.always.corners import corner_scenarios
from refgrad.generation.single_operators.always.variety import various
from refgrad.generation.single_operators.continuation import add_product, add_sum, continued, value_of
from refgrad.generation.single_operators.layouts import laid_out
from refgrad.generation.single_operators.second_order import scenario_with_entries
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Backward, Constant, Leaf, Read, Scenario

REDUCED: Final = 0.5
"""How often the output is summed over its first axis, so that its cotangent is one array seen several times."""

VIEWED: Final = 0.5
"""How often one of the operands is a view, if the profile allows an operator that makes one."""

ANOTHER: Final = 2**71
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""

YET_ANOTHER: Final = 2**72

OF_ONES: Final = 2
"""So many scenarios have seeds of ones, at most."""


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that walks one operator's rule twice, and another one in between.

    The walk in between reaches one of the leaves alone. Gradients that share memory with each other, with a seed or
    with an operand then change what they should not; all of these are read. Operands may be views, whose memory does
    not lie in the order of their entries.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    plain = scenario_with_entries(seed, operator, profile)
    return _walked_twice(laid_out(plain, SeededChoices(seed + YET_ANOTHER), profile, VIEWED), choices, profile)


def _walked_twice(first: Scenario, choices: Choices, profile: Profile, reduced: float = REDUCED) -> Scenario:
    """Return a scenario of one backward with that replaced by two, and one in between that reaches one leaf alone.

    ``reduced`` is the probability that the output is summed.
    """
    draft, backward = continued(first, choices, profile)
    output, held = value_of(draft, backward.output), [leaf.name for leaf in draft.leaves]
    leaves = [leaf for leaf in draft.leaves if leaf.requires_grad and leaf.uses]
    chosen = choices.choice(leaves)
    numbers = random_seed(choices, chosen.shape, profile)
    walk = _perhaps_of_a_sum(draft, output, backward, reduced)
    _add_factor(draft, chosen, numbers)
    other = Backward("between", random_seed(choices, chosen.shape, profile))
    gradients = [Read("grad", leaf.name) for leaf in leaves]
    values = [Read("value", name) for name in (*held, output.name)]
    kept = Backward(walk.output, walk.seed, retain_graph=True)
    draft.steps += [kept, *gradients, other, *gradients, walk, *gradients, *values]
    return draft.scenario


@lru_cache(maxsize=512)
def contract_scenarios_of_ones(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios of that kind whose seeds are ones, for which a rule may hand on what it has saved.

    They are made of the operator's first ``most`` corners, one of them with operands that are not stretched, if there
    is one: of those that are, a rule makes copies. Nothing of them depends on a run's seed.
    """
    corners = sorted(various(corner_scenarios(operator, profile, most)), key=_seeds_are_numbers)
    alike = [corner for corner in corners if len({leaf.value.shape for leaf in corner.leaves}) == 1]
    chosen = list(dict.fromkeys((*alike[:1], *corners)))[:OF_ONES]
    return tuple(_seeded_with_ones(_walked_twice(corner, SeededChoices(0), profile, reduced=0.0)) for corner in chosen)


def _seeds_are_numbers(scenario: Scenario) -> bool:
    """Whether the result is 0-d, so that a seed may be a number, which nothing can write to."""
    ((_, walk),) = scenario.backwards
    return not evaluate(scenario, Float64())[walk.output].ndim


def _seeded_with_ones(scenario: Scenario) -> Scenario:
    values = evaluate(scenario, Float64())

    def seeded(walk: Backward) -> Backward:
        return replace(walk, seed=Constant.of(np.ones(values[walk.output].shape)))

    return Scenario(tuple(seeded(step) if isinstance(step, Backward) else step for step in scenario.steps))


def _perhaps_of_a_sum(draft: Draft, output: Value, backward: Backward, reduced: float) -> Backward:
    """Return the backward, or sum the output and return the backward of the sum."""
    summed = draft.profile.allows("sum") and backward.seed is not None and output.shape
    if not summed or not draft.choices.boolean(reduced):
        return backward
    total = add_sum(draft, "total", output)
    return Backward(total.name, random_seed(draft.choices, total.shape, draft.profile))


def _add_factor(draft: Draft, leaf: Value, numbers: Constant) -> None:
    """Multiply a leaf by a constant."""
    factor = Value.of(numbers.to_numpy(), requires_grad=False)
    draft.define(factor, Leaf("factor", numbers, requires_grad=False))
    add_product(draft, "between", leaf, factor)
