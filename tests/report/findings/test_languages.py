"""Programs of findings in JavaScript, C++, Java and R assert what is right, as those of Python do."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.facts import Error, Evidence
from refgrad.facts.assertion import Condition
from refgrad.native.languages import LANGUAGES
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Code, Delete, Name, Show, Value
from refgrad.report.findings import Script
from refgrad.report.findings.languages import Printed, program, simplified
from tests.report.committed import committed_scripts
from tests.report.example import VERDICTS

ENGINES = ("tfjs", "js-pytorch", "adolc", "boost", "ceres", "cppad", "eigen", "sacado", "commons-math", "r-deriv")


def committed() -> list[Script]:
    return [script for name in ENGINES for script in committed_scripts(name)]


def test_every_file_ends_as_its_language_says() -> None:
    assert {(script.language, Path(script.file_name).suffix) for script in committed()} == {
        ("javascript", ".js"),
        ("cpp", ".cpp"),
        ("java", ".java"),
        ("r", ".R"),
    }


def test_what_is_wrong_in_a_number_is_asserted() -> None:
    chosen = {script.verdict.id: script for script in committed() if script.engine == "js-pytorch"}
    assert chosen["operators/integer_power"].program.rstrip().splitlines()[-2:] == [
        "var got = a.grad;",
        (
            'require("node:assert")(Math.abs(got - 1.0) <= 0.001 * Math.abs(1.0), '
            "`the gradient of a is ${got}, but it should be 1.0`);"
        ),
    ]


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        (Condition("nan", ""), ("Number.isNaN(got)", "std::isnan(got)", "Double.isNaN(got)", "is.nan(got)")),
        (
            Condition("small", "", high=1e-3),
            ("Math.abs(got) < 0.001", "std::abs(got) < 0.001", "Math.abs(got) < 0.001", "abs(got) < 0.001"),
        ),
        (Condition("between", "", 0.0, 1.0), ("0.0 <= got && got <= 1.0",) * 4),
        (
            Condition("same", "", -math.inf),
            ("got == -Infinity", "got == -INFINITY", "got == Double.NEGATIVE_INFINITY", "got == -Inf"),
        ),
        (
            Condition("close", "", 2.0, 1e-6),
            (
                "Math.abs(got - 2.0) <= 1e-06 * Math.abs(2.0)",
                "std::abs(got - 2.0) <= 1e-06 * std::abs(2.0)",
                "Math.abs(got - 2.0) <= 1e-06 * Math.abs(2.0)",
                "abs(got - 2.0) <= 1e-06 * abs(2.0)",
            ),
        ),
    ],
)
def test_conditions_are_those_of_the_language(condition: Condition, written: tuple[str, ...]) -> None:
    names = ("javascript", "cpp", "java", "r")
    assert tuple(condition.text(LANGUAGES[name]) for name in names) == written


def test_a_program_of_java_keeps_the_classes_behind_its_assertion() -> None:
    program = next(script.program for script in committed() if "final class Forward" in script.program)
    assert program.index("throw new AssertionError") < program.index("final class Forward")
    assert program.count("{") == program.count("}")


SUM = Call("{x} + {y}", {"x": Value(1), "y": Value(1)}, ("x",))
READ = Show("gradient of x", Call("{x}.grad", {"x": Name("x")}))


def test_a_program_that_ends_with_an_error_shows_nothing() -> None:
    raised = Error(error=Raised("Error", "no", ("Error",)))
    ended = replace(VERDICTS[4], verdict="unexpected-error", evidence=Evidence(raised, 4), reproduction=(SUM, READ))
    printed = program(ended, "", LANGUAGES["javascript"])
    assert (printed.text.strip(), printed.fails) == ("var x = 1 + 1;", True)


def test_a_statement_without_expressions_stays_as_it_is() -> None:
    assert simplified(Delete("x"), "") == Delete("x")


def test_code_of_a_measurement_is_printed_and_asserts_nothing() -> None:
    verdict = replace(VERDICTS[4], evidence=None, reproduction=(Code("a();"), Code("b();")))
    assert program(verdict, "", LANGUAGES["javascript"]) == Printed("a();\nb();", fails=False)
