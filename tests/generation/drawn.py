"""Random scenarios that several tests go through, drawn once in a process."""

from __future__ import annotations

from functools import cache

from refgrad.generation import random_scenario
from refgrad.scenario import Scenario


@cache
def drawn(seed: int) -> Scenario:
    """Return the random scenario of a seed, of the standard profile."""
    return random_scenario(seed)
