"""Check of a behaviour by its scenarios, or by its measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from refgrad.facts import Blocked, Comment, Error, Evidence
from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviours import Behaviour
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.operators.blame import is_broken, is_known_inaccuracy
from refgrad.grading.checks.operators.derivatives import SECOND_ORDER
from refgrad.grading.checks.operators.values import verdict_on
from refgrad.grading.judging.verdict import Finding, Level, Verdict, worst
from refgrad.grading.measurements import Measurement, take_measurement
from refgrad.grading.reliance import Reliance
from refgrad.grading.search import Demonstration, run_again
from refgrad.native.statements import Code
from refgrad.scenario import Scenario

FORMS: Final = MappingProxyType({"shapes": Reliance.isolated, "rewrites": Reliance.seeded})
"""Forms of scenarios that are about exactly their operators, by chapter: about one each, or about a combination."""


@dataclass(frozen=True, slots=True)
class BehaviourCheck(Check):
    """Check of one behaviour with the scenarios of its row."""

    behaviour: Behaviour

    def run(self, bench: Bench) -> Verdict:
        """Try each scenario that the engine can run. Faults of an operator by itself are not the behaviour's."""
        if self.behaviour.measurement is not None:
            return self._measured(bench, self.behaviour.measurement)
        filled = FORMS.get(self.chapter, Reliance.filled)
        tried = [filled(bench.reliance, scenario) for scenario in self.behaviour.scenarios]
        scenarios = [s for s in tried if bench.reliance.runnable(s)]
        if not scenarios:
            return bench.lacks(self, *bench.reliance.lacking(tried[0]))
        return self._judged(bench, [_Trial.of(scenario, self, bench) for scenario in scenarios])

    def _judged(self, bench: Bench, trials: Sequence[_Trial]) -> Verdict:
        """Return the verdict of the worst finding that no operator explains."""
        counted = [trial for trial in trials if not trial.blamed]
        finding = worst(trial.finding for trial in counted)
        blamed = next((trial for trial in trials if trial.blamed), None)
        if blamed is not None and not finding.failed:
            return self._blamed(bench, blamed.blamed, blamed.finding.message, examples=len(trials))
        if finding.outcome == "passed":
            return bench.verdict(self, "passed", examples=len(trials))
        scenario = next(trial.scenario for trial in counted if trial.finding is finding)
        demonstration = Demonstration(scenario, finding)
        if finding.failed:
            demonstration = run_again(scenario, finding, bench, lambda: bench.examine(scenario, self).failed)
        return bench.verdict_of(self, demonstration, examples=len(trials))

    def _blamed(self, bench: Bench, cause: str, seen: str, examples: int) -> Verdict:
        comment = Comment(text=f"cannot be judged: {cause} fails by itself" + (f"; here {seen}" if seen else ""))
        return bench.verdict(self, "inconclusive", comment, cause=cause, examples=examples)

    def _measured(self, bench: Bench, measurement: Measurement) -> Verdict:
        """Return the verdict of the measurement, with a program that shows its result as the reproduction.

        If a size is too deep for Python's stack, and smaller ones are right, a MUST becomes a SHOULD.
        """
        result = take_measurement(bench.engine, measurement, bench.settings)
        verdicts = (verdict_on(bench, n) for n in result.operators if bench.reliance.is_faulty(n))
        if blamed := next((verdict.id for verdict in verdicts if is_broken(verdict)), ""):
            return self._blamed(bench, blamed, result.message, examples=result.examples)
        if result.scenario is None:
            verdict = bench.verdict(self, result.outcome, examples=result.examples)
        else:
            demonstration = Demonstration(result.scenario, Finding(result.outcome))
            verdict = bench.verdict_of(self, demonstration, examples=result.examples)
        evidence = None if result.fact is None else Evidence(result.fact)
        code = result.program
        program = ((Code(code),) if isinstance(code, str) else code) if code else verdict.reproduction
        deep = isinstance(result.fact, Error) and "RecursionError" in result.fact.error.bases and self.level == "MUST"
        level: Level = "SHOULD" if deep else verdict.level
        return replace(verdict, message=result.message, evidence=evidence, reproduction=program, level=level)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A scenario, its finding, and the id of the check of the operator to blame for it, or an empty string."""

    scenario: Scenario
    finding: Finding
    blamed: str = ""

    @classmethod
    def of(cls, scenario: Scenario, check: Check, bench: Bench) -> _Trial:
        """Try a scenario. One that is only as inaccurate as an operator is known to be passes.

        An operator is to blame if it is wrong by itself on the operands that it has in the scenario.
        """
        finding = bench.examine(scenario, check)
        if not finding.failed:
            return cls(scenario, finding, finding.fact.cause if isinstance(finding.fact, Blocked) else "")
        verdicts = list(_verdicts(bench, scenario))
        if is_known_inaccuracy(scenario, finding, verdicts):
            return cls(scenario, Finding("passed"))
        wrong = [v for v in verdicts if v.failed]
        of_gradients = (each.id for each in wrong if each.chapter == SECOND_ORDER.name)
        operator = bench.reliance.wrong_in_isolation(scenario, [each.operator for each in wrong])
        return cls(scenario, finding, f"operators/{operator}" if operator else next(of_gradients, ""))


def _verdicts(bench: Bench, scenario: Scenario) -> Iterable[Verdict]:
    yield from (verdict_on(bench, name) for name in sorted(scenario.operators))
    if scenario.gradients:
        yield from (bench.grade(SECOND_ORDER.check(name)) for name in sorted(scenario.operators))
