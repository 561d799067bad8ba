"""Which scenarios push tangents through an operator? Those of first order, with a directional derivative as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refgrad.scenario import Constant, Jvp, Leaf, Read, Scenario, Step
from refgrad.scenario.steps.sequences import Tangent
from refgrad.strategies.choices import Choices, SeededChoices
from refgrad.strategies.generation import STANDARD
from refgrad.strategies.leaves import random_array
from refgrad.strategies.losses import SEED_RANGE
from refgrad.strategies.profile import Profile
from refgrad.strategies.second_order import reached, scenario_with_entries

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
    ((at, backward),) = first.backwards
    leaves = reached(first, backward.output)
    pushed = Jvp("t", backward.output, _tangents(choices, leaves, profile))
    reads: list[Step] = [Read("value", "t"), *(Read("grad", leaf.name) for leaf in leaves)]
    return Scenario((*first.steps[:at], pushed, backward, *reads))


def _tangents(choices: Choices, leaves: list[Leaf], profile: Profile) -> tuple[Tangent, ...]:
    moving = [leaf for leaf in leaves if choices.boolean(MOVING)] or [choices.choice(leaves)]
    return tuple((leaf.name, _drawn(choices, leaf.value, profile)) for leaf in moving)


def _drawn(choices: Choices, value: Constant, profile: Profile) -> Constant:
    return Constant.of(random_array(choices, *SEED_RANGE, value.shape, profile.dtype), value.dtype)
