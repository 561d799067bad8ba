"""Settings of a run: how much is run, and from which seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Effort:
    """How many scenarios a generated check tries: of an operator's corners, at most so many, and of those drawn.

    All graphs of at most ``small_graphs`` operators are tried. ``large_arrays`` says how many operators meet: one of
    thousands of entries, one of tens of thousands; ``exceptional`` with how many choices of attributes they meet NaN,
    infinities and the extremes.
    """

    small_graphs: int
    corners: int
    large_arrays: int
    exceptional: int
    per_operator: int
    per_edge: int
    per_second_order: int
    per_third_order: int
    per_contract: int
    per_forward_mode: int
    per_half_precision: int
    per_graph_check: int


EFFORTS: Mapping[str, Effort] = MappingProxyType({
    "smoke": Effort(3, 12, 0, 1, 6, 5, 4, 2, 3, 2, 1, 40),
    "standard": Effort(4, 100, 2, 2, 12, 20, 14, 8, 12, 8, 6, 400),
    "thorough": Effort(4, 100, 2, 2, 500, 100, 250, 100, 200, 100, 100, 10_000),
})


@dataclass(frozen=True, slots=True)
class Settings:
    """The profile by name, and the seed that all choices follow from."""

    profile: str = "standard"
    seed: int = 0

    @property
    def effort(self) -> Effort:
        """How much the profile draws."""
        return EFFORTS[self.profile]
