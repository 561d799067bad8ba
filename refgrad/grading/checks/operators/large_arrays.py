"""One operator on arrays of thousands and of tens of thousands of entries: screened, and certified where that differs.

To certify every entry of such an array takes seconds, so most are only compared with what is known of them. What does
not agree is made smaller for as long as it does not, and then certified: no verdict rests on a comparison.
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
"""How often it is tried to make a large scenario smaller: each of them takes some hundredths of a second."""

CERTIFIED_BELOW: Final = 300
"""A scenario with fewer numbers is certified at once, as all others are."""


def on_large_arrays(check: Check, verdict: Verdict, bench: Bench, scenarios: Iterable[Scenario]) -> Verdict:
    """Return the verdict on an operator that smaller arrays show no fault of, after these scenarios too.

    It counts those that agree, and were therefore not certified.
    """
    tried = screened = 0
    for scenario in scenarios:
        tried += 1
        if agrees(scenario, bench.engine):
            screened += 1
            continue
        found = _certified(_smallest(scenario, check, bench), check, bench) or _certified(scenario, check, bench)
        if found is not None:
            return bench.shown(check, found, examples=verdict.examples + tried)
    return replace(verdict, examples=verdict.examples + tried, screened=screened)


def _smallest(scenario: Scenario, check: Check, bench: Bench) -> Scenario:
    """Return the smallest scenario that is known here to differ, whatever of."""
    before = bench.engine.runner.endings

    def differs(candidate: Scenario) -> bool:
        if bench.engine.runner.endings - before >= MOST_CRASHED or not bench.reliance.runnable(candidate):
            return False
        if sum(leaf.value.size for leaf in candidate.leaves) < CERTIFIED_BELOW:
            return bench.examine(candidate, check).failed
        return not agrees(candidate, bench.engine)

    return shrink(scenario, differs, SHRINKS)


def _certified(scenario: Scenario, check: Check, bench: Bench) -> Demonstration | None:
    """Return what a scenario shows beyond doubt to be wrong with the operator, if anything."""
    finding = bench.examine(scenario, check)
    if not finding.failed or check.excuses(scenario, finding, bench) or not check.owns(scenario, finding, bench):
        return None
    return Demonstration(scenario, finding)
