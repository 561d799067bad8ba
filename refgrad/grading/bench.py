"""The grading session: one started engine, what is known of it, and the methods that checks need to run on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from refgrad.facts import Absent, Blocked, Died, Evidence, Fact, Inconsistent, Lacks, UnexpectedGradient, Written
from refgrad.generation import Profile, operator_scenario
from refgrad.grading.checks.check import Check, FamilyCheck, regressions
from refgrad.grading.journal import SharedVerdicts
from refgrad.grading.judging.verdict import Case, Finding, Outcome, Statements, Verdict, members
from refgrad.grading.reliance import Reliance
from refgrad.grading.search import CheckSearch, Demonstration, Make
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter
from refgrad.native.display import displayed
from refgrad.native.engine import Engine, prepare
from refgrad.native.observation import Raised
from refgrad.native.program import Spell, program_of
from refgrad.native.repetition import printed_again_and_again
from refgrad.native.statements import Code
from refgrad.scenario import Read, Scenario


@dataclass(slots=True)
class Bench:
    """Grading session of one started engine. Each check runs at most once, since checks use the verdicts of others.

    If several workers grade one engine, ``shared`` holds the verdicts of all workers.
    """

    engine: Engine
    settings: Settings = field(default_factory=Settings)
    shared: SharedVerdicts | None = None
    reliance: Reliance = field(init=False)
    _verdicts: dict[str, Verdict] = field(default_factory=dict, init=False)
    _hung: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Create the reliance on the same engine."""
        self.reliance = Reliance(self.engine)

    def grade(self, check: Check) -> Verdict:
        """Return the verdict of a check, which is run if no verdict is known."""
        if check.id not in self._verdicts:
            make = partial(check.run, self)
            verdict = make() if self.shared is None else self.shared.computed_once(check.id, make)
            self._verdicts[check.id] = verdict
            self._hung |= {check.id} if verdict.verdict == "hung" else set()
        return self._verdicts[check.id]

    def examine(self, scenario: Scenario, check: Check) -> Finding:
        """Return the finding of a scenario in a check.

        It is ``unsupported`` if the engine lacks an operator of the scenario, and ``inconclusive`` if the check of one
        is known to hang.
        """
        if absent := self.engine.absent(scenario):
            return Finding("unsupported", Lacks(names=tuple(f"operator {name}" for name in absent)))
        if cause := self._hanging(scenario, check):
            return Finding("inconclusive", Blocked(cause=cause))
        return self.reliance.examined(scenario, check.id)

    def _hanging(self, scenario: Scenario, check: Check) -> str:
        """Return the id of another check of an operator in the scenario that is known to hang, or an empty string."""
        if not self._hung:
            return ""
        others = {f"operators/{name}" for name in scenario.operators} - {check.id}
        return min(others & self._hung, default="")

    def prepare(self, scenarios: Sequence[Scenario], check: Check) -> None:
        """Run scenarios that will be examined next in one batch."""
        offered = [each for each in scenarios if not self.engine.absent(each) and not self._hanging(each, check)]
        prepare(offered, self.engine, seeds=self.reliance.watches_seeds_in(check.id))

    def profile(self, **fields: Any) -> Profile:
        """Return the profile of the scenarios that the engine can run."""
        return Profile(scalars_only=self.engine.adapter.scalars_only, **fields)

    def isolated(self, operator: str, profile: Profile) -> Make:
        """Return the function that draws a scenario of an isolated operator."""
        return lambda seed: self.reliance.isolated(operator_scenario(seed, operator, profile))

    def search(  # noqa: PLR0913 (the check chooses each of them, by name)
        self,
        check: FamilyCheck,
        make: Make,
        examples: int,
        *,
        fixed: Iterable[Scenario] = (),
        cause: str = "",
        variant: str = "",
    ) -> Verdict:
        """Try the regressions of a check and the ``fixed`` scenarios, then scenarios that are drawn from seeds.

        The verdict shows the smallest scenario that fails. ``cause`` is the id of the check because of which these
        scenarios leave something out, and ``variant`` names a further search of the same check, which does not try
        regressions.
        """
        known = () if variant else self._known(check)
        return CheckSearch(self, check, make, examples, variant, cause).run(dict.fromkeys((*known, *fixed)))

    def _known(self, check: FamilyCheck) -> Iterator[Scenario]:
        """Yield the regressions of a check that the engine can run, in the form in which the check tries them."""
        met = (check.met(each, self) for each in regressions(check.id) if self.reliance.runnable(each))
        return (scenario for scenario in met if scenario is not None and self.reliance.runnable(scenario))

    def verdict_of(self, check: Check, worst: Demonstration, *others: Demonstration, **fields: Any) -> Verdict:
        """Return the verdict that one or several scenarios show, the worst first."""
        return self._verdict(check, self._case(worst), further=tuple(map(self._case, others)), **fields)

    def _case(self, demonstration: Demonstration) -> Case:
        scenario, finding, evidence = demonstration.scenario, demonstration.finding, demonstration.evidence
        sometimes = isinstance(finding.fact, Died) and demonstration.seen < demonstration.runs
        program = printed_again_and_again(scenario, self.engine) if sometimes else None
        statements = statements_of(scenario, self.engine.adapter, self.engine.spelling, evidence)
        return Case(
            verdict=finding.outcome,
            message=demonstration.message,
            scenario=scenario.text,
            scenario_id=scenario.id,
            reproduction=(Code(program),) if program else statements,
            evidence=evidence,
        )

    def lacks(self, check: Check, *names: str) -> Verdict:
        """Return the verdict for features or operators that the engine does not offer."""
        return self.verdict(check, "unsupported", Lacks(names=names))

    def blocked(self, check: Check, cause: str) -> Verdict:
        """Return the verdict for a check that cannot be run because another one fails."""
        return self.verdict(check, "inconclusive", Blocked(cause=cause))

    def verdict(self, check: Check, outcome: Outcome, fact: Fact | None = None, **fields: Any) -> Verdict:
        """Return a verdict without a scenario that shows it."""
        evidence = None if fact is None else Evidence(fact)
        case = Case(verdict=outcome, message="" if evidence is None else evidence.message(), evidence=evidence)
        return self._verdict(check, case, **fields | ({"cause": fact.cause} if isinstance(fact, Blocked) else {}))

    def _verdict(self, check: Check, case: Case, **fields: Any) -> Verdict:
        mild = Finding(case.verdict, None if case.evidence is None else case.evidence.fact).is_mild
        return Verdict(
            id=check.id,
            chapter=check.chapter,
            operator=check.operator_name,
            level="SHOULD" if mild and check.level == "MUST" else check.level,
            statement=check.statement,
            **members(case),
            **fields,
        )


def statements_of(scenario: Scenario, adapter: AnyAdapter, spell: Spell, evidence: Evidence | None) -> Statements:
    """Return the statements of a scenario that show evidence, or all that the scenario reads if there is none.

    A crash of a functional engine is shown by the statements that ran, since the form in which users write gradients
    may avoid it.
    """
    fact, step = (None, 0) if evidence is None else (evidence.fact, evidence.step)
    reads: list[Read] = []
    match fact:
        case None:
            reads = [each for each in scenario.steps if isinstance(each, Read)]
        case Died() if isinstance(adapter, FunctionalAdapter):
            return tuple(chain.from_iterable(program_of(scenario, adapter, spell).groups[: step or None]))
        case Absent(error=Raised()):
            step = fact.after_step
        case Inconsistent():
            reads = [Read("grad", each.name) for each in fact.direction]
        case UnexpectedGradient():
            reads = [Read("grad", fact.leaf)]
    return displayed(scenario, adapter, spell, step, reads, watch_seeds=isinstance(fact, Written))
