"""Measurement by exercises: run them on an engine and compare the noted numbers with the expected ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Error
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import OUTCOMES, Outcome
from refgrad.grading.measurements.exercises.delayed import DELAYED
from refgrad.grading.measurements.exercises.exercise import Exercise
from refgrad.grading.measurements.exercises.regions import REGIONS, SEVERAL
from refgrad.grading.measurements.exercises.threads import THREADS
from refgrad.grading.measurements.result import Reading
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, Library, RaisedError, function
from refgrad.native.observation import Raised

EXERCISES: Final[Mapping[str, Exercise]] = MappingProxyType({**DELAYED, **SEVERAL, **THREADS, **REGIONS})
"""Exercises by the name that rows use."""

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
    offered = [EXERCISES[case] for case in parameters["cases"] if not _lacking(EXERCISES[case], library)]
    return _program(_text(offered[0], library), library) if offered else ""


def _result_of(exercise: Exercise, library: Library) -> Reading:
    lacking = _lacking(exercise, library)
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    text = _text(exercise, library)
    try:
        (seen,) = library.run(text, timed=False)
    except RaisedError as error:
        return _raised(exercise, error, _program(text, library))
    except EndingError as error:
        message = f"{exercise.what}: {error.ending.detail}"
        return Reading(error.ending.outcome, message, _program(text, library))
    faults = list(_faults(exercise, {label: [tuple(each) for each in counts] for label, counts in seen.data}))
    if not faults:
        return Reading("passed", f"{exercise.what}: all numbers are right")
    outcome, message = min(faults, key=lambda fault: OUTCOMES.index(fault[0]))
    return Reading(outcome, f"{exercise.what}: {message}", _program(text, library), operators=exercise.operators)


def _program(text: str, library: Library) -> str:
    """Return the program that prints the noted numbers."""
    return library.shown(text, "\n", "for label, counts in attempt():", "    print(label, counts)")


def _lacking(exercise: Exercise, library: Library) -> str:
    if library.tape is None and exercise.functional is None:
        return "tape"
    fields = (name for name in exercise.fields if not getattr(library.engine.adapter, name, None))
    return library.lacks(exercise.operators, exercise.features) or next(fields, "")


def _text(exercise: Exercise, library: Library) -> str:
    body = exercise.tape if library.tape else exercise.functional
    assert body is not None
    after = "return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]"
    lines = ["noted.clear()", *body(library), after]
    return "\n\n".join(["import gc\nimport threading\n", NOTES, function("attempt()", lines)])


def _raised(exercise: Exercise, error: RaisedError, program: str) -> Reading:
    if "NotImplementedError" in error.bases:
        raise error
    fact = Error(error=Raised(error.type, str(error).removeprefix(f"{error.type}: "), tuple(error.bases)))
    message = f"{exercise.what}: raised {error}"
    return Reading("unexpected-error", message, program, fact=fact, operators=exercise.operators)


Counts = Sequence[tuple[float | None, int]]


def _faults(exercise: Exercise, noted: Mapping[str, Counts]) -> Iterator[tuple[Outcome, str]]:
    """Yield the failures of each label, as outcome and message."""
    return chain.from_iterable(_of_label(label, n, noted.get(label, [])) for label, n in exercise.expected.items())


def _of_label(label: str, expected: float | None, counts: Counts) -> Iterator[tuple[Outcome, str]]:
    runs = sum(count for _, count in counts)
    wrong = [(number, count) for number, count in counts if not _is_right(number, expected)]
    if not counts:
        yield "missing", f"{label} was never noted"
    for number, _ in wrong[:1]:
        often = "" if runs == 1 else f", in {sum(count for _, count in wrong)} of {runs} runs"
        if number is None:
            yield "missing", f"{label} is missing{often}"
        else:
            yield "wrong", f"{label} is {number!r}, but it should be {expected or 0.0!r}{often}"


def _is_right(number: float | None, expected: float | None) -> bool:
    return number in {None, 0.0} if expected is None else number == expected
