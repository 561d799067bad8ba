"""Family of checks of one operator's value and gradient, by itself: small and large arrays, and repeated application.

Certifying every entry of a large array takes seconds, so most are only compared with what is known of them. A scenario
that disagrees is shrunk as long as it does, and then certified: no verdict rests on a comparison. Results that differ
between runs of one scenario are judged one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from refgrad import generation
from refgrad.facts import Died
from refgrad.generation import Profile
from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Family, FamilyCheck
from refgrad.grading.checks.isolation import KEPT_DTYPES, isolated_applications, with_own_operands
from refgrad.grading.checks.operators.blame import views_are_right
from refgrad.grading.judging.examination import confront
from refgrad.grading.judging.screening import agrees
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Verdict
from refgrad.grading.search import SEARCH, Demonstration
from refgrad.grading.settings import NUMBERS
from refgrad.lifecycle import predict
from refgrad.native.observation import Observation
from refgrad.native.process import EndingError
from refgrad.native.repetition import PRINTED_RUNS, Repeated, Repetition, plain
from refgrad.native.statements import Code
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Backward, Scenario

TRIED: Final = NUMBERS["operators"]
REPEATED: Final = NUMBERS["repetition"]

ZEROING: Final = "accumulation/zeroing_forgets"
"""Id of the behaviour without which a leaf cannot be reused in another run."""


def _by_itself(check: FamilyCheck, bench: Bench) -> Verdict:
    """Try the operator's applications in behaviours, then scenarios of its own, and at last large arrays."""
    name, effort = check.operator_name, bench.settings.effort
    profile = bench.profile(seeds=True, operators=frozenset({name}), edges=0.0)
    fixed = (*_met_in_behaviours(name, bench), *_fixed_cases(name, profile, bench))
    verdict = bench.search(check, bench.isolated(name, profile), effort["operators"], fixed=fixed)
    if verdict.failed and verdict.evidence is not None and verdict.evidence.repeatable:
        return verdict
    unstable = repeated(check, bench)
    if unstable is not None or verdict.failed:
        return unstable or verdict
    verdict = _in_single_precision(check, verdict, bench)
    if verdict.verdict not in {"passed", "convention"}:
        return verdict
    large = generation.large_scenarios(name, profile)[: effort["large_arrays"]] if effort["large_arrays"] else ()
    return on_large_arrays(check, verdict, bench, filter(bench.reliance.runnable, map(bench.reliance.isolated, large)))


def _in_single_precision(check: FamilyCheck, verdict: Verdict, bench: Bench) -> Verdict:
    """Return the verdict after half as many scenarios in float32, for an operator that passed in float64."""
    if not {"float32", "float64"} <= {*bench.engine.adapter.dtypes} or bench.reliance.failing(KEPT_DTYPES):
        return verdict
    name = check.operator_name
    profile = bench.profile(seeds=True, operators=frozenset({name}), dtype="float32")

    def drawn(seed: int) -> Scenario:
        return bench.reliance.isolated(with_own_operands(generation.operator_scenario(seed, name, profile)))

    single = bench.search(check, drawn, bench.settings.effort["operators"] // 2, variant="/float32")
    return single if single.failed else replace(verdict, examples=verdict.examples + single.examples)


def _fixed_cases(name: str, profile: Profile, bench: Bench) -> Iterator[Scenario]:
    """Return the fixed cases of the operator, as many as the run's profile allows; views come after the first few."""
    most, first = bench.settings.effort["fixed_cases"], TRIED["first_cases"]
    cases = generation.fixed_cases(name, profile, most)
    others = (
        scenario
        for make in (generation.memory_scenarios, generation.applied_twice, generation.applied_again)
        for scenario in always(make, name, profile, bench)
    )
    runnable = filter(bench.reliance.runnable, others)
    return map(bench.reliance.isolated, (*cases[:first], *runnable, *cases[first:])[:most])


def always(
    make: Callable[..., tuple[Scenario, ...]], name: str, profile: Profile, bench: Bench, **options: Any
) -> tuple[Scenario, ...]:
    """Return the scenarios that ``make`` derives from the operator's fixed cases; none in the smoke profile."""
    effort = bench.settings.effort
    return make(name, profile, effort["fixed_cases"], **options) if effort["large_arrays"] else ()


def _met_in_behaviours(name: str, bench: Bench) -> Iterable[Scenario]:
    """Return the operator's applications in behaviours, each isolated.

    What fails by itself is no fault of the behaviour.
    """
    met = [s for b in all_behaviours() for s in b.scenarios]
    tried = [a for s in met if name in s.operators for a in isolated_applications(s, name)]
    doubles = filter(_is_of_doubles, tried)
    return dict.fromkeys(s for s in map(bench.reliance.isolated, doubles) if bench.reliance.runnable(s))


def _is_of_doubles(scenario: Scenario) -> bool:
    return all(leaf.value.dtype in {"float64", "bool"} for leaf in scenario.leaves)


def _isolated(_: FamilyCheck, scenario: Scenario, bench: Bench) -> Scenario | None:
    """Return the regression with the operator isolated.

    If it has dtypes other than float64 and gradients do not keep them, the result is None.
    """
    plain = _is_of_doubles(scenario)
    return bench.reliance.isolated(scenario) if plain or not bench.reliance.failing(KEPT_DTYPES) else None


def with_right_views(check: FamilyCheck, scenario: Scenario, _: Finding, bench: Bench) -> bool:
    """Return True if the operators that make views in the scenario are right."""
    return views_are_right(scenario, check.operator_name, check.id, bench.reliance)


OPERATORS: Final = Family("operators", _by_itself, reports=with_right_views, met=_isolated, is_about=lambda _: True)


def verdict_on(bench: Bench, operator: str) -> Verdict:
    """Return the verdict on an operator's value and gradient."""
    return bench.grade(OPERATORS.check(operator))


def on_large_arrays(check: FamilyCheck, verdict: Verdict, bench: Bench, scenarios: Iterable[Scenario]) -> Verdict:
    """Return the verdict on an operator that passed on smaller arrays, after these scenarios, too.

    It counts the scenarios that agree, and were therefore not certified.
    """
    tried = screened = 0
    for scenario in scenarios:
        tried += 1
        if agrees(scenario, bench.engine):
            screened += 1
            continue
        certified = _certified(_smallest(scenario, check, bench), check, bench) or _certified(scenario, check, bench)
        if certified is not None:
            return bench.verdict_of(check, certified, examples=verdict.examples + tried)
    return replace(verdict, examples=verdict.examples + tried, screened=screened)


def _smallest(scenario: Scenario, check: FamilyCheck, bench: Bench) -> Scenario:
    """Return the smallest scenario that disagrees in any way, or fails if it is small enough to be certified."""
    before = bench.engine.runner.endings

    def differs(candidate: Scenario) -> bool:
        if bench.engine.runner.endings - before >= SEARCH["most_crashed"] or not bench.reliance.runnable(candidate):
            return False
        if sum(leaf.value.size for leaf in candidate.leaves) < NUMBERS["operators"]["certified_below"]:
            return bench.examine(candidate, check).failed
        return not agrees(candidate, bench.engine)

    return generation.shrink(scenario, differs, NUMBERS["operators"]["shrinks_of_large"])


def _certified(scenario: Scenario, check: FamilyCheck, bench: Bench) -> Demonstration | None:
    """Return the certified failure of the operator in a scenario, or None."""
    finding = bench.examine(scenario, check)
    if not finding.failed or check.explains(scenario, finding, bench) or not check.reports(scenario, finding, bench):
        return None
    return Demonstration(scenario, finding)


def repeated(check: FamilyCheck, bench: Bench) -> Verdict | None:
    """Apply an operator repeatedly, and return the verdict if some of the runs, but not all, are wrong."""
    if not bench.engine.adapter.runs_here:
        return None
    scenarios = _scenarios(check.operator_name, bench)
    if any(bench.engine.absent(scenario) for scenario in scenarios):
        return None
    repetition = Repetition(bench.engine, scenarios, afresh=_is_afresh(bench))
    faults, again = _unstable(repetition, bench), replace(repetition, afresh=True)
    if not faults or not (repetition.afresh or _unstable(again, bench, REPEATED["more"])):
        return None
    worst = min(faults, key=lambda each: OUTCOMES.index(each.finding.outcome))
    verdict = bench.verdict_of(check, worst, examples=REPEATED["scenarios"])
    return replace(verdict, reproduction=(Code(replace(repetition, scenarios=[worst.scenario]).printed(PRINTED_RUNS)),))


def _is_afresh(bench: Bench) -> bool:
    """Return True if every run needs new leaves and seeds: they cannot be reset, or a backward writes to seeds."""
    resets = "zero_grad" in bench.engine.adapter.features and not bench.reliance.failing(ZEROING)
    return not (resets and bench.reliance.watches_seeds)


def _unstable(repetition: Repetition, bench: Bench, times: int = 1) -> list[Demonstration]:
    """Run scenarios repeatedly and return the faults of some of the runs, at most one of each scenario.

    The number of runs and the time limit of the profile are multiplied by ``times``.
    """
    runs = times * bench.settings.effort["runs"]
    try:
        results = repetition.run(runs, times * bench.settings.effort["seconds_of_runs"])
    except EndingError as error:
        ending = error.ending
        finding = Finding(ending.outcome, Died(detail=ending.detail, stderr=ending.stderr))
        return [Demonstration(repetition.scenarios[0], finding, 1, runs)]
    return list(_faults(repetition, results))


def _scenarios(operator: str, bench: Bench) -> list[Scenario]:
    """Return scenarios of one backward that read every gradient and the output, and that rely on nothing else."""
    profile = bench.profile(seeds=True, operators=frozenset({operator}), unused_leaves=0.0)
    seeds = range(bench.settings.seed, bench.settings.seed + REPEATED["scenarios"])
    return list(map(plain, map(bench.isolated(operator, profile), seeds)))


def _faults(repetition: Repetition, results: Sequence[Sequence[Repeated]]) -> Iterator[Demonstration]:
    """Yield the worst fault of each scenario whose runs differ in any bit."""
    for scenario, runs in zip(repetition.scenarios, results, strict=True):
        if len(runs) > 1:
            judged = [(each.seen, _finding(scenario, each, repetition)) for each in runs]
            failed = [(seen, finding) for seen, finding in judged if finding.failed]
            if failed:
                _, finding = min(failed, key=lambda each: OUTCOMES.index(each[1].outcome))
                yield Demonstration(scenario, finding, sum(seen for seen, _ in failed), sum(seen for seen, _ in judged))


def _finding(scenario: Scenario, run: Repeated, repetition: Repetition) -> Finding:
    """Return the finding of one result. An error is attributed to the backward, since its step is unknown."""
    adapter = repetition.engine.adapter
    observations = run.observations or tuple(
        Observation(error=run.error if isinstance(step, Backward) else None) for step in scenario.steps
    )
    return confront(predict(scenario, adapter.policy), observations, CertifiedOracle(scenario, adapter.dtype), adapter)
