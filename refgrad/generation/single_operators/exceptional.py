"""Fixed scenarios of one operator in which one entry of one operand is an exceptional number.

Exceptional numbers are NaN, the infinities, a subnormal number, the largest finite number and -0.0. All other entries
are ordinary, which shows what the exceptional one affects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from refgrad.generation.application import apply_afresh
from refgrad.generation.backward_calls import completed
from refgrad.generation.builder import Builder
from refgrad.generation.profile import COUNTS, MAGNITUDES, SHAPES, STANDARD, Choices, Profile
from refgrad.generation.single_operators.derivatives import differentiated_twice
from refgrad.generation.single_operators.fixed_cases import certain, distinct, results_differ
from refgrad.interpreter import ScenarioEvaluationError
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Constant, Leaf, Scenario
from refgrad.scenario.formats import FLOAT64
from refgrad.scenario.rewrite import with_seeds, with_values

SUBNORMAL: Final = 2.0**-1023
"""A subnormal number whose reciprocal is finite."""

LARGEST: Final = FLOAT64.largest

NOT_FINITE: Final = (math.nan, math.inf, -math.inf)
FINITE: Final = (SUBNORMAL, LARGEST, -0.0)


@dataclass(frozen=True, slots=True)
class Position:
    """One entry of one operand, in a scenario of ordinary numbers."""

    base: Scenario
    leaf: str
    entry: int
    matters: bool = True
    """True if the result of the operator depends on the entry."""
    first: bool = True
    """True if the scenario is the first one of the operator."""

    @property
    def number(self) -> float:
        """Ordinary number at this position."""
        return float(self._array.flat[self.entry])

    @property
    def others(self) -> npt.NDArray[np.float64]:
        """All other numbers of the operands, as a 1-d array."""
        numbers = (leaf.value.to_numpy() for leaf in self.base.leaves if leaf.value.dtype != "bool")
        rest = [array.ravel() for array in numbers]
        return np.concatenate([*rest, np.delete(self._array.ravel(), self.entry)])

    @property
    def _array(self) -> npt.NDArray[np.float64]:
        leaf = self.base.definitions[self.leaf]
        assert isinstance(leaf, Leaf)
        return leaf.value.to_numpy()

    def holding(self, number: float) -> Scenario:
        """Return the scenario with another number at this position."""
        array = self._array.copy()
        array.flat[self.entry] = number

        def value(leaf: Leaf) -> Constant:
            return Constant.of(array) if leaf.name == self.leaf else leaf.value

        return Scenario(with_values(self.base.steps, value))

    def located_in(self, smaller: Scenario) -> Position | None:
        """Return the position in a scenario with fewer numbers, none of them new; None if it is not unique."""
        known = {float(self.number), *self.others.tolist()}
        leaves = [leaf for leaf in smaller.leaves if leaf.value.dtype != "bool"]
        entries = [(leaf.name, n, x) for leaf in leaves for n, x in enumerate(leaf.value.to_numpy().ravel().tolist())]
        here = [(name, entry) for name, entry, number in entries if number == self.number]
        if len(here) != 1 or not known.issuperset(number for _, _, number in entries):
            return None
        return replace(self, base=smaller, leaf=here[0][0], entry=here[0][1])

    def differentiated_twice(self, *, weighted: bool) -> Position:
        """Return the position in a scenario of second order; a leaf multiplies the output if ``weighted``."""
        return replace(
            self, base=differentiated_twice(self.base, Choices(0), STANDARD, weighted=weighted, by=self.leaf)
        )


@dataclass(frozen=True, slots=True)
class Everywhere(Position):
    """All entries of one operand, in a scenario in which each operand is a vector.

    The operand holds ``numbers``, or if there are none, copies of one number. Each other operand holds copies of one
    number.
    """

    numbers: tuple[float, ...] = ()

    def holding(self, number: float) -> Scenario:
        """Return the scenario in which the operand holds ``numbers``, or if there are none, copies of ``number``."""
        entries = self.numbers or (number,) * COUNTS["equal_entries"]

        def value(leaf: Leaf) -> Constant:
            held = entries if leaf.name == self.leaf else leaf.value.to_numpy().flat[0]
            return Constant.of(np.full(len(entries), held))

        return Scenario(with_seeds(with_values(self.base.steps, value), lambda _: Constant.of(np.ones(len(entries)))))


def everywhere(position: Position, numbers: tuple[float, ...] = ()) -> Position:
    """Return the position that stands for all entries of the same operand, which hold ``numbers`` if there are any."""
    return Everywhere(position.base, position.leaf, position.entry, numbers=numbers)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def exceptional_positions(
    operator: str, profile: Profile = STANDARD, bases: int = COUNTS["bases_of_places"]
) -> tuple[Position, ...]:
    """Return the positions of exceptional numbers: in each operand one that the result depends on, and one that not."""
    row = operator_table()[operator]
    return tuple(
        replace(position, first=not number)
        for number, base in enumerate(_bases(row, profile, bases if row.attributes else 1))
        for leaf in base.leaves
        if leaf.requires_grad
        for position in _positions(base, leaf)
    )


def _bases(row: Operator, profile: Profile, count: int) -> list[Scenario]:
    """Return up to ``count`` scenarios without zeros and equal numbers, with one leaf for each operand."""
    plain = replace(certain(profile), largest_size=COUNTS["largest_plain_case"], dimensions=(2, 3))
    drawn = (_drawn(row, plain, seed) for seed in range(COUNTS["attempts_at_a_place"]))
    return list(islice(distinct(base for base in drawn if base is not None), count))


def _drawn(row: Operator, profile: Profile, seed: int) -> Scenario | None:
    shapes = SHAPES["exceptional"]
    shape = shapes[seed % len(shapes)] if profile.rank else ()
    builder = Builder(profile, shape, Choices(seed))
    with np.errstate(all="ignore"):
        drawn = completed(builder) if apply_afresh(builder, row) else None
    return drawn if drawn is not None and _is_ordinary(drawn) else None


def _is_ordinary(scenario: Scenario) -> bool:
    (first, *_) = scenario.applications
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    numbers = np.concatenate([array.ravel() for array in arrays])
    distinct = len(set(first.arguments)) == len(first.arguments) and len(np.unique(numbers)) == len(numbers)
    return distinct and all(array.size and np.all(array) for array in arrays)


def _positions(base: Scenario, leaf: Leaf) -> Iterator[Position]:
    """Yield an entry of a leaf that the result depends on, if possible not the first one, and one that it does not."""
    positions = [Position(base, leaf.name, entry) for entry in (*range(1, leaf.value.size), 0)]
    matters = {position.entry: _matters(position) for position in positions}
    yield from [position for position in positions if matters[position.entry]][:1]
    yield from [replace(position, matters=False) for position in positions if not matters[position.entry]][:1]


def _matters(position: Position) -> bool:
    """Return True if the result changes with the entry."""
    try:
        return results_differ(position.base, position.holding(position.number * (1 + MAGNITUDES["change"])))
    except ScenarioEvaluationError:
        return True


def numbers_at(position: Position) -> tuple[float, ...]:
    """Return the exceptional numbers that are tried at a position."""
    return (*NOT_FINITE, *FINITE) if position.matters and position.first else NOT_FINITE[:2]
