"""Exercises: programs with known numbers, for failures that appear late, in some runs, or with several tensors at once.

They are run on an engine, and the numbers that they note are compared with the expected ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Error
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import OUTCOMES, Outcome
from refgrad.grading.measurements.programs import MeasuredProgram, Reading, rows
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, Library, RaisedError, function


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise(MeasuredProgram):
    """A program that notes numbers under labels, and the expected number of each label.

    ``expected`` has an integer for each label, or False if no gradient is expected, in which case zero is right as
    well. Each label may be noted many times.
    """

    expected: Mapping[str, Any]


EXERCISES: Final = MappingProxyType({name: Exercise(**row) for name, row in rows("exercises").items()})
"""Exercises by the name that rows of behaviours use."""

NOTES: Final = """\
def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def less(array, subtrahend):
    return None if array is None else number(array) - subtrahend


def note(label, array):  # count how often which number came
    counts = noted.setdefault(label, {})
    counts[number(array)] = counts.get(number(array), 0) + 1


noted = {}
"""


def measure_exercises(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Reading:  # noqa: ARG001
    """Run exercises, compare all noted numbers, and return the worst result, without unsupported exercises."""
    results = [_result_of(EXERCISES[case], Library(engine)) for case in parameters["cases"]]
    tried = [each for each in results if each.outcome != "unsupported"]
    worst = min(tried or results, key=lambda each: OUTCOMES.index(each.outcome))
    return replace(worst, examples=max(1, len(tried)))


def exercises_script(engine: Engine, parameters: Mapping[str, Any]) -> str:
    """Return the program of the first exercise that the engine supports."""
    library = Library(engine)
    offered = [EXERCISES[case] for case in parameters["cases"] if not EXERCISES[case].lacking(library)]
    return _program(exercise_text(offered[0], library), library) if offered else ""


def _result_of(exercise: Exercise, library: Library) -> Reading:
    if lacking := exercise.lacking(library):
        return Reading("unsupported", f"the engine has no {lacking}")
    text = exercise_text(exercise, library)
    program = _program(text, library)
    try:
        (seen,) = library.run(text, timed=False)
    except RaisedError as error:
        if "NotImplementedError" in error.raised.bases:
            raise
        message, fact = f"{exercise.what}: raised {error}", Error(error=error.raised)
        return Reading("unexpected-error", message, program, fact=fact, operators=exercise.operators)
    except EndingError as error:
        return Reading(error.ending.outcome, f"{exercise.what}: {error.ending.detail}", program)
    noted = {label: [tuple(each) for each in counts] for label, counts in seen.data}
    faults = list(chain.from_iterable(_of_label(*row, noted.get(row[0], [])) for row in exercise.expected.items()))
    if not faults:
        return Reading("passed", f"{exercise.what}: all numbers are right")
    outcome, message = min(faults, key=lambda fault: OUTCOMES.index(fault[0]))
    return Reading(outcome, f"{exercise.what}: {message}", program, operators=exercise.operators)


def _program(text: str, library: Library) -> str:
    """Return the program that prints the noted numbers."""
    return library.shown(text, "\n", "for label, counts in attempt():", "    print(label, counts)")


def exercise_text(exercise: Exercise, library: Library) -> str:
    """Return the text of ``attempt()``, which does an exercise and returns how often which number was noted."""
    after = "return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]"
    lines = ["noted.clear()", *exercise.lines(library), after]
    return "\n\n".join(["import gc\nimport threading\n", NOTES, function("attempt()", lines)])


def _of_label(label: str, expected: Any, counts: Sequence[tuple[float | None, int]]) -> Iterator[tuple[Outcome, str]]:
    """Yield the failures of a label, as outcome and message."""
    right = {None, 0.0} if expected is False else {expected}
    runs = sum(count for _, count in counts)
    wrong = [(number, count) for number, count in counts if number not in right]
    if not counts:
        yield "missing", f"{label} was never noted"
    for number, _ in wrong[:1]:
        often = "" if runs == 1 else f", in {sum(count for _, count in wrong)} of {runs} runs"
        if number is None:
            yield "missing", f"{label} is missing{often}"
        else:
            yield "wrong", f"{label} is {number!r}, but it should be {expected or 0.0!r}{often}"
