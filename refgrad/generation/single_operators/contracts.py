"""Scenarios that hold a backward rule to its contract: it changes nothing but the gradients that it adds to."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np

from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.continuation import add_product, add_sum, continued, value_of
from refgrad.generation.single_operators.layouts import laid_out
from refgrad.generation.single_operators.second_order import scenario_with_entries
from refgrad.scenario import Backward, Constant, Leaf, Read, Scenario

REDUCED: Final = 0.5
"""How often the output is summed over its first axis, so that its cotangent is one array seen several times."""

VIEWED: Final = 0.5
"""How often one of the operands is a view, if the profile allows an operator that makes one."""

ANOTHER: Final = 2**71
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""

YET_ANOTHER: Final = 2**72

OF_ONES: Final = 2
"""So many scenarios have seeds of ones, at most, .."""

ATTEMPTS: Final = 12
""".. out of so many."""


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that walks one operator's rule twice, and another one in between.

    The walk in between reaches one of the leaves alone. Gradients that share memory with each other, with a seed or
    with an operand then change what they should not; all of these are read. Operands may be views, whose memory does
    not lie in the order of their entries.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    plain = scenario_with_entries(seed, operator, profile)
    first = laid_out(plain, SeededChoices(seed + YET_ANOTHER), profile, VIEWED)
    draft, backward = continued(first, choices, profile)
    output, held = value_of(draft, backward.output), [leaf.name for leaf in draft.leaves]
    leaves = [leaf for leaf in draft.leaves if leaf.requires_grad and leaf.uses]
    chosen = choices.choice(leaves)
    numbers = random_seed(choices, chosen.shape, profile)
    walk = _perhaps_of_a_sum(draft, output, backward)
    _add_factor(draft, chosen, numbers)
    other = Backward("between", random_seed(choices, chosen.shape, profile))
    gradients = [Read("grad", leaf.name) for leaf in leaves]
    values = [Read("value", name) for name in (*held, output.name)]
    kept = Backward(walk.output, walk.seed, retain_graph=True)
    draft.steps += [kept, *gradients, other, *gradients, walk, *gradients, *values]
    return draft.scenario


@lru_cache(maxsize=512)
def contract_scenarios_of_ones(operator: str, profile: Profile = STANDARD) -> tuple[Scenario, ...]:
    """Return scenarios of that kind whose seeds are ones, for which a rule may hand on what it has saved.

    Nothing of them depends on a run's seed.
    """
    drawn = (contract_scenario(seed, operator, profile) for seed in range(ATTEMPTS))
    return tuple(map(_seeded_with_ones, islice(filter(_is_direct, drawn), OF_ONES)))


def _is_direct(scenario: Scenario) -> bool:
    """Whether the operator is applied to leaves, each of them once, and the walk starts at its result."""
    first, *others = scenario.applications
    leaves = {leaf.name for leaf in scenario.leaves}
    return len(others) == 1 and leaves >= set(first.arguments) and len(set(first.arguments)) == len(first.arguments)


def _seeded_with_ones(scenario: Scenario) -> Scenario:
    return Scenario(tuple(_of_ones(step) if isinstance(step, Backward) else step for step in scenario.steps))


def _of_ones(walk: Backward) -> Backward:
    seed = walk.seed
    return walk if seed is None else replace(walk, seed=Constant.of(np.ones(seed.shape), seed.dtype))


def _perhaps_of_a_sum(draft: Draft, output: Value, backward: Backward) -> Backward:
    """Return the backward, or sum the output and return the backward of the sum."""
    summed = draft.profile.allows("sum") and backward.seed is not None and output.shape
    if not summed or not draft.choices.boolean(REDUCED):
        return backward
    total = add_sum(draft, "total", output)
    return Backward(total.name, random_seed(draft.choices, total.shape, draft.profile))


def _add_factor(draft: Draft, leaf: Value, numbers: Constant) -> None:
    """Multiply a leaf by a constant."""
    factor = Value.of(numbers.to_numpy(), requires_grad=False)
    draft.define(factor, Leaf("factor", numbers, requires_grad=False))
    add_product(draft, "between", leaf, factor)
