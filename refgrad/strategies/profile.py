"""What may a generated scenario contain?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from refgrad.operators import Operator, operator_table

LARGEST_VALUE: Final = 1e4
"""No value of a generated scenario is larger in magnitude."""

LARGEST_SIZE: Final = 64
"""No array of a generated scenario has more entries."""

FAMILY_SHARE: Final = 12
"""A family of operators with fewer members than this is drawn about as often as if it had this many."""


class GenerationError(ValueError):
    """A profile, or an operator within it, admits no scenario; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What generated scenarios may contain: what an engine offers, and how much of it at once.

    ``operators`` are names of the table (None: all), of which ``length`` bounds how many are applied. Shapes have at
    most ``max_rank`` axes with lengths from ``dimensions`` (repeat one to see it more often), and ``empty`` is the
    probability that a scenario is about arrays without entries. ``scalars_only`` leaves 0-d leaves and elementwise
    operators.

    Without ``seeds`` every backward starts from a scalar and passes no seed. At most ``max_backwards`` backward calls
    are made, every one with ``retain_graph`` whose graph a later one walks again; without ``accumulate`` no two of them
    reach the same leaf. ``edges`` is the probability that an operator that has edges is put onto one; where it is 0,
    every operator stays clear of its kinks. ``unused_leaves`` and ``constants`` are the probabilities that a scenario
    has a leaf that nothing uses, and that a leaf does not require grad.

    Raises :class:`GenerationError` where a field is out of its range.
    """

    operators: frozenset[str] | None = None
    length: tuple[int, int] = (1, 20)
    max_rank: int = 3
    dimensions: tuple[int, ...] = (2, 3, 2, 3, 1)
    empty: float = 0.05
    scalars_only: bool = False
    seeds: bool = True
    max_backwards: int = 3
    accumulate: bool = True
    edges: float = 0.0
    unused_leaves: float = 0.1
    constants: float = 0.15
    dtype: Literal["float64", "float32"] = "float64"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        unknown = sorted((self.operators or frozenset()) - set(operator_table()))
        if unknown:
            raise GenerationError(f"the profile allows {unknown[0]!r}, which is no operator of the table")
        if not 1 <= self.length[0] <= self.length[1]:
            raise GenerationError(f"length {self.length} must be (least, most) with 1 <= least <= most")
        if self.max_rank < 0 or self.max_backwards < 1:
            raise GenerationError("max_rank must be at least 0, and max_backwards at least 1")
        if not self.dimensions or min(self.dimensions) < 1:
            raise GenerationError(f"dimensions {self.dimensions} must be positive lengths; `empty` brings the length 0")
        for name in ("empty", "edges", "unused_leaves", "constants"):
            if not 0 <= getattr(self, name) <= 1:
                raise GenerationError(f"{name} is a probability, not {getattr(self, name)}")

    @property
    def rank(self) -> int:
        """The largest rank that a leaf may have: 0 too where only a reduction could make the scalar that is needed."""
        reachable = self.seeds or reducing_operators(self)
        return 0 if self.scalars_only or not reachable else self.max_rank


@lru_cache(maxsize=256)
def allowed_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the operators that a profile allows, in the order of the table."""
    return tuple(
        operator
        for name, operator in operator_table().items()
        if (profile.operators is None or name in profile.operators)
        and (operator.elementwise or not profile.scalars_only)
    )


@lru_cache(maxsize=256)
def weighted_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators, those of small families repeated, so that a fair choice sees every family."""
    allowed = allowed_operators(profile)
    if not allowed:
        raise GenerationError("the profile allows no operator")
    sizes = [sum(other.family == operator.family for other in allowed) for operator in allowed]
    return tuple(
        operator
        for operator, size in zip(allowed, sizes, strict=True)
        for _ in range(-(-FAMILY_SHARE // size) if len(set(sizes)) > 1 else 1)
    )


@lru_cache(maxsize=256)
def reducing_operators(profile: Profile) -> tuple[Operator, ...]:
    """Return the allowed operators that make a scalar of any array: those that reduce axes, by default all of them."""
    return tuple(
        operator
        for operator in allowed_operators(profile)
        if not operator.kinks
        and {attribute.type for attribute in operator.attributes} == {"axes", "bool"}
        and all(not attribute.default for attribute in operator.attributes)
    )
