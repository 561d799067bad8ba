"""What the suite says of a reference engine that has forgotten a rule."""

from __future__ import annotations

from collections import Counter

from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.families import all_checks, check_named
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.scenario import parse
from tests.faulty_engines.fault import is_measured
from tests.faulty_engines.stateful.stateful_fault import StatefulFault, broken_engine
from tests.grading.sparing import TrustingBench

STANDARD = Settings("standard")


def stateful_verdict(fault: StatefulFault, bench: type[Bench] = TrustingBench, seed: int = 0) -> Verdict:
    """Return the verdict of the standard profile's random lifecycles on the engine that has the fault."""
    with broken_engine(fault) as engine:
        return bench(engine, Settings("standard", seed=seed)).grade(check_named("lifecycles/random"))


def broken_behaviours(fault: StatefulFault) -> Counter[str]:
    """Return how many behaviours the engine fails, by chapter; measured ones have broken engines of their own."""
    checks = [check for check in all_checks() if isinstance(check, BehaviourCheck) and not is_measured(check)]
    with broken_engine(fault) as engine:
        bench = Bench(engine, STANDARD)
        return Counter(verdict.chapter for verdict in map(bench.grade, checks) if verdict.failed)


def step_count(verdict: Verdict) -> int:
    """The number of steps of the scenario that shows what a verdict says; none if it shows none."""
    return len(parse(verdict.scenario).steps) if verdict.scenario else 0
