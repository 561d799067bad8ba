"""The profile of generated scenarios: what they may contain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from refgrad.operators import Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.promotion import promoted

LARGEST_VALUE: Final = 1e4
"""No value of a generated scenario is larger in magnitude."""

ROUNDINGS: Final = 4
"""In narrow dtypes values keep clear of kinks by so many roundings of a number of size one."""

Dtype = Literal["float64", "float32", "float16", "bfloat16"]
"""What the leaves of a generated scenario may be of."""

Meeting = Literal["numbers", "alike", "stretched"]
"""How the shapes of an operator's operands meet: none has axes, all are the same, or they differ."""

LARGEST_SIZE: Final = 64
"""No array of a random scenario has more entries."""

FAMILY_SHARE: Final = 12
"""A family of operators with fewer members than this is drawn about as often as if it had this many."""

GRAPH_FAMILIES: Final = ("elementwise", "broadcasting", "indexing", "products", "reductions", "shapes")
"""What graphs are made of: these operators share operands, stretch, join and sum; the others stand on their own."""

GRAPH_SHARE: Final = 0.75
"""How much of a random graph is of these families at least, however many others there are.

A fault in how gradients are shared or summed shows where a few of these operators meet, which graphs of all operators
alike hardly ever have; a fault of any other operator shows where that is tried on its own.
"""


class GenerationError(ValueError):
    """A profile, or an operator within it, admits no scenario; the message says which."""


def meeting(shapes: Collection[Shape]) -> Meeting:
    """Return how the shapes of operands meet."""
    if not any(shapes):
        return "numbers"
    return "alike" if len(set(shapes)) == 1 else "stretched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What generated scenarios may contain: what an engine offers, and how much of it at once.

    ``operators`` are names of the table (None: all), of which ``length`` bounds how many are applied. Those that
    ``only`` names are applied where their operands meet in one of the ways that go with the name; ``joining`` is how
    often an operator of several operands is taken whatever the others are. Shapes have at
    most ``max_rank`` axes (or as many as an operator's pattern names) with lengths from ``dimensions`` (repeat one to
    see it more often) and at most ``largest_size`` entries, and ``empty`` is the probability that a scenario is about
    arrays without entries. ``scalars_only`` leaves 0-d leaves and elementwise operators.

    Without ``seeds`` every backward starts from a scalar and passes no seed. At most ``max_backwards`` backward calls
    are made, every one with ``retain_graph`` whose graph a later one walks again; without ``accumulate`` no two of them
    reach the same leaf. ``edges`` is the probability that an operator that has edges is put onto one; where it is 0,
    every operator stays clear of its kinks. ``unused_leaves`` and ``constants`` are the probabilities that a scenario
    has a leaf that nothing uses, and that a leaf does not require grad; ``special`` is the one that a leaf holds
    numbers that are hard in some way: zeros, repetitions, ends of its range, tiny ones.

    Leaves and seeds hold numbers of ``dtype``. If ``wider`` is another one, that holds all of those numbers, some of
    the leaves are of it instead, and so are the seeds of the outputs that follow from them.

    Lifecycles also have the kinds of step that need ``features``, ``length`` of them before the last reads. There
    ``misuse`` is the probability of a choice that is likely to fail: a backward without a graph, a write to a leaf, a
    hook on a constant. What the paragraphs above say of backward calls, edges and special numbers is not about them.

    Raises :class:`GenerationError` where a field is out of its range.
    """

    operators: frozenset[str] | None = None
    only: tuple[tuple[str, frozenset[Meeting]], ...] = ()
    joining: float = 0.0
    length: tuple[int, int] = (1, 20)
    max_rank: int = 3
    largest_size: int = LARGEST_SIZE
    dimensions: tuple[int, ...] = (2, 3, 2, 3, 1)
    empty: float = 0.05
    scalars_only: bool = False
    seeds: bool = True
    max_backwards: int = 3
    accumulate: bool = True
    edges: float = 0.0
    unused_leaves: float = 0.1
    constants: float = 0.15
    special: float = 0.0
    dtype: Dtype = "float64"
    wider: Dtype | None = None
    features: frozenset[str] = frozenset()
    misuse: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        unknown = sorted((self.operators or frozenset()) - set(operator_table()))
        if unknown:
            raise GenerationError(f"the profile allows {unknown[0]!r}, which is no operator of the table")
        if not 1 <= self.length[0] <= self.length[1]:
            raise GenerationError(f"length {self.length} must be (least, most) with 1 <= least <= most")
        if self.max_rank < 0 or min(self.max_backwards, self.largest_size) < 1:
            raise GenerationError("max_rank must be at least 0, max_backwards and largest_size at least 1")
        if not self.dimensions or min(self.dimensions) < 1:
            raise GenerationError(f"dimensions {self.dimensions} must be positive lengths; `empty` brings the length 0")
        for name in ("joining", "empty", "edges", "unused_leaves", "constants", "special", "misuse"):
            if not 0 <= getattr(self, name) <= 1:
                raise GenerationError(f"{name} is a probability, not {getattr(self, name)}")
        if self.wider is not None and promoted({self.dtype, self.wider}) != self.wider:
            raise GenerationError(f"wider is {self.wider}, which does not hold all numbers of {self.dtype}")

    def allows(self, operator: str) -> bool:
        """Whether an operator may be applied."""
        return self.operators is None or operator in self.operators

    def admits(self, operator: str, shapes: Collection[Shape]) -> bool:
        """Whether an operator may be applied to operands of these shapes."""
        return not self.only or meeting(shapes) in dict(self.only).get(operator, {meeting(shapes)})

    @property
    def offered(self) -> frozenset[str]:
        """The features that steps may need, those included that other fields speak of."""
        arrays = () if self.scalars_only else ("arrays",)
        seed = ("seed",) if self.seeds else ()
        return self.features.union(arrays, seed)

    @property
    def largest_value(self) -> float:
        """No value is larger: the product of two can still be represented, and a sum of as many as there may be."""
        return float(min(LARGEST_VALUE, math.sqrt(FORMATS[self.dtype].largest)))

    @property
    def least_margin(self) -> float:
        """How far values stay clear of kinks at least, so that rounding does not carry them across."""
        return 0.0 if self.dtype == "float64" else ROUNDINGS * FORMATS[self.dtype].unit

    @property
    def rank(self) -> int:
        """The largest rank that a leaf may have: 0 too where only a reduction could make the scalar that is needed."""
        reachable = self.seeds or reducing_operators(self)
        return 0 if self.scalars_only or not reachable else self.max_rank


STANDARD: Final = Profile()


@lru_cache(maxsize=256)
def allowed_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the operators that a profile allows, in the order of the table."""
    return tuple(
        operator
        for name, operator in operator_table().items()
        if profile.allows(name) and (operator.elementwise or not profile.scalars_only)
    )


@lru_cache(maxsize=256)
def weighted_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators, repeated so that a fair choice sees every family, and enough of what graphs need.

    Those of small families stand more than once. :data:`GRAPH_FAMILIES` come first, and as often as it takes for
    :data:`GRAPH_SHARE`. Raises :class:`GenerationError` where the profile allows no operator.
    """
    allowed = allowed_operators(profile)
    if not allowed:
        raise GenerationError("the profile allows no operator")
    sizes = Counter(operator.family for operator in allowed)
    least = FAMILY_SHARE if len(set(sizes.values())) > 1 else 1
    weighted = [operator for operator in allowed for _ in range(-(-least // sizes[operator.family]))]
    graph = [operator for operator in weighted if operator.family in GRAPH_FAMILIES]
    others = [operator for operator in weighted if operator.family not in GRAPH_FAMILIES]
    times = GRAPH_SHARE / (1 - GRAPH_SHARE) * len(others) / max(1, len(graph))
    return (*graph * max(1, math.ceil(times)), *others)


@lru_cache(maxsize=256)
def reducing_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators that make a scalar of any array: those that reduce axes, by default all of them.

    Composites are left out: those that reduce axes have no value for arrays without entries.
    """
    return tuple(
        operator
        for operator in allowed_operators(profile)
        if operator.structure is not None
        and not operator.kinks
        and {attribute.type for attribute in operator.attributes} == {"axes", "bool"}
        and all(not attribute.default for attribute in operator.attributes)
    )
