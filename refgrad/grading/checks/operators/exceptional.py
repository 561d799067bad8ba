"""Checks of one operator where an entry of an operand is NaN, infinite, subnormal, the largest number or -0.0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from refgrad.facts import Tally
from refgrad.generation import Place, exceptional_places, numbers_at, shrink
from refgrad.grading.checks.operators.derivatives import DependentCheck, obstacle
from refgrad.grading.judging.exceptional import examine_exceptional, examine_limits
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.grading.search import Demonstration, run_again
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

Examine = Callable[[Place, float], Finding]

MOST_REDUCTIONS: Final = 300
"""Largest number of attempts to find a smaller scenario with the same failure."""


@dataclass(frozen=True, slots=True)
class _CheckAtPlaces(DependentCheck):
    """Check of fixed scenarios, each with one exceptional number."""

    def run(self, bench: Bench) -> Verdict:
        """Try each number at each position, if the engine is right with ordinary numbers there."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        cause = obstacle(bench, self.operator, ())
        if cause:
            return bench.blocked(self, cause)
        outcomes: Counter[str] = Counter()
        failures: dict[str, Demonstration] = {}
        for place, number in self._tried(bench):
            examine = self.examine(bench)
            finding = examine(place, number)
            excused = finding.failed and self.explains(place.holding(number), finding, bench)
            outcomes["passed" if excused else finding.outcome] += 1
            if finding.failed and not excused:
                kind = f"{finding.outcome} {finding.is_mild} {math.isfinite(number)}"
                if kind not in failures:
                    smallest = self._smallest(place, number, finding, bench)
                    failures[kind] = _demonstrated(smallest.holding(number), partial(examine, smallest, number), bench)
        return self._verdict(bench, outcomes, list(failures.values()))

    def _verdict(self, bench: Bench, outcomes: Counter[str], failures: list[Demonstration]) -> Verdict:
        tried = outcomes.total()
        if failures:
            ordered = sorted(failures, key=lambda each: each.finding.rank)
            return bench.demonstrated(self, ordered, examples=tried)
        outcome = next((each for each in ("passed", "convention", "unsupported") if outcomes[each]), "inconclusive")
        return bench.verdict(self, outcome, Tally.of(outcomes), examples=tried)  # type: ignore[arg-type]

    def _tried(self, bench: Bench) -> Iterator[tuple[Place, float]]:
        """Yield positions and numbers. All scenarios of a position are run in one batch."""
        right: dict[Scenario, bool] = {}
        places = exceptional_places(self.operator.name, bench.profile(seeds=True), bench.settings.effort.exceptional)
        for each in places:
            place = each.moved_to(bench.reliance.isolated(each.base))
            if place.base not in right:
                finding = bench.examine(place.base, self)
                right[place.base] = not finding.failed or self.explains(place.base, finding, bench)
            if right[place.base] and bench.reliance.runnable(place.base):
                numbers = [number for number in numbers_at(place) if self.asks_of(number) and _is_held(number, bench)]
                bench.prepare([place.holding(number) for number in numbers], self)
                yield from ((place, number) for number in numbers)

    def _smallest(self, place: Place, number: float, finding: Finding, bench: Bench) -> Place:
        """Return the position in the smallest scenario that fails equally with the number, and passes without it.

        Its operands have only numbers of the original scenario: new ones could be equal, or lie on a kink.
        """
        examine, applied = self.examine(bench), _applied(place.base)

        def shows(base: Scenario) -> bool:
            other = place.found_in(base)
            if other is None or _applied(base) != applied:
                return False
            ordinary, scenario = bench.examine(base, self), other.holding(number)
            if ordinary.failed and not self.explains(base, ordinary, bench):
                return False
            seen = examine(other, number) if bench.reliance.runnable(base) else Finding("unsupported")
            return seen.rank == finding.rank and not self.explains(scenario, seen, bench)

        return place.found_in(shrink(place.base, shows, MOST_REDUCTIONS)) or place

    @property
    def draws(self) -> bool:
        """Return False: everything that may fail is tried in every run."""
        return False

    def asks_of(self, number: float) -> bool:
        """Return True if the check is about a number."""
        raise NotImplementedError

    def examine(self, bench: Bench) -> Examine:
        """Return the function that examines a number at a position."""
        raise NotImplementedError


def _applied(scenario: Scenario) -> list[tuple[str, int]]:
    """Return the operators that a scenario applies, each with its number of distinct operands."""
    return [(step.operator, len(set(step.arguments))) for step in scenario.applications]


def _is_held(number: float, bench: Bench) -> bool:
    """Return True if the engine can represent a number. The extreme numbers are those of float64."""
    return "float64" in bench.engine.adapter.dtypes or number == 0 or not math.isfinite(number)


def _demonstrated(scenario: Scenario, examine: Callable[[], Finding], bench: Bench) -> Demonstration:
    return run_again(scenario, examine(), bench, lambda: examine().failed)


@dataclass(frozen=True, slots=True)
class ExceptionalCheck(_CheckAtPlaces):
    """Check of what NaN and infinities reach and must not reach, and of the extreme numbers."""

    CHAPTER: ClassVar[str] = "exceptional"
    CLAIM: ClassVar[str] = (
        "NaN and infinities reach what depends on them and nothing else; subnormals, the largest number and -0.0 are "
        "numbers like others."
    )

    def asks_of(self, number: float) -> bool:  # noqa: ARG002 (it is about all of them)
        """Return True: the check is about all numbers."""
        return True

    def examine(self, bench: Bench) -> Examine:
        """Return the function that examines what does not depend on the number, and what depends on NaN."""
        return partial(examine_exceptional, engine=bench.engine, flushes=bench.reliance.flushes_subnormals)


@dataclass(frozen=True, slots=True)
class InfinityCheck(_CheckAtPlaces):
    """Check of values and derivatives at infinite operands."""

    CHAPTER: ClassVar[str] = "infinities"
    CLAIM: ClassVar[str] = "where an operand is infinite, value and gradient are their limits, if formulas reach them."
    LEVEL: ClassVar[Level] = "SHOULD"

    def asks_of(self, number: float) -> bool:
        """Return True if the number is infinite."""
        return math.isinf(number)

    def examine(self, bench: Bench) -> Examine:
        """Return the function that examines values and derivatives that have a limit."""
        return partial(examine_limits, engine=bench.engine)
