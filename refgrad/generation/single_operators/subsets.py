"""The scenarios of second order in which some of one operator's operands want gradients, and the others do not."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Final

from refgrad.generation.choices import SeededChoices
from refgrad.generation.profile import GenerationError, Profile
from refgrad.generation.single_operators.corners import plain_corners, subsets
from refgrad.generation.single_operators.second_order import differentiated_twice
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Scenario

MOST_SUBSETS: Final = 6
"""All subsets of three operands, less the whole."""


@lru_cache(maxsize=512)
def subsets_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice by some of the operands, one for each choice of them unless many.

    They are made of one of the operator's first ``most`` corners. The output is multiplied by a leaf unless
    ``weighted`` is False, and every gradient is read. Nothing of them depends on a run's seed.
    """
    plain = (corner for corner in plain_corners(operator, profile, most) if len(corner.leaves) > 1)
    base = next(filter(_has_axes, plain), None)
    found = []
    for number, scenario in enumerate(islice(subsets(base), MOST_SUBSETS) if base is not None else ()):
        try:
            found.append(
                differentiated_twice(
                    scenario, SeededChoices(number), profile, weighted=weighted is not False, one_read=0.0
                )
            )
        except GenerationError:
            continue
    return tuple(found)


def _has_axes(scenario: Scenario) -> bool:
    """Whether the operands have several entries each, and the result is no empty array."""
    (first, *_) = scenario.applications
    return all(leaf.value.size > 1 for leaf in scenario.leaves) and bool(evaluate(scenario, Float64())[first.name].size)
