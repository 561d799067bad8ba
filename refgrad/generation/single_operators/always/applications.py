"""The scenario in which one operator is applied twice before a backward, which every run tries.

A rule that keeps what it needs in one place for all applications finds there what the last of them has left.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import islice

from refgrad.generation.choices import SeededChoices
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.always.corners import entries, plain_corners
from refgrad.generation.single_operators.layouts import admitted
from refgrad.scenario import Constant, Leaf, Scenario


@lru_cache(maxsize=512)
def applied_twice(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return the scenario, made of one of the operator's first ``most`` corners, or none where no corner admits it.

    The second application has operands of its own, of the same shapes, with the same numbers in reverse order. Nothing
    of it depends on a run's seed.
    """
    corners = (corner for corner in plain_corners(operator, profile, most) if entries(corner) > len(corner.leaves))
    made = (scenario for scenario in map(_with_another, corners) if admitted(scenario, profile, SeededChoices(0)))
    return tuple(islice(made, 1))


def _with_another(scenario: Scenario) -> Scenario:
    """Return the scenario with a second application behind the first, from which no backward starts."""
    (first,) = scenario.applications
    own = {leaf.name: f"{leaf.name}_of_another" for leaf in scenario.leaves}
    leaves = [replace(leaf, name=own[leaf.name], value=_reversed(leaf)) for leaf in scenario.leaves]
    another = replace(first, name="another", arguments=tuple(own[name] for name in first.arguments))
    at = scenario.steps.index(first) + 1
    return Scenario((*scenario.steps[:at], *leaves, another, *scenario.steps[at:]))


def _reversed(leaf: Leaf) -> Constant:
    array = leaf.value.to_numpy()
    return Constant.of(array.ravel()[::-1].copy().reshape(array.shape), leaf.value.dtype)
