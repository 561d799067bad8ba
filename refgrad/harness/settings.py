"""How much is run, and from which seed?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Effort:
    """How many scenarios a generated check draws."""

    per_operator: int
    per_edge: int
    per_second_order: int
    per_graph_check: int


EFFORTS: Mapping[str, Effort] = MappingProxyType({
    "smoke": Effort(per_operator=10, per_edge=5, per_second_order=5, per_graph_check=50),
    "standard": Effort(per_operator=50, per_edge=20, per_second_order=25, per_graph_check=500),
    "thorough": Effort(per_operator=500, per_edge=100, per_second_order=250, per_graph_check=10_000),
})


@dataclass(frozen=True, slots=True)
class Settings:
    """The profile by name, the seed that all choices follow from, and where failing examples are kept, if anywhere."""

    profile: str = "standard"
    seed: int = 0
    database: Path | None = None

    @property
    def effort(self) -> Effort:
        """How much the profile draws."""
        return EFFORTS[self.profile]
