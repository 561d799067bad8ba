"""How is a random scenario made? One generator, whoever makes its choices."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from refgrad.operators import Argument, Operator
from refgrad.operators.structure import Shape
from refgrad.scenario import Scenario
from refgrad.strategies.application import apply_operator
from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.draft import Draft
from refgrad.strategies.leaves import fresh_leaf
from refgrad.strategies.losses import completed
from refgrad.strategies.profile import GenerationError, Profile, weighted_operators

ATTEMPTS: Final = 20
"""How often a seed is tried again: almost always once, unless the profile admits nothing."""

RANKS: Final = (0, 1, 2, 1, 2, 3, 2, 3)
"""The ranks of the shape that leaves are derived from, each as often as it stands here."""

STANDARD: Final = Profile()

SHORT: Final = Profile(length=(1, 8))
"""What hypothesis draws unless told otherwise: it needs seconds to shrink what takes the shrinker here milliseconds."""

UNUSED: Final = Argument("unused")
"""What a leaf is for that no operator takes."""


def random_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario that follows from a seed; the same one on every machine.

    Raises :class:`GenerationError` where the profile admits no scenario.
    """
    choices = SeededChoices(seed)
    for _ in range(ATTEMPTS - 1):
        try:
            return generate(choices, profile)
        except GenerationError:
            continue
    return generate(choices, profile)


@st.composite
def _drawn_scenario(draw: st.DrawFn, profile: Profile) -> Scenario:
    try:
        return generate(DrawnChoices(draw), profile)
    except GenerationError:
        reject()


def scenarios(profile: Profile = SHORT) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for scenarios within a profile, in which every choice is drawn.

    Hypothesis can therefore shrink them; what it leaves can be handed to :func:`refgrad.strategies.shrink`, which gets
    further by changing the scenario itself.

    Every scenario evaluates in float64, runs backward at least once, and ends by reading the gradient of every leaf
    that requires one and the value of every output::

        @given(scenarios(Profile(operators=frozenset({"add", "tanh"}), seeds=False)))
        def test_my_engine_agrees(scenario): ...
    """
    return _drawn_scenario(profile)


def generate(choices: Choices, profile: Profile) -> Scenario:
    """Return a scenario made by these choices. Raises :class:`GenerationError` where they lead nowhere."""
    with np.errstate(all="ignore"):
        draft = Draft(profile, base_shape(choices, profile), choices)
        operators = weighted_operators(profile)
        for _ in choices.repeat(*profile.length):
            choices.together(lambda each: apply_operator(draft, each.choice(operators)))
        _reach_least(draft, operators)
        if choices.boolean(profile.unused_leaves):
            draft.add_leaf(fresh_leaf(choices, profile, operators[0], UNUSED, draft.base))
        return completed(draft)


def _reach_least(draft: Draft, operators: tuple[Operator, ...]) -> None:
    """Go on until there are as many results as the profile wants at least."""
    for _ in range(ATTEMPTS):
        if len(draft.results) >= draft.profile.length[0] and any(value.requires_grad for value in draft.results):
            return
        apply_operator(draft, draft.choices.choice(operators))
    raise GenerationError("the profile's operators could not be applied")


def base_shape(choices: Choices, profile: Profile) -> Shape:
    """Return the shape that a scenario's leaves are derived from: lengths that the profile has, and rarely a zero."""
    rank = choices.choice([rank for rank in RANKS if rank <= profile.rank] or [0])
    shape = [choices.choice(profile.dimensions) for _ in range(rank)]
    if shape and choices.boolean(profile.empty):
        shape[choices.integer(0, rank - 1)] = 0
    return tuple(shape)
