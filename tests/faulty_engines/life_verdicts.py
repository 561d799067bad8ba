"""What does the suite say of a reference engine that has forgotten a rule?"""

from __future__ import annotations

from functools import cached_property

from refgrad.harness import Verdict
from refgrad.harness.checks import LifecycleCheck
from refgrad.harness.grading import Grader
from refgrad.harness.settings import Settings
from refgrad.operators import Operator
from tests.faulty_engines.life_fault import LifeFault, broken_engine


class LifeGrader(Grader):
    """Grades lifecycles at the standard profile; that operators are right by themselves is shown by a smoke run.

    That is most of the time of a standard run, and has nothing to do with lifecycles.
    """

    @cached_property
    def brief(self) -> Grader:
        """The same engine in a smoke run."""
        return Grader(self.engine, Settings("smoke"))

    def sound(self, operator: Operator) -> bool:
        """Whether an operator is there and right by itself."""
        return self.brief.sound(operator)


def life_verdict(fault: LifeFault, grader: type[Grader] = LifeGrader) -> Verdict:
    """Return the verdict of the standard profile's random lifecycles on the engine that has the fault."""
    with broken_engine(fault) as engine:
        return grader(engine, Settings("standard")).grade(LifecycleCheck())
