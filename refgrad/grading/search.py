"""The search for scenarios that fail, of one check on one engine.

A failure that was seen is never taken back: one that does not come again is told as it was, and says how often it came.
Behind the first fault the search goes on for one of another kind, which the first might hide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from refgrad.generation import Counterexample, find_counterexample, shrink
from refgrad.generation.search import batches
from refgrad.grading.checks.isolation.ingredients import rare_ingredients
from refgrad.grading.judging.evidence import Died, Entry, Evidence, Fact, Lacks, Tally
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Outcome
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench
    from refgrad.grading.checks.check import Check

REPEATS: Final = 4
"""How often a scenario that failed is run again, to see whether it always does."""

ROUNDS: Final = 16
"""How often as many scenarios are drawn, at most, until enough of them are decided; twice, if none at all are."""

MOST_CRASHED: Final = 6
"""How many processes may end in a check before it tells what it has."""

MOST_HUNG: Final = 3
"""The same where one of them did not answer: that one, and two candidates of shrinking."""

MOST_FOR_ANOTHER: Final = 100
"""How many scenarios are drawn, at most, to find a fault of another kind behind the first."""

ANOTHER_SEED: Final = 2**32
"""What is added to a run's seed where other scenarios are to be drawn."""


ABOUT: Final = 0.5
"""How much of an inaccuracy a smaller scenario has to show."""

MANY: Final = 10
"""So many times as inaccurate is a fault of another kind."""


def budgets(finding: Finding) -> float:
    """Return how many times what rounding explains an error is; 0 where a finding is about something else."""
    return float(finding.fact.budgets) if isinstance(finding.fact, Entry) else 0.0


def _severity(finding: Finding) -> tuple[int, bool, float]:
    """Return what sorts findings, the worst first."""
    return (*finding.rank, -budgets(finding))


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A scenario, what it showed, and in how many runs of how many."""

    scenario: Scenario
    finding: Finding
    seen: int = 1
    runs: int = 1

    @property
    def evidence(self) -> Evidence | None:
        """What shows the outcome."""
        fact = self.finding.fact
        return None if fact is None else Evidence(fact, self.finding.step, self.seen, self.runs)


def run_again(scenario: Scenario, finding: Finding, bench: Bench, fails: Callable[[], bool]) -> Demonstration:
    """Run a scenario that failed again, to see whether it always does; one that ended a process is run once more.

    The process in which it failed has run others, which may have left something behind: it is run in another.
    """
    runs = REPEATS
    bench.engine.runner.renew()
    if isinstance(finding.fact, Died):
        runs = 1
        bench.engine.forget(scenario)
    seen = sum(fails() for _ in range(runs))
    return Demonstration(scenario, finding) if seen == runs else Demonstration(scenario, finding, 1 + seen, 1 + runs)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: faults, the worst first, or where there are none, an outcome.

    ``examples`` counts the scenarios that were tried, up to the first that failed.
    """

    examples: int
    demonstrations: tuple[Demonstration, ...] = ()
    outcome: Outcome = "passed"
    fact: Fact | None = None


@dataclass(slots=True)
class Search:
    """Scenarios of one check, and what they were found to be."""

    bench: Bench
    check: Check
    make: Callable[[int], Scenario]
    examples: int
    variant: str = ""
    outcomes: Counter[Outcome] = field(default_factory=Counter, init=False)
    said: dict[Outcome, Finding] = field(default_factory=dict, init=False)
    failed: dict[Scenario, Finding] = field(default_factory=dict, init=False)
    excused: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    endings: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Count the processes that end from here on."""
        self.endings = self.bench.engine.runner.endings

    def run(self, given: Iterable[Scenario]) -> Found:
        """Try the given scenarios, and draw others until one fails, or until enough are decided.

        Where none are to be drawn, the given ones decide.
        """
        rest, number = self.made_ready(given), 0
        for number, scenario in enumerate(rest, 1):
            if self.fails(scenario):
                return self._all(self.shrunk(scenario, self.fails), number, rest)
        if not self.examples:
            self.examples = number
            return Found(number, outcome=self.outcome, fact=self.fact)
        self.outcomes.clear()
        self.refused = 0
        tried = 0
        for number in range(ROUNDS):
            counterexample, more = self.drawn(self.fails, number * ANOTHER_SEED, self.examples)
            tried += more
            if counterexample is not None:
                return self._all(counterexample, tried)
            undecided = self.outcomes["inconclusive"] or self.refused
            if self.is_decided or not undecided or (number > 0 and not self.decided):
                break
        return Found(tried, outcome=self.outcome, fact=self.fact)

    def made_ready(self, given: Iterable[Scenario]) -> Iterator[Scenario]:
        """Yield scenarios, run batch by batch before they are looked at."""
        for batch in batches(list(given)):
            self.prepare(batch)
            yield from batch

    def prepare(self, scenarios: Sequence[Scenario]) -> None:
        """Run scenarios that will be looked at next, unless no more processes may end."""
        if not self.is_exhausted:
            self.bench.prepare(scenarios, self.check)

    def drawn(self, fails: Callable[[Scenario], bool], offset: int, examples: int) -> tuple[Counterexample | None, int]:
        """Draw scenarios until one fails, at most so many; return it, and how many were tried."""
        settings = self.bench.settings
        found = find_counterexample(
            self.make,
            fails,
            seed=settings.seed + offset,
            max_examples=examples,
            key=f"{self.check.id}{self.variant}",
            prepare=self.prepare,
        )
        counterexample = found.counterexample
        if counterexample is not None and not self.is_as_bad(counterexample.shrunk, counterexample.scenario):
            counterexample = self.shrunk(counterexample.scenario, fails)
        return counterexample, found.examples

    def shrunk(self, scenario: Scenario, fails: Callable[[Scenario], bool]) -> Counterexample:
        """Return a scenario that failed, with the smallest one that does so as badly: a wrong number stays wrong."""
        smaller = shrink(scenario, lambda each: fails(each) and self.is_as_bad(each, scenario))
        return Counterexample(0, scenario, smaller)

    def is_as_bad(self, scenario: Scenario, first: Scenario) -> bool:
        """Whether the outcome of a scenario that failed is at least as bad as that of another.

        Of two that are inaccurate, the error of the one must be about as many times what rounding explains.
        """
        found, other = self.failed[scenario], self.failed[first]
        if found.outcome == other.outcome == "inaccurate":
            return budgets(found) >= ABOUT * budgets(other)
        return OUTCOMES.index(found.outcome) <= OUTCOMES.index(other.outcome)

    def fails(self, scenario: Scenario) -> bool:
        """Whether a scenario shows a fault that is this check's to tell; no once too many processes have ended."""
        if self.is_exhausted and not self.bench.engine.has_run(scenario):
            return False
        finding = self.bench.examine(scenario, self.check)
        self.outcomes[finding.outcome] += 1
        self.said[finding.outcome] = finding
        self.refused += finding.outcome == "unsupported" and not isinstance(finding.fact, Lacks)
        if not finding.failed or not self.bench.reliance.runnable(scenario):
            return False
        if self.check.operator_name not in {"", *scenario.operators}:  # what is tried with an operator is not its fault
            return False
        if self.check.excuses(scenario, finding, self.bench):
            self.excused += 1
            return False
        if not self.check.owns(scenario, finding, self.bench):
            return False
        self.failed.setdefault(scenario, finding)
        return True

    def _all(self, found: Counterexample, tried: int, rest: Iterable[Scenario] = ()) -> Found:
        """Return a fault, and one of another kind if the rest or what is drawn shows any, the worst first.

        Of another kind is another outcome, the same without what is special about the first, or an inaccuracy that is
        many times that of the first.
        """
        first = self.demonstrated(found, self.fails)
        rare = rare_ingredients(found.scenario) & rare_ingredients(found.shrunk)

        def fails_otherwise(scenario: Scenario) -> bool:
            if not self.fails(scenario):
                return False
            finding = self.failed[scenario]
            if finding.outcome != first.finding.outcome or bool(rare and not rare & rare_ingredients(scenario)):
                return True
            return finding.outcome == "inaccurate" and budgets(finding) > MANY * budgets(first.finding)

        given = next(filter(fails_otherwise, rest), None)
        if given is not None:
            counterexample: Counterexample | None = self.shrunk(given, fails_otherwise)
        else:
            counterexample, _ = self.drawn(fails_otherwise, ANOTHER_SEED, min(self.examples, MOST_FOR_ANOTHER))
        if counterexample is None:
            return Found(tried, (first,))
        both = (first, self.demonstrated(counterexample, fails_otherwise))
        return Found(tried, tuple(sorted(both, key=lambda each: _severity(each.finding))))

    def demonstrated(self, found: Counterexample, fails: Callable[[Scenario], bool]) -> Demonstration:
        """Run what was found again: the smallest scenario if that always fails, else the first that did."""
        shown = [found.shrunk] if isinstance(self.failed[found.shrunk].fact, Died) else [found.shrunk, found.scenario]
        runs = (run_again(each, self.failed[each], self.bench, partial(self._again, each, fails)) for each in shown)
        last = next(runs)
        last = last if last.seen == last.runs else next(runs, last)
        return replace(last, finding=self.failed[last.scenario])

    def _again(self, scenario: Scenario, fails: Callable[[Scenario], bool]) -> bool:
        """Whether a scenario fails again; one that ended a process is run, however many have ended."""
        if not isinstance(self.failed[scenario].fact, Died):
            return fails(scenario)
        finding = self.bench.examine(scenario, self.check)
        if finding.failed:
            self.failed[scenario] = finding
        return finding.failed

    @property
    def is_exhausted(self) -> bool:
        """Whether as many processes have ended as one check may spend; one that hung costs its whole time limit."""
        most = MOST_HUNG if self.outcomes["hung"] else MOST_CRASHED
        return self.bench.engine.runner.endings - self.endings >= most

    @property
    def decided(self) -> int:
        """How many scenarios were found to be right; what is only as inaccurate as an operator is known to be is."""
        return self.outcomes["passed"] + self.outcomes["convention"] + self.excused

    @property
    def is_decided(self) -> bool:
        """Whether at least half as many scenarios were decided as were to be tried."""
        return 2 * self.decided >= self.examples

    @property
    def outcome(self) -> Outcome:
        """Nothing failed: passed, unless conventions were met, too little was decided, or nothing is implemented."""
        if not self.is_decided:
            return "unsupported" if self.outcomes["unsupported"] > self.outcomes["inconclusive"] else "inconclusive"
        return "convention" if self.outcomes["convention"] else "passed"

    @property
    def fact(self) -> Fact | None:
        """What is told where nothing failed: of a choice, of what could not be decided, or of how many there were."""
        outcome = self.outcome
        finding = self.said.get(outcome)
        if outcome != "passed" and finding is not None and finding.fact is not None and not self.decided_some(outcome):
            return finding.fact
        return Tally.of(self.outcomes)

    def decided_some(self, outcome: Outcome) -> bool:
        """Whether too few scenarios were decided, though some were."""
        return outcome != "convention" and self.decided > 0
