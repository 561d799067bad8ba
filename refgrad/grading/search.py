"""Search for scenarios that fail one check on one engine.

A failure is never withdrawn: if it does not occur again, it is reported with the number of runs in which it occurred.
After the first fault the search continues for one of another kind, which the first might hide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from refgrad.facts import Died, Entry, Evidence, Fact, Lacks, Tally
from refgrad.generation import Counterexample, find_counterexample, shrink
from refgrad.generation.search import batches
from refgrad.grading.checks.isolation import REDUCTIONS, ROLES, rare_ingredients
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Outcome, Verdict
from refgrad.grading.settings import NUMBERS
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench
    from refgrad.grading.checks.check import FamilyCheck

SEARCH: Final = NUMBERS["search"]

JOINING: Final = frozenset({*ROLES["sum"], *ROLES["product"], *REDUCTIONS})
"""Operators that join the parts of a graph, whichever operator in it is wrong."""

Make: TypeAlias = Callable[[int], Scenario]
"""Function that draws a scenario from a seed."""


def budgets(finding: Finding) -> float:
    """Return the error of a finding in multiples of what rounding explains; 0 if the finding is not about an error."""
    return float(finding.fact.budgets) if isinstance(finding.fact, Entry) else 0.0


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A scenario and its finding, which ``seen`` of ``runs`` runs showed."""

    scenario: Scenario
    finding: Finding
    seen: int = 1
    runs: int = 1

    @property
    def evidence(self) -> Evidence | None:
        """The fact of the finding with its step and runs, or None without a fact."""
        fact = self.finding.fact
        return None if fact is None else Evidence(fact, self.finding.step, self.seen, self.runs)

    @property
    def message(self) -> str:
        """Description of the fact and its step, empty without a fact."""
        return "" if self.evidence is None else self.evidence.message(self.scenario)


def run_again(scenario: Scenario, finding: Finding, bench: Bench, fails: Callable[[], bool]) -> Demonstration:
    """Run a failed scenario again, to see whether it always fails. One that ended a process is run only once more.

    The process in which it failed has run other scenarios, which may have changed its state, so another is used.
    """
    runs = SEARCH["repeats"]
    bench.engine.runner.renew()
    if isinstance(finding.fact, Died):
        runs = 1
        bench.engine.forget(scenario)
    seen = sum(fails() for _ in range(runs))
    return Demonstration(scenario, finding) if seen == runs else Demonstration(scenario, finding, 1 + seen, 1 + runs)


@dataclass(slots=True)
class CheckSearch:
    """A search for scenarios that fail one check, with the outcomes of those tried so far.

    ``cause`` is the id of another check whose failure the scenarios avoid, or an empty string.
    """

    bench: Bench
    check: FamilyCheck
    make: Make
    examples: int
    variant: str = ""
    cause: str = ""
    outcomes: Counter[Outcome] = field(default_factory=Counter, init=False)
    findings_by_outcome: dict[Outcome, Finding] = field(default_factory=dict, init=False)
    failed: dict[Scenario, Finding] = field(default_factory=dict, init=False)
    explained: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    endings: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Record how many processes have ended before the search."""
        self.endings = self.bench.engine.runner.endings

    def run(self, scenarios: Iterable[Scenario]) -> Verdict:
        """Try the given scenarios, then draw others until one fails or enough are decided, and return the verdict.

        If ``examples`` is 0, none are drawn, and the given scenarios decide the outcome. The verdict counts the
        scenarios that were tried, up to the first that failed.
        """
        rest, number = self.prepared(scenarios), 0
        for number, scenario in enumerate(rest, 1):
            if self.fails(scenario):
                return self._failed(self._all(self.shrunk(scenario, self.fails), rest), number)
        if not self.examples:
            self.examples = number
            return self._decided(number)
        self.outcomes.clear()
        self.refused = 0
        tried = 0
        for number in range(SEARCH["rounds"]):
            counterexample, more = self.drawn(self.fails, number * SEARCH["another_seed"], self.examples)
            tried += more
            if counterexample is not None:
                return self._failed(self._all(counterexample), tried)
            undecided = self.outcomes["inconclusive"] or self.refused
            if self.is_decided or not undecided or (number > 0 and not self.decided):
                break
        return self._decided(tried)

    def _failed(self, demonstrations: Sequence[Demonstration], tried: int) -> Verdict:
        return self.bench.verdict_of(self.check, *demonstrations, examples=tried, cause=self.cause)

    def _decided(self, tried: int) -> Verdict:
        return self.bench.verdict(self.check, self.outcome, self.fact, examples=tried, cause=self.cause)

    def prepared(self, scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
        """Yield scenarios. Each batch is run before its first scenario is yielded."""
        for batch in batches(list(scenarios)):
            self.prepare(batch)
            yield from batch

    def prepare(self, scenarios: Sequence[Scenario]) -> None:
        """Run scenarios that will be examined next, unless too many processes have ended."""
        if not self.is_exhausted:
            self.bench.prepare(scenarios, self.check)

    def drawn(self, fails: Callable[[Scenario], bool], offset: int, examples: int) -> tuple[Counterexample | None, int]:
        """Draw at most ``examples`` scenarios until one fails; return it and the number of scenarios tried."""
        search = find_counterexample(
            self.make,
            fails,
            seed=self.bench.settings.seed + offset,
            max_examples=examples,
            key=f"{self.check.id}{self.variant}",
            prepare=self.prepare,
        )
        counterexample = search.counterexample
        if counterexample is not None and not self.is_as_bad(counterexample.shrunk, counterexample.scenario):
            counterexample = self.shrunk(counterexample.scenario, fails)
        return counterexample, search.examples

    def shrunk(self, scenario: Scenario, fails: Callable[[Scenario], bool]) -> Counterexample:
        """Return a failed scenario with the smallest one that fails as severely: a wrong number stays wrong."""
        smaller = shrink(scenario, lambda each: fails(each) and self.is_as_bad(each, scenario))
        return Counterexample(0, scenario, smaller)

    def is_as_bad(self, scenario: Scenario, first: Scenario) -> bool:
        """Return True if the outcome of one failed scenario is at least as severe as that of another.

        If both are inaccurate, the errors in multiples of what rounding explains are compared, with the tolerance
        ``about``.
        """
        finding, other = self.failed[scenario], self.failed[first]
        if finding.outcome == other.outcome == "inaccurate":
            return bool(budgets(finding) >= SEARCH["about"] * budgets(other))
        return OUTCOMES.index(finding.outcome) <= OUTCOMES.index(other.outcome)

    def fails(self, scenario: Scenario) -> bool:
        """Return True if a scenario shows a fault that the check reports; False after too many ended processes."""
        if self.is_exhausted and not self.bench.engine.has_run(scenario):
            return False
        finding = self.bench.examine(scenario, self.check)
        self.outcomes[finding.outcome] += 1
        self.findings_by_outcome[finding.outcome] = finding
        self.refused += finding.outcome == "unsupported" and not isinstance(finding.fact, Lacks)
        if not finding.failed or not self.bench.reliance.runnable(scenario):
            return False
        if self.check.operator_name not in {"", *scenario.operators}:  # not a fault of the operator, which is absent
            return False
        if self.check.explains(scenario, finding, self.bench):
            self.explained += 1
            return False
        if not self.check.reports(scenario, finding, self.bench):
            return False
        self.failed.setdefault(scenario, finding)
        return True

    def _all(self, first_failing: Counterexample, rest: Iterable[Scenario] = ()) -> list[Demonstration]:
        """Return a fault, and one of another kind if the rest or drawn scenarios show one, the worst first.

        A fault is of another kind if it has another outcome, if it lacks the rare ingredients of the first, or if its
        inaccuracy is many times that of the first. In graphs most operators are rare ingredients.
        """
        first = self.demonstrated(first_failing, self.fails)
        small = first_failing.shrunk
        rare = rare_ingredients(first_failing.scenario) & rare_ingredients(small)
        rare |= frozenset() if self.check.operator_name else small.operators - JOINING

        def fails_otherwise(scenario: Scenario) -> bool:
            if not self.fails(scenario):
                return False
            finding = self.failed[scenario]
            if finding.outcome != first.finding.outcome or (
                rare and rare.isdisjoint(rare_ingredients(scenario) | scenario.operators)
            ):
                return True
            return finding.outcome == "inaccurate" and budgets(finding) > SEARCH["many"] * budgets(first.finding)

        failing = next(filter(fails_otherwise, rest), None)
        if failing is not None:
            another: Counterexample | None = self.shrunk(failing, fails_otherwise)
        else:
            most = min(self.examples, SEARCH["most_for_another"])
            another, _ = self.drawn(fails_otherwise, SEARCH["another_seed"], most)
        if another is None:
            return [first]
        both = (first, self.demonstrated(another, fails_otherwise))
        return sorted(both, key=lambda each: (*each.finding.rank, -budgets(each.finding)))

    def demonstrated(self, counterexample: Counterexample, fails: Callable[[Scenario], bool]) -> Demonstration:
        """Run a counterexample again: the shrunk scenario if that always fails, else the original one."""
        small, scenario = counterexample.shrunk, counterexample.scenario
        tried = [small] if isinstance(self.failed[small].fact, Died) else [small, scenario]
        runs = (run_again(each, self.failed[each], self.bench, partial(self._again, each, fails)) for each in tried)
        last = next(runs)
        last = last if last.seen == last.runs else next(runs, last)
        return replace(last, finding=self.failed[last.scenario])

    def _again(self, scenario: Scenario, fails: Callable[[Scenario], bool]) -> bool:
        """Return True if a scenario fails again. One that ended a process is run, however many have ended."""
        if not isinstance(self.failed[scenario].fact, Died):
            return fails(scenario)
        finding = self.bench.examine(scenario, self.check)
        if finding.failed:
            self.failed[scenario] = finding
        return finding.failed

    @property
    def is_exhausted(self) -> bool:
        """Return True if no more processes may end in this check. One that hung costs its whole time limit."""
        most: int = SEARCH["most_hung"] if self.outcomes["hung"] else SEARCH["most_crashed"]
        return self.bench.engine.runner.endings - self.endings >= most

    @property
    def decided(self) -> int:
        """Number of scenarios that were right, or whose failure a known inaccuracy of an operator explains."""
        return self.outcomes["passed"] + self.outcomes["convention"] + self.explained

    @property
    def is_decided(self) -> bool:
        """Return True if at least half as many scenarios were decided as were to be tried."""
        return 2 * self.decided >= self.examples

    @property
    def outcome(self) -> Outcome:
        """Outcome of a search without failures.

        It is ``passed``, ``convention`` if one was observed, or, if too few scenarios were decided, the more frequent
        of ``unsupported`` and ``inconclusive``.
        """
        if not self.is_decided:
            return "unsupported" if self.outcomes["unsupported"] > self.outcomes["inconclusive"] else "inconclusive"
        return "convention" if self.outcomes["convention"] else "passed"

    @property
    def fact(self) -> Fact | None:
        """Fact of a search without failures: a choice, why nothing was decided, or the counts of outcomes."""
        finding = self.findings_by_outcome.get(self.outcome)
        decides = self.outcome in {"convention", "unsupported"} or (self.outcome == "inconclusive" and not self.decided)
        return finding.fact if decides and finding is not None and finding.fact is not None else Tally.of(self.outcomes)
