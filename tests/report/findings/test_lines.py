"""The lines of a printed program are read as they are run."""

from __future__ import annotations

import ast

import pytest

from refgrad.grading.judging.evidence import Evidence
from refgrad.report.findings.lines import Program, printed
from tests.report.example import entry

LINES = ("a = 3", "print(a, a.dtype)  # value of a")


def test_what_a_line_prints_are_the_arguments_of_its_call() -> None:
    assert [ast.unparse(each) for each in printed("    print(n, 3 * f(x))")] == ["n", "3 * f(x)"]


@pytest.mark.parametrize("line", ["print", "show(a)", "x.print(a)", "x = print(a)", "print(a); print(b)"])
def test_a_line_that_is_no_call_of_print_is_an_error(line: str) -> None:
    with pytest.raises(LookupError, match="prints nothing"):
        printed(line)


@pytest.mark.parametrize(
    ("said", "assertion"),
    [("a is missing", 'assert got is 3, "a is missing"'), ("a is {got}", 'assert got is 3, f"a is {got}"')],
)
def test_a_look_becomes_an_assertion_on_what_it_shows(said: str, assertion: str) -> None:
    program = Program(LINES, Evidence(entry("0.1")), None)

    text = program.asserting(
        "value of a", lambda shown, dtype: f"{ast.unparse(dtype)} of {ast.unparse(shown)}", "got is 3", said
    )
    assert text == f"a = 3\ngot = a.dtype of a\n{assertion}\n"


def test_an_error_that_was_only_printed_is_passed_over() -> None:
    attempt = ["try:", "    f(x)", "except Exception as error:", '    print(f"{type(error).__name__}: {error}")']
    program = Program([*attempt, "print(x)", *LINES], Evidence(entry("0.1")), None)
    text = program.asserting("value of a", lambda shown, _: ast.unparse(shown), "got == 3", "a is {got}")
    assert text.startswith("try:\n    f(x)\nexcept Exception:\n    pass\na = 3\ngot = a\n")
    ast.parse(text)


def test_what_reads_the_tensors_of_a_library_that_is_not_known_stays() -> None:
    shown = ast.parse("None if a.grad is None else numbers(a.grad)", mode="eval").body
    known, unknown = (Program(LINES, Evidence(entry("0.1")), None, known=known) for known in (True, False))
    assert (known.bare(shown), known.told(shown)) == ("a.grad", "a.grad")
    assert (unknown.bare(shown), unknown.told(shown)) == ("numbers(a.grad)", ast.unparse(shown))
