"""What does the suite say of a reference engine that has forgotten a rule?"""

from __future__ import annotations

from collections import Counter

from refgrad.harness import Verdict
from refgrad.harness.checks import BehaviourCheck, LifecycleCheck, all_checks
from refgrad.harness.grading import Grader
from refgrad.harness.settings import Settings
from refgrad.operators import Operator
from refgrad.scenario import parse
from tests.faulty_engines.fault import is_probed
from tests.faulty_engines.life_fault import LifeFault, broken_engine

STANDARD = Settings("standard")


class LifeGrader(Grader):
    """Grades lifecycles only: that the engine's operators are right by themselves is taken for granted.

    To see for oneself takes most of the time of a run, and has nothing to do with lifecycles.
    """

    def sound(self, operator: Operator) -> bool:  # noqa: ARG002 (as a grader is asked)
        """Whether an operator is there and right by itself."""
        return True


def life_verdict(fault: LifeFault, grader: type[Grader] = LifeGrader) -> Verdict:
    """Return the verdict of the standard profile's random lifecycles on the engine that has the fault."""
    with broken_engine(fault) as engine:
        return grader(engine, STANDARD).grade(LifecycleCheck())


def broken_behaviours(fault: LifeFault) -> Counter[str]:
    """Return how many behaviours the engine fails, by chapter; probed ones have broken engines of their own."""
    checks = [check for check in all_checks() if isinstance(check, BehaviourCheck) and not is_probed(check)]
    with broken_engine(fault) as engine:
        grader = Grader(engine, STANDARD)
        return Counter(verdict.chapter for verdict in map(grader.grade, checks) if verdict.failed)


def step_count(verdict: Verdict) -> int:
    """The number of steps of the scenario that shows what a verdict says; none if it shows none."""
    return len(parse(verdict.scenario).steps) if verdict.scenario else 0
