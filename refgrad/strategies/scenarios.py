"""Hypothesis strategies of random graphs and of lifecycles."""

from __future__ import annotations

from typing import Final

from hypothesis import reject
from hypothesis import strategies as st

from refgrad.generation import LIFECYCLE, GenerationError, Profile, generate, generate_lifecycle
from refgrad.scenario import Scenario
from refgrad.strategies.drawn_choices import DrawnChoices

SHORT: Final = Profile(length=(1, 8))
"""What hypothesis draws unless told otherwise: it needs seconds to shrink what takes the shrinker here milliseconds."""


def scenarios(profile: Profile = SHORT) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for scenarios within a profile, in which every choice is drawn.

    Hypothesis can therefore shrink them; what it leaves can be handed to :func:`refgrad.strategies.shrink`, which gets
    further by changing the scenario itself.

    Every scenario evaluates in float64, runs backward at least once, and ends by reading the gradient of every leaf
    that requires one and the value of every output::

        @given(scenarios(Profile(operators=frozenset({"add", "tanh"}), seeds=False)))
        def test_my_engine_agrees(scenario): ...
    """
    return _drawn_graph(profile)


def lifecycles(profile: Profile = LIFECYCLE) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for lifecycles within a profile, in which every choice is drawn."""
    return _drawn_lifecycle(profile)


@st.composite
def _drawn_graph(draw: st.DrawFn, profile: Profile) -> Scenario:
    try:
        return generate(DrawnChoices(draw), profile)
    except GenerationError:
        reject()


@st.composite
def _drawn_lifecycle(draw: st.DrawFn, profile: Profile) -> Scenario:
    return generate_lifecycle(DrawnChoices(draw), profile)
