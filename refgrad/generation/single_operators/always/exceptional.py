"""Scenarios of one operator in which one entry of one operand is an exceptional number.

Exceptional are NaN, the infinities, a subnormal, the largest finite number and -0.0. All other entries are ordinary, so
that it can be seen where the exceptional one leads. Every run has the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.application import apply_afresh
from refgrad.generation.draft.backward_calls import completed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.operators import Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario import Constant, Leaf, Scenario
from refgrad.scenario.formats import FLOAT64

SUBNORMAL: Final = 2.0**-1023
"""A subnormal number whose reciprocal is a number."""

LARGEST: Final = FLOAT64.largest

NOT_FINITE: Final = (math.nan, math.inf, -math.inf)
FINITE: Final = (SUBNORMAL, LARGEST, -0.0)

SHAPES: Final[tuple[Shape, ...]] = ((2, 3), (3,), (2, 2), (3, 3), (2, 2, 2))
"""Shapes that are tried in turn, until the operator takes one."""

ATTEMPTS: Final = 40
"""How many scenarios are drawn of an operator until there are enough."""

BASES: Final = 2
"""How many scenarios there are of an operator with attributes, at most: of one that has none, there is one."""

LARGEST_SIZE: Final = 36
"""No array has more entries."""

NUDGE: Final = 1 / 64
"""By how much an entry is moved to see whether a result moves with it."""


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of one operand, in a scenario all numbers of which are ordinary."""

    base: Scenario
    leaf: str
    entry: int
    matters: bool = True
    """Whether the operator's result moves with the entry."""
    first: bool = True
    """Whether the scenario is the first of those that the operator has."""

    @property
    def number(self) -> float:
        """The ordinary number that stands there."""
        return float(self._array.flat[self.entry])

    @property
    def others(self) -> npt.NDArray[np.float64]:
        """All other numbers of the operands, in a row."""
        numbers = (leaf.value.to_numpy() for leaf in self.base.leaves if leaf.value.dtype != "bool")
        rest = [array.ravel() for array in numbers]
        return np.concatenate([*rest, np.delete(self._array.ravel(), self.entry)])

    @property
    def _array(self) -> npt.NDArray[np.float64]:
        leaf = self.base.definitions[self.leaf]
        assert isinstance(leaf, Leaf)
        return leaf.value.to_numpy()

    def holding(self, number: float) -> Scenario:
        """Return the scenario with another number in this place."""
        array = self._array.copy()
        array.flat[self.entry] = number
        return Scenario(tuple(_with_array(step, self.leaf, array) for step in self.base.steps))

    def found_in(self, smaller: Scenario) -> Place | None:
        """Return the place in a scenario with fewer numbers, none of them new; None where there is none or several."""
        known = {float(self.number), *self.others.tolist()}
        leaves = [leaf for leaf in smaller.leaves if leaf.value.dtype != "bool"]
        given = [(leaf.name, n, x) for leaf in leaves for n, x in enumerate(leaf.value.to_numpy().ravel().tolist())]
        here = [(name, entry) for name, entry, number in given if number == self.number]
        if len(here) != 1 or not known.issuperset(number for _, _, number in given):
            return None
        return replace(self, base=smaller, leaf=here[0][0], entry=here[0][1])

    def moved_to(self, scenario: Scenario) -> Place:
        """Return the same place of another scenario with the same leaves."""
        return replace(self, base=scenario)


def _with_array(step: Any, leaf: str, array: npt.NDArray[np.float64]) -> Any:
    return replace(step, value=Constant.of(array)) if isinstance(step, Leaf) and step.name == leaf else step


@lru_cache(maxsize=1024)
def exceptional_places(operator: str, profile: Profile = STANDARD, bases: int = BASES) -> tuple[Place, ...]:
    """Return where an operator meets exceptional numbers: of each operand a place that matters, and one that does not.

    Nothing is drawn from a run's seed: two runs have the same places.
    """
    row = operator_table()[operator]
    return tuple(
        replace(place, first=not number)
        for number, base in enumerate(_bases(row, profile, bases if row.attributes else 1))
        for leaf in base.leaves
        if leaf.requires_grad
        for place in _places(base, leaf)
    )


def _bases(row: Operator, profile: Profile, wanted: int) -> list[Scenario]:
    """Return so many scenarios without zeros and equal numbers, each leaf of which stands for one operand."""
    plain = replace(
        profile, max_backwards=1, unused_leaves=0.0, constants=0.0, special=0.0, empty=0.0, edges=0.0,
        largest_size=LARGEST_SIZE, dimensions=(2, 3),
    )  # fmt: skip
    found = dict[Scenario, None]()
    for seed in range(ATTEMPTS):
        base = _drawn(row, plain, seed)
        if base is not None:
            found[base] = None
        if len(found) == wanted:
            break
    return list(found)


def _drawn(row: Operator, profile: Profile, seed: int) -> Scenario | None:
    shape = SHAPES[seed % len(SHAPES)] if profile.rank else ()
    draft = Draft(profile, shape, SeededChoices(seed))
    with np.errstate(all="ignore"):
        try:
            drawn = completed(draft) if apply_afresh(draft, row) else None
        except GenerationError:
            return None
    return drawn if drawn is not None and _is_ordinary(drawn) else None


def _is_ordinary(scenario: Scenario) -> bool:
    (first, *_) = scenario.applications
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    numbers = np.concatenate([array.ravel() for array in arrays])
    distinct = len(set(first.arguments)) == len(first.arguments) and len(np.unique(numbers)) == len(numbers)
    return distinct and all(array.size and np.all(array) for array in arrays)


def _places(base: Scenario, leaf: Leaf) -> Iterator[Place]:
    """Yield the first entry of a leaf that matters, behind the very first, and the first that does not."""
    size = leaf.value.size
    entries = [*range(1, size), 0]
    given = [Place(base, leaf.name, entry) for entry in entries]
    moved = {place.entry: _moves(place) for place in given}
    yield from [place for place in given if moved[place.entry]][:1]
    yield from [replace(place, matters=False) for place in given if not moved[place.entry]][:1]


def _moves(place: Place) -> bool:
    """Whether the result is another one where the entry is."""
    (first, *_) = place.base.applications
    try:
        here, beside = (evaluate(place.holding(n), Float64())[first.name] for n in _nearby(place.number))
    except ScenarioEvaluationError:
        return True
    return not np.array_equal(here, beside, equal_nan=True)


def _nearby(number: float) -> tuple[float, float]:
    return number, number * (1 + NUDGE)


def numbers_at(place: Place) -> tuple[float, ...]:
    """Return the exceptional numbers that are put in a place."""
    return (*NOT_FINITE, *FINITE) if place.matters and place.first else NOT_FINITE[:2]
