"""Random graphs that are differentiated three times. No check draws them: tests show what they would find."""

from __future__ import annotations

from dataclasses import replace

from refgrad.generation import Choices, GenerationError, Profile, random_scenario
from refgrad.generation.profile import STANDARD
from refgrad.generation.single_operators.derivatives import (
    THIRD_ORDER,
    WEIGHTED_GRADIENT,
    Continuation,
    _nonlinearity,
    _thrice,
)
from refgrad.scenario import Scenario


def triple_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that differentiates a gradient of a gradient of a random graph.

    Raises :class:`GenerationError` if the profile admits none.
    """
    if not profile.allows("multiply"):
        raise GenerationError("a graph is sure to have a gradient of a gradient only if the profile allows 'multiply'")
    choices = Choices(seed + THIRD_ORDER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    return _thrice(Continuation(first, choices, profile), _nonlinearity(choices), WEIGHTED_GRADIENT)
