"""Repeated application of one operator. Results that differ between runs are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from refgrad.facts import Died
from refgrad.generation import operator_scenario
from refgrad.grading.checks.check import Check
from refgrad.grading.judging.examination import confront
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Verdict
from refgrad.grading.search import Demonstration
from refgrad.lifecycle import predict
from refgrad.native.library import EndingError
from refgrad.native.observation import Observation
from refgrad.native.repetition import SHOWN, Repeated, Repetition, plain
from refgrad.native.statements import Code
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Backward, Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

SCENARIOS: Final = 2
"""Number of scenarios of an operator that are run in turn, so that another graph lies between two runs of one."""

ROUNDS: Final[Mapping[str, int]] = MappingProxyType({"smoke": 25, "standard": 200, "thorough": 2000})
"""Number of runs of each scenario, by profile.

If there is time for all rounds of the standard profile, a rule that is wrong once in a hundred applications is missed
in fewer than 2 % of all cases, and in fewer still with everything else that a check tries.
"""

LIMITS: Final[Mapping[str, float]] = MappingProxyType({"smoke": 0.003, "standard": 0.012, "thorough": 2.0})
"""Seconds of processor time for all runs, by profile. A slow engine does fewer runs."""

MORE: Final = 10
"""Factor of the number of runs that distinguish random failures from a backward that writes to its seed.

The check of contracts reports the latter.
"""

ZEROING: Final = "accumulation/zeroing_forgets"
"""Id of the behaviour without which a leaf cannot be reused in another run."""


def repeated(check: Check, bench: Bench) -> Verdict | None:
    """Apply an operator repeatedly, and return the verdict if some of the runs, but not all, are wrong."""
    if not bench.engine.adapter.runs_here:
        return None
    scenarios = _scenarios(check.operator_name, bench)
    if any(bench.engine.absent(scenario) for scenario in scenarios):
        return None
    repetition = Repetition(bench.engine, scenarios, afresh=_is_afresh(bench))
    found = _found(repetition, bench.settings.profile)
    if not found or not (repetition.afresh or _found(replace(repetition, afresh=True), bench.settings.profile, MORE)):
        return None
    worst = min(found, key=lambda each: OUTCOMES.index(each.finding.outcome))
    verdict = bench.shown(check, worst, examples=SCENARIOS)
    return replace(verdict, reproduction=(Code(replace(repetition, scenarios=[worst.scenario]).printed(SHOWN)),))


def _is_afresh(bench: Bench) -> bool:
    """Return True if every run needs new leaves and seeds: they cannot be reset, or a backward writes to seeds."""
    resets = "zero_grad" in bench.engine.adapter.features and not bench.reliance.failing(ZEROING)
    return not (resets and bench.reliance.watches_seeds)


def _found(repetition: Repetition, profile: str, times: int = 1) -> list[Demonstration]:
    """Run scenarios repeatedly and return the faults of some of the runs, at most one of each scenario.

    The number of runs and the time limit of the profile are multiplied by ``times``.
    """
    try:
        shown = repetition.run(times * ROUNDS[profile], times * LIMITS[profile])
    except EndingError as error:
        ending = error.ending
        finding = Finding(ending.outcome, Died(detail=ending.detail, stderr=ending.stderr))
        return [Demonstration(repetition.scenarios[0], finding, 1, times * ROUNDS[profile])]
    return list(_faults(repetition, shown))


def _scenarios(operator: str, bench: Bench) -> list[Scenario]:
    """Return scenarios of one backward that read every gradient and the output, and that rely on nothing else."""
    profile = bench.profile(seeds=True, operators=frozenset({operator}), unused_leaves=0.0)
    seeds = range(bench.settings.seed, bench.settings.seed + SCENARIOS)
    return [plain(bench.reliance.isolated(operator_scenario(seed, operator, profile))) for seed in seeds]


def _faults(repetition: Repetition, shown: Sequence[Sequence[Repeated]]) -> Iterator[Demonstration]:
    """Yield the worst fault of each scenario whose runs differ in any bit."""
    for scenario, runs in zip(repetition.scenarios, shown, strict=True):
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
