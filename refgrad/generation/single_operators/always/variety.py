"""Scenarios of higher order and of forward mode that every run tries, made of corners of one operator.

There is one for each value of an attribute and for each operand that is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from refgrad.generation.choices import SeededChoices
from refgrad.generation.profile import Profile
from refgrad.generation.single_operators.always.corners import corner_scenarios, is_plain
from refgrad.generation.single_operators.forward_mode import moved
from refgrad.generation.single_operators.second_order import differentiated_twice
from refgrad.generation.single_operators.third_order import differentiated_thrice
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Scenario

MOST: Final = 12
"""So many scenarios show what is tried of an operator, at most."""

FEW: Final = 4
"""What is compared or normalized among so many entries may be the same whatever they are."""

Trait = tuple[str, str]


@lru_cache(maxsize=512)
def second_order_corners(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice, made of the operator's first ``most`` corners.

    Each is differentiated by every operand first. The output is multiplied by a leaf unless ``weighted`` is False.
    Nothing of them depends on a run's seed.
    """
    return tuple(
        differentiated_twice(corner, SeededChoices(number), profile, weighted=weighted is not False, by=leaf)
        for number, (corner, leaf) in enumerate(_by_each(operator, profile, most))
    )


@lru_cache(maxsize=512)
def third_order_corners(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate thrice, made of the operator's first ``most`` corners.

    Each is differentiated by every operand first. The output and the first gradient are multiplied by leaves, so that
    the third derivative is zero only where the operator's own derivative is. Nothing of them depends on a run's seed.
    """
    return tuple(
        differentiated_thrice(corner, SeededChoices(number), profile, by=leaf)
        for number, (corner, leaf) in enumerate(_by_each(operator, profile, most))
    )


@lru_cache(maxsize=512)
def forward_corners(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios in which every leaf moves, made of the operator's first ``most`` corners.

    Nothing of them depends on a run's seed.
    """
    return tuple(moved(corner, SeededChoices(0), profile) for corner in _various(operator, profile, most))


def _by_each(operator: str, profile: Profile, most: int | None) -> Iterator[tuple[Scenario, str]]:
    """Yield various corners, each with every leaf that wants a gradient."""
    wanted = ((c, leaf.name) for c in _various(operator, profile, most) for leaf in c.leaves if leaf.requires_grad)
    return islice(wanted, MOST)


def _various(operator: str, profile: Profile, most: int | None) -> Iterator[Scenario]:
    return islice(various(corner_scenarios(operator, profile, most)), MOST)


def various(corners: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield the plain ones in their order, without those that show nothing which the ones before do not."""
    seen = set[Trait]()
    for corner in filter(is_plain, corners):
        shown = set(_traits(corner))
        if not shown <= seen and all(array.size for array in evaluate(corner, Float64()).values()):
            seen |= shown
            yield corner


def _traits(corner: Scenario) -> Iterator[Trait]:
    """Yield the attributes with their values, the operands that are stretched, and whether there are many entries."""
    (step,) = corner.applications
    shapes = {leaf.name: leaf.value.shape for leaf in corner.leaves}
    yield "entries", str(max(map(math.prod, shapes.values())) > FEW)
    yield from ((name, repr(value)) for name, value in step.attributes if not isinstance(value, float))
    largest = max(shapes.values(), key=len, default=())
    for place, name in enumerate(step.arguments):
        yield f"operand {place}", "without axes" if not shapes[name] else str(shapes[name] == largest)
