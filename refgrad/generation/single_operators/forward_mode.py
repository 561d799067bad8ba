"""Scenarios that push tangents through an operator: those of first order, with a directional derivative as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import SEED_RANGE
from refgrad.generation.draft.leaves import random_array
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.continuation import continued, leaves_of, value_of
from refgrad.generation.single_operators.second_order import scenario_with_entries
from refgrad.scenario import Constant, Jvp, Leaf, Read, Scenario
from refgrad.scenario.steps.sequences import Tangent

MOVING: Final = 0.7
"""How often a leaf moves; one always does."""

ANOTHER: Final = 2**72
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""


def forward_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that differentiates one operator on fresh leaves in both directions.

    Some of the leaves that require grad move, and the output's tangent is read; then a backward starts from the very
    same output, and the gradients of all of them are read.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    return moved(first, choices, profile, MOVING)


def moved(first: Scenario, choices: Choices, profile: Profile, moving: float = 1.0) -> Scenario:
    """Return a scenario of one backward with tangents pushed before it; each leaf moves with the given probability."""
    draft, backward = continued(first, choices, profile)
    leaves = [
        value.step for value in leaves_of(draft, value_of(draft, backward.output)) if isinstance(value.step, Leaf)
    ]
    pushed = Jvp("t", backward.output, _tangents(choices, leaves, profile, moving))
    draft.steps += [pushed, backward, Read("value", "t"), *(Read("grad", leaf.name) for leaf in leaves)]
    return draft.scenario


def _tangents(choices: Choices, leaves: list[Leaf], profile: Profile, moving: float) -> tuple[Tangent, ...]:
    moved_ones = [leaf for leaf in leaves if choices.boolean(moving)] or [choices.choice(leaves)]
    return tuple((leaf.name, _drawn(choices, leaf.value, profile)) for leaf in moved_ones)


def _drawn(choices: Choices, value: Constant, profile: Profile) -> Constant:
    return Constant.of(random_array(choices, *SEED_RANGE, value.shape, profile.dtype), value.dtype)
