"""An operator that is applied again and again: what differs from one run to the next is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from refgrad.generation import operator_scenario
from refgrad.grading.checks.check import Check
from refgrad.grading.judging.evidence import Died
from refgrad.grading.judging.examination import confront
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Verdict
from refgrad.grading.search import Demonstration
from refgrad.lifecycle import predict
from refgrad.native.library import EndingError
from refgrad.native.observation import Observation
from refgrad.native.repetition import SHOWN, Repeated, Repetition, plain
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Backward, Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

SCENARIOS: Final = 2
"""How many scenarios of one operator are run in turn, so that another graph lies between two runs of one."""

ROUNDS: Final[Mapping[str, int]] = MappingProxyType({"smoke": 25, "standard": 200, "thorough": 2000})
"""How often each is run, by profile. Where there is time for all rounds of the standard one, a rule that is wrong once
in a hundred applications escapes them in fewer than 2 % of all cases, and what a check tries besides in fewer still."""

LIMITS: Final[Mapping[str, float]] = MappingProxyType({"smoke": 0.003, "standard": 0.012, "thorough": 2.0})
"""Seconds of processor time that they may take: a slow engine does fewer runs."""

MORE: Final = 10
"""So many times as many runs tell chance from a backward that writes to its seed, which the contract's check tells."""

ZEROING: Final = "accumulation/zeroing_forgets"
"""The behaviour without which a leaf cannot be used in another run."""


def repeated(check: Check, bench: Bench) -> Verdict | None:
    """Apply an operator again and again; return the verdict where some of the runs, and not all, are wrong."""
    if bench.engine.adapter.language != "python":
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
    return replace(verdict, reproduction=replace(repetition, scenarios=[worst.scenario]).printed(SHOWN))


def _is_afresh(bench: Bench) -> bool:
    """Whether leaves and seeds must be made in every run: they cannot be reset, or a backward writes to them."""
    resets = "zero_grad" in bench.engine.adapter.features and not bench.reliance.failing(ZEROING)
    return not (resets and bench.reliance.watches_seeds)


def _found(repetition: Repetition, profile: str, times: int = 1) -> list[Demonstration]:
    """Run scenarios again and again, and return the faults of some of the runs, at most one of each scenario.

    They are run ``times`` as often, and as long, as the profile says.
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
    """Yield what is wrong with the runs of each scenario whose runs differ in a bit."""
    for scenario, runs in zip(repetition.scenarios, shown, strict=True):
        if len(runs) > 1:
            judged = [(each.seen, _finding(scenario, each, repetition)) for each in runs]
            failed = [(seen, finding) for seen, finding in judged if finding.failed]
            if failed:
                _, finding = min(failed, key=lambda each: OUTCOMES.index(each[1].outcome))
                yield Demonstration(scenario, finding, sum(seen for seen, _ in failed), sum(seen for seen, _ in judged))


def _finding(scenario: Scenario, run: Repeated, repetition: Repetition) -> Finding:
    """Return what one of the results is; an error is one of the backward, as it is not known where it was raised."""
    adapter = repetition.engine.adapter
    observations = run.observations or tuple(
        Observation(error=run.error if isinstance(step, Backward) else None) for step in scenario.steps
    )
    return confront(predict(scenario, adapter.policy), observations, CertifiedOracle(scenario, adapter.dtype), adapter)
