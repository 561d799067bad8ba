"""The scenarios of second order in which some of one operator's operands want gradients, and the others do not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Final

from refgrad.generation.choices import SeededChoices
from refgrad.generation.profile import Profile
from refgrad.generation.single_operators.always.corners import plain_corners, subsets
from refgrad.generation.single_operators.second_order import differentiated_twice
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Scenario

MOST: Final = 9
"""All subsets of three operands, less the whole, by each of their members."""


@lru_cache(maxsize=512)
def subsets_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice by some of the operands: for each choice of them, first by each.

    They are made of one of the operator's first ``most`` corners; there are no more than ``MOST``. The output is
    multiplied by a leaf unless ``weighted`` is False. Nothing of them depends on a run's seed.
    """
    plain = (corner for corner in plain_corners(operator, profile, most) if len(corner.leaves) > 1)
    base = next(filter(_has_axes, plain), None)
    chosen = subsets(base) if base is not None else iter(())
    twice = (_twice(scenario, profile, weighted=weighted is not False) for scenario in chosen)
    return tuple(islice(chain.from_iterable(twice), MOST))


def _twice(scenario: Scenario, profile: Profile, *, weighted: bool) -> Iterator[Scenario]:
    """Yield the scenario differentiated by each leaf that wants a gradient, and then by all of them."""
    for leaf in scenario.leaves:
        if leaf.requires_grad:
            yield differentiated_twice(scenario, SeededChoices(0), profile, weighted=weighted, by=leaf.name)


def _has_axes(scenario: Scenario) -> bool:
    """Whether the operands have several entries each, and the result is no empty array."""
    (first, *_) = scenario.applications
    return all(leaf.value.size > 1 for leaf in scenario.leaves) and bool(evaluate(scenario, Float64())[first.name].size)
