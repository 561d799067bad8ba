"""What a check is: its verdict, level and scenario, and the settings of the run that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


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


class Check(Protocol):
    """A check, which runs in a grading session."""

    @property
    def id(self) -> str:
        """Id of the check, ``CHAPTER/NAME``."""
        raise NotImplementedError

    @property
    def level(self) -> Level:
        """Level of the statement: the severity of a failure."""
        raise NotImplementedError

    @property
    def statement(self) -> str:
        """Statement that the engine must fulfil."""
        raise NotImplementedError

    def run(self, bench: Bench) -> Verdict:
        """Run the check and return its verdict."""
        raise NotImplementedError

    @property
    def chapter(self) -> str:
        """First part of the id."""
        return self.id.partition("/")[0]

    @property
    def operator_name(self) -> str:
        """Name of the operator that the check is about, or an empty string."""
        return ""

    @property
    def draws(self) -> bool:
        """Return True if the check draws scenarios, so that those that fail are kept for every later run."""
        return False

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return a regression of this check in the form in which it is tried here, or None if it does not apply."""
        return bench.reliance.seeded(scenario)

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if this check should report the failure, rather than another check."""
        return True

    def explains(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if a known inaccuracy of an operator explains the failure."""
        return False
