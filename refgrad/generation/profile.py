"""What generated scenarios may contain: the table of probabilities and shapes, profiles, and random choices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import Final, Literal, TypeVar

from refgrad.documents import read_toml
from refgrad.operators import Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.rewrite import promoted
from refgrad.specification import shipped_path

T = TypeVar("T")

TABLE: Final = read_toml(shipped_path("numbers", "generation.toml"), "generation")
PROBABILITIES: Final[Mapping[str, float]] = TABLE["probabilities"]
COUNTS: Final[Mapping[str, int]] = TABLE["counts"]
MAGNITUDES: Final[Mapping[str, float]] = TABLE["magnitudes"]
INTEGERS: Final[Mapping[str, Sequence[int]]] = TABLE["integers"]
NUMBERS: Final[Mapping[str, Sequence[float]]] = TABLE["numbers"]
SHAPES: Final[Mapping[str, Sequence[Shape]]] = {name: [*map(tuple, each)] for name, each in TABLE["shapes"].items()}
"""Values of the table `specs/numbers/generation.toml`, by name."""


class Choices:
    """A source of random choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        """Seed the generator. The same seed gives the same choices on every machine."""
        self._random: Callable[[], float] = Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options, of which there must be at least one."""
        return options[int(self._random() * len(options))]

    def boolean(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def happens(self, event: str) -> bool:
        """Return True with the probability of the event in the table."""
        return self._random() < PROBABILITIES[event]

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return numbers with three decimals, all equally likely."""
        first, last = grid(low, high)
        span, steps, draw = last - first + 1, COUNTS["steps_per_unit"], self._random
        return [(first + int(draw() * span)) / steps for _ in range(count)]


@cache
def grid(low: float, high: float) -> tuple[int, int]:
    """Return the smallest and the largest whole number of thousandths that lie between low and high."""
    return math.ceil(low * COUNTS["steps_per_unit"] - 1e-9), math.floor(high * COUNTS["steps_per_unit"] + 1e-9)


Dtype = Literal["float64", "float32", "float16", "bfloat16"]
"""Dtypes that the floating leaves of a generated scenario may have."""

Meeting = Literal["numbers", "alike", "stretched"]
"""Combinations of the shapes of an operator's operands: none has axes, all are the same, or they differ."""

GRAPH_FAMILIES: Final = ("elementwise", "broadcasting", "indexing", "products", "reductions", "shapes")
"""Families that graphs mainly consist of: their operators share, broadcast, join and sum operands."""


class GenerationError(ValueError):
    """A profile, or an operator within it, admits no scenario. The message names the reason."""


def meeting(shapes: Collection[Shape]) -> Meeting:
    """Return how the shapes of operands combine."""
    if not any(shapes):
        return "numbers"
    return "alike" if len(set(shapes)) == 1 else "stretched"


@cache
def largest_value(dtype: str) -> float:
    """Return the largest magnitude of a value, small enough that a product of two values does not overflow."""
    return float(min(MAGNITUDES["largest_value"], math.sqrt(FORMATS[dtype].largest)))


@cache
def least_margin(dtype: str) -> float:
    """Return the smallest distance of values from kinks, so that rounding does not carry them across."""
    return 0.0 if dtype == "float64" else COUNTS["roundings_from_kinks"] * FORMATS[dtype].unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What generated scenarios may contain: the operators and features of an engine, and limits.

    ``operators`` are the names of the operators that may be applied (None: all), and ``length`` bounds how many are
    applied. An operator in ``only`` is applied only to operands whose shapes combine in one of the ways listed with it.
    ``joining`` is the probability that the next operator is drawn among those of several operands. Shapes have at most
    ``max_rank`` axes (or as many as an operator's pattern names) with lengths from ``dimensions`` (a repeated length is
    more likely) and at most ``largest_size`` entries. ``empty`` is the probability that the base shape of the leaves
    has no entries. ``scalars_only`` allows 0-d leaves and elementwise operators only.

    Without ``seeds``, every backward starts from a scalar and passes no seed. At most ``max_backwards`` backward calls
    are made, with ``retain_graph`` if a later one traverses the same graph. Without ``accumulate``, no two of them
    reach the same leaf. ``edges`` is the probability that an operator that has edges may lie on one; if it is 0, every
    operator stays clear of its kinks. ``unused_leaves`` and ``constants`` are the probabilities that a scenario has a
    leaf that nothing uses, and that a leaf does not require grad. ``special`` is the probability that a leaf holds
    numbers that are difficult in some way: zeros, repetitions, ends of its range, tiny ones.

    Leaves and seeds hold numbers of ``dtype``. ``wider`` may be another dtype that can represent all of those numbers.
    Some of the leaves then have that dtype instead, and so have the seeds of outputs that depend on them.

    Lifecycles also have the kinds of step that need ``features``. There, ``length`` bounds the number of actions before
    the last reads, and ``misuse`` is the probability of a choice that is likely to fail: a backward without a graph, a
    write to a leaf, a hook on a constant. The fields about backward calls, edges and special numbers do not apply.

    Raises :class:`GenerationError` if a field is out of its range.
    """

    operators: frozenset[str] | None = None
    only: tuple[tuple[str, frozenset[Meeting]], ...] = ()
    joining: float = 0.0
    length: tuple[int, int] = (1, 20)
    max_rank: int = 3
    largest_size: int = COUNTS["largest_size"]
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
        """Validate the fields. Raises :class:`GenerationError` if one is out of its range."""
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
        """Return True if an operator may be applied."""
        return self.operators is None or operator in self.operators

    def admits(self, operator: str, shapes: Collection[Shape]) -> bool:
        """Return True if ``only`` allows an operator to be applied to operands of these shapes."""
        return not self.only or meeting(shapes) in dict(self.only).get(operator, {meeting(shapes)})

    @property
    def offered(self) -> frozenset[str]:
        """Features that steps may need, including those that other fields imply."""
        arrays = () if self.scalars_only else ("arrays",)
        seed = ("seed",) if self.seeds else ()
        return self.features.union(arrays, seed)

    @property
    def rank(self) -> int:
        """Largest rank of a leaf: 0 also if outputs must be scalars and the profile allows no reduction."""
        reachable = self.seeds or reducing_operators(self)
        return 0 if self.scalars_only or not reachable else self.max_rank


STANDARD: Final = Profile()


@lru_cache
def allowed_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the operators that a profile allows, in the order of the table."""
    return tuple(
        operator
        for name, operator in operator_table().items()
        if profile.allows(name) and (operator.elementwise or not profile.scalars_only)
    )


@lru_cache
def weighted_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators, repeated so that a uniform choice draws every family often enough.

    Operators of families with fewer than ``family_share`` members are repeated. Those of :data:`GRAPH_FAMILIES` come
    first, repeated until their share is at least ``graph_share``. Raises :class:`GenerationError` if the profile allows
    no operator.
    """
    allowed = allowed_operators(profile)
    if not allowed:
        raise GenerationError("the profile allows no operator")
    sizes = Counter(operator.family for operator in allowed)
    least = COUNTS["family_share"] if len(set(sizes.values())) > 1 else 1
    weighted = [operator for operator in allowed for _ in range(-(-least // sizes[operator.family]))]
    graph = [operator for operator in weighted if operator.family in GRAPH_FAMILIES]
    others = [operator for operator in weighted if operator.family not in GRAPH_FAMILIES]
    share = PROBABILITIES["graph_share"]
    times = share / (1 - share) * len(others) / max(1, len(graph))
    return (*graph * max(1, math.ceil(times)), *others)


@lru_cache
def reducing_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators that reduce any array to a scalar: those that reduce axes, by default all axes.

    Composites are excluded, since those that reduce axes have no value for arrays without entries.
    """
    return tuple(
        operator
        for operator in allowed_operators(profile)
        if operator.structure is not None
        and not operator.kinks
        and {attribute.type for attribute in operator.attributes} == {"axes", "bool"}
        and all(not attribute.default for attribute in operator.attributes)
    )
