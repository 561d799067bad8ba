"""Exercises: programs with known numbers, for failures that appear late, in some runs, or with several tensors at once.

They are run on an engine, and the numbers that they note are compared with the expected ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from refgrad.facts import Error, NotedNumber
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.programs import PROGRAMS, MeasuredProgram, Reading
from refgrad.grading.settings import Settings
from refgrad.native.library import Library, RaisedError, function
from refgrad.native.process import EndingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise(MeasuredProgram):
    """A program that notes numbers under labels, and the expected number of each label.

    ``expected`` has an integer for each label, or False if no gradient is expected, in which case zero is right as
    well. Each label may be noted many times.
    """

    expected: Mapping[str, Any]

    def measured(self, library: Library, parameters: Mapping[str, Any], _: Settings) -> Reading:
        """Run the exercise and compare all noted numbers."""
        program = self.script(library, parameters)
        try:
            (seen,) = library.run(self.text(library), timed=False)
        except RaisedError as error:
            if "NotImplementedError" in error.raised.bases:
                raise
            message, fact = f"{self.what}: raised {error}", Error(error=error.raised)
            return Reading("unexpected-error", message, program, fact=fact, operators=self.operators)
        except EndingError as error:
            return Reading(error.ending.outcome, f"{self.what}: {error.ending.detail}", program)
        noted = {label: [tuple(each) for each in counts] for label, counts in seen.data}
        faults = [fault for label in self.expected if (fault := self._fault(label, noted.get(label, [])))]
        if not faults:
            return Reading("passed", f"{self.what}: all numbers are right")
        worst = min(faults, key=lambda fault: fault.seen is None)  # a wrong number is worse than a missing one
        outcome: Outcome = "missing" if worst.seen is None else "wrong"
        return Reading(outcome, f"{self.what}: {worst.message()}", program, fact=worst, operators=self.operators)

    def _fault(self, label: str, counts: Sequence[tuple[float | None, int]]) -> NotedNumber | None:
        """Return the first wrong or missing number of a label, or None if all numbers are right."""
        right = {None, 0.0} if self.expected[label] is False else {self.expected[label]}
        wrong = [(number, count) for number, count in counts if number not in right]
        if counts and not wrong:
            return None
        seen = wrong[0][0] if wrong else None
        numbers = {each: repr(number or 0.0) for each, number in self.expected.items()}
        return NotedNumber(
            label=label,
            seen=None if seen is None else repr(seen),
            expected=numbers[label],
            wrong=sum(count for _, count in wrong),
            runs=sum(count for _, count in counts),
            numbers=tuple(numbers.items()),
        )

    def script(self, library: Library, _: Mapping[str, Any]) -> str:
        """Return the program that prints the noted numbers."""
        return library.program(self.text(library), "\n", "for label, counts in attempt():", "    print(label, counts)")

    def text(self, library: Library) -> str:
        """Return the text of ``attempt()``, which does the exercise and returns how often which number was noted."""
        after = "return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]"
        lines = ["noted.clear()", *self.lines(library), after]
        return "\n\n".join(["import gc\nimport threading\n", PROGRAMS["notes"], function("attempt()", lines)])


EXERCISES: Final = Exercise.rows("exercises")
"""Exercises by the name that rows of behaviours use."""
