"""Hypothesis strategies for random graphs and for lifecycles."""

from __future__ import annotations

from typing import Final

from hypothesis import reject
from hypothesis import strategies as st

from refgrad.generation import LIFECYCLE, GenerationError, Profile, lifecycle_scenario, random_scenario
from refgrad.scenario import Scenario
from refgrad.strategies.drawn_answers import DRAWN_BYTES, Make, scenario_of

SHORT: Final = Profile(length=(1, 8))
"""Default profile: short scenarios, since a test runs many."""


def scenarios(profile: Profile = SHORT) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for scenarios within a profile.

    Every scenario evaluates in float64, runs backward at least once, and ends by reading the gradient of every leaf
    that requires one and the value of every output::

        @given(scenarios(Profile(operators=frozenset({"add", "tanh"}), seeds=False)))
        def test_my_engine_agrees(scenario): ...

    A failing example is shrunk as :func:`refgrad.strategies.shrink` does it, and printed as ``parse(...)`` of its text,
    which can be pasted into ``@example``. The shrunk example need not be within the profile: it may have fewer reads
    and shorter arrays.
    """
    return _drawn(random_scenario, profile)


def lifecycles(profile: Profile = LIFECYCLE) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for lifecycles within a profile. They are shrunk and printed as scenarios are."""
    return _drawn(lifecycle_scenario, profile)


@st.composite
def _drawn(draw: st.DrawFn, make: Make, profile: Profile) -> Scenario:
    drawn = draw(st.binary(min_size=DRAWN_BYTES, max_size=DRAWN_BYTES))
    try:
        scenario = scenario_of(drawn, make, profile)
    except GenerationError:
        reject()
    return reject() if scenario is None else scenario
