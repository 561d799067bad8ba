"""Settings of a run: the profile, which determines how much is run, and the seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Effort:
    """Numbers of scenarios that each kind of check tries.

    ``fixed_cases`` is the largest number of fixed cases of an operator; ``per_operator`` and the like are numbers of
    drawn scenarios. All graphs of at most ``small_graphs`` operators are tried. ``large_arrays`` is the number of large
    arrays for each operator: the first has thousands of entries, the second tens of thousands. ``exceptional`` is the
    number of choices of attributes with which an operator is tried at NaN, infinities and extreme numbers.
    """

    small_graphs: int
    fixed_cases: int
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
    """The name of the profile, and the seed from which all choices follow."""

    profile: str = "standard"
    seed: int = 0

    @property
    def effort(self) -> Effort:
        """Numbers of scenarios of the profile."""
        return EFFORTS[self.profile]
