"""Check of one operator on large arrays, which are screened, and certified only where they disagree.

Certifying every entry of such an array takes seconds, so most are only compared with what is known of them. A scenario
that disagrees is shrunk as long as it does, and then certified: no verdict rests on a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from refgrad.generation import shrink
from refgrad.grading.judging.screening import agrees
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.search import MOST_CRASHED, Demonstration
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench
    from refgrad.grading.checks.check import Check

SHRINKS: Final = 150
"""Largest number of attempts to make a large scenario smaller. Each takes some hundredths of a second."""

CERTIFIED_BELOW: Final = 300
"""Number of entries of all leaves below which a scenario is certified at once, as all others are."""


def on_large_arrays(check: Check, verdict: Verdict, bench: Bench, scenarios: Iterable[Scenario]) -> Verdict:
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
            return bench.shown(check, certified, examples=verdict.examples + tried)
    return replace(verdict, examples=verdict.examples + tried, screened=screened)


def _smallest(scenario: Scenario, check: Check, bench: Bench) -> Scenario:
    """Return the smallest scenario that disagrees in any way, or fails if it is small enough to be certified."""
    before = bench.engine.runner.endings

    def differs(candidate: Scenario) -> bool:
        if bench.engine.runner.endings - before >= MOST_CRASHED or not bench.reliance.runnable(candidate):
            return False
        if sum(leaf.value.size for leaf in candidate.leaves) < CERTIFIED_BELOW:
            return bench.examine(candidate, check).failed
        return not agrees(candidate, bench.engine)

    return shrink(scenario, differs, SHRINKS)


def _certified(scenario: Scenario, check: Check, bench: Bench) -> Demonstration | None:
    """Return the certified failure of the operator in a scenario, or None."""
    finding = bench.examine(scenario, check)
    if not finding.failed or check.explains(scenario, finding, bench) or not check.reports(scenario, finding, bench):
        return None
    return Demonstration(scenario, finding)
