"""What a program looks at is the tensor itself, and stays what it is."""

from __future__ import annotations

import ast
from contextvars import copy_context
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.facts import Evidence, Fact, Measured, NotedNumber
from refgrad.grading.measurements import Measurement, script
from refgrad.grading.measurements.exercises import Exercise
from refgrad.grading.settings import Settings
from refgrad.native.engine import start
from refgrad.native.library import Library
from refgrad.native.statements import Call, Code, Show
from refgrad.report.findings.python import _read, bare, measured, python_program
from tests.effort import sampled
from tests.grading.measurements.test_exercises import BROKEN
from tests.grading.measurements.test_exercises import measured as measured_exercise
from tests.native.reference import ADAPTER
from tests.report.example import VERDICTS

GRADIENT = "None if a.grad is None else as_numpy(a.grad)"


@pytest.mark.parametrize(
    ("shown", "looked_at"),
    [
        ("as_numpy(a.grad.detach().clone())", "a.grad"),
        ("None if a.grad is None else np.asarray(a.grad)", "a.grad"),
        ("getattr(a.grad, 'dtype', None)", "a.grad.dtype"),
        ("getattr(a, 'f')", "a.f"),
        ("getattr(a, 'f', a)", "getattr(a, 'f', a)"),
        ("getattr(a, 'f', 0.0)", "getattr(a, 'f', 0.0)"),
    ],
)
def test_an_expression_is_told_without_copies(shown: str, looked_at: str) -> None:
    assert ast.unparse(bare(ast.parse(shown, mode="eval").body)) == looked_at


@pytest.mark.parametrize(
    ("way", "known", "other"),
    [
        ("tensor", "a.grad", "as_numpy(a.grad)"),
        ("maybe", "a.grad", GRADIENT),
        ("shown", GRADIENT, GRADIENT),
        ("unmasked", "as_numpy(a.grad)", "as_numpy(a.grad)"),
        ("dtype", f"({GRADIENT}).dtype", f"np.asarray({GRADIENT}).dtype"),
    ],
)
def test_what_is_read_of_a_tensor_depends_on_what_is_known_of_the_library(way: str, known: str, other: str) -> None:
    show = Show("the gradient", Call(GRADIENT))
    read = [ast.unparse(_read(show, way, known=library)) for library in (True, False)]
    assert read == [known, other]


@pytest.mark.parametrize(
    ("quantity", "code", "program"),
    [
        ("tensor", ["held", "print(x())", "rest"], 'held\ngot = x()\nassert got is None, "the tensor is still held"\n'),
        (
            "memory",
            ["print(1)", "print(attempt())"],
            (
                "print(1)\ngraph, got = attempt()\n"
                'assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"\n'
            ),
        ),
        (
            "growth",
            ["tracemalloc.start()", "print(attempt(7))"],
            (
                "tracemalloc.start()\nn = 7\nreadings = attempt(n)\n"
                "got = min(after - before for before, after in zip(readings, readings[1:]))\n"
                'assert got <= 8 * n, f"each of {n} iterations leaves {got / n:.0f} bytes behind"\n'
            ),
        ),
        (
            "time",
            ["import a", "for n in (1, 2):", "    b()", "    print(n, attempt(n))"],
            (
                "import a\nseconds = {}\nfor n in (1, 2):\n    b()\n    seconds[n] = attempt(n)\n\n"
                "_, first, *_, last = seconds  # the first size also pays for what happens once\n"
                "got = seconds[last] / seconds[first]\n"
                'assert got < (last / first) ** 1.5, f"the time grows by a factor of {got:.0f} '
                'where the size grows by one of {last / first:.0f}"\n'
            ),
        ),
    ],
)
def test_a_measurement_ends_with_an_assertion(quantity: Any, code: list[str], program: str) -> None:
    assert measured(Measured(quantity=quantity), code) == program


LOOP = ["def attempt(): ...", "for label, counts in attempt():", "    print(label, counts)"]


@pytest.mark.parametrize(
    ("seen", "expected", "runs", "end"),
    [
        (
            "2.0",
            "0.0",
            1,
            (
                "due = {'a': 0.0, 'b': 1.0}\nfor label, counts in attempt():\n    for got, _ in counts:\n"
                '        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"\n'
            ),
        ),
        (
            None,
            "0.0",
            1,
            ("got = [number for number, _ in dict(attempt()).get('a', [])]\nassert None not in got, 'a is missing'\n"),
        ),
        (
            None,
            "1.0",
            0,
            "got = [number for number, _ in dict(attempt()).get('a', [])]\nassert got, 'a was never noted'\n",
        ),
    ],
)
def test_an_exercise_ends_with_an_assertion(seen: str | None, expected: str, runs: int, end: str) -> None:
    numbers = (("a", expected), ("b", "1.0"))
    fact = NotedNumber(label="a", seen=seen, expected=expected, wrong=runs, runs=runs, numbers=numbers)
    assert measured(fact, LOOP) == f"{LOOP[0]}\n{end}"


def run(fact: Fact | None, code: str) -> None:
    """Run the printed program of an exercise with this code, which may leave the mode of recording as it must not."""
    assert fact is not None
    verdict = replace(VERDICTS[4], evidence=Evidence(fact), reproduction=(Code(code),), scenario="")
    printed = python_program(verdict, "", known=False)
    assert printed.fails
    copy_context().run(exec, printed.text, {})


@pytest.mark.parametrize("case", sampled(BROKEN, 3, turns=3))
def test_the_program_of_an_exercise_fails_on_the_faulty_engine_and_on_no_other(case: str) -> None:
    result = copy_context().run(measured_exercise, case, *BROKEN[case])
    if not isinstance(result.fact, NotedNumber):
        assert result.outcome == "unexpected-error"
        return
    with pytest.raises(AssertionError, match=r" is \S+, but it should be \S+$"):
        run(result.fact, str(result.program))
    run(result.fact, script(start(ADAPTER), Measurement("exercises", {"cases": [case]})))


RIGHT = st.sampled_from([False, 0.0, 1.0])
SEEN = st.lists(st.sampled_from([None, 0.0, 1.0, 2.0]), max_size=3)
ABSENT = st.sampled_from([None, 0.0])


@given(st.fixed_dictionaries({"a": RIGHT, "b": RIGHT}), st.fixed_dictionaries({"a": SEEN, "b": SEEN}), ABSENT)
def test_the_program_of_an_exercise_fails_whenever_a_number_is_wrong(
    expected: dict[str, float | bool], seen: dict[str, list[float | None]], absent: float | None
) -> None:
    def of(numbers: dict[str, list[Any]]) -> Exercise:
        notes = [f"note({label!r}, {number})" for label, each in numbers.items() for number in each]
        return Exercise(tape="\n".join(notes), expected=expected)

    library = Library(start(ADAPTER))
    result = of(seen).measured(library, {}, Settings("smoke"))
    assume(result.outcome != "passed")
    right = {label: [absent if number is False else number] for label, number in expected.items()}
    assert of(right).measured(library, {}, Settings("smoke")).outcome == "passed"
    run(result.fact, of(right).script(library, {}))
    with pytest.raises(AssertionError):
        run(result.fact, str(result.program))


@pytest.mark.parametrize("line", ["x = 1", "print(1); x"])
def test_a_program_that_prints_nothing_has_no_assertion(line: str) -> None:
    with pytest.raises(LookupError, match="prints nothing"):
        measured(Measured(quantity="tensor"), [line])
