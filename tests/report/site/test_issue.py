"""An issue can be filed as it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.facts import (
    Absent,
    Died,
    Dtype,
    Error,
    Evidence,
    Fact,
    Flag,
    Shape,
    Silence,
    Subject,
)
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.observation import Raised
from refgrad.native.statements import Code
from refgrad.report.findings import Script
from refgrad.report.site.issue import ending_of, issue_text, reason_of, source_of, title_of
from tests.report.example import VERDICTS, entry, observed, reading

VERDICT = replace(VERDICTS[4], reproduction=reading("x_grad = 0.1\n", ("gradient of x", "x_grad")))


def test_an_issue_has_the_sentence_the_program_the_statement_and_the_versions() -> None:
    text = issue_text(Script("example", "1", VERDICT, "3.12", "Linux x86_64"))
    assert text.startswith(
        "# Wrong first derivative: `exp(x)`\n\n"
        "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; example 1 gives 0.1.\n\n```python\n"
    )
    assert "assert math.isclose(got, 4.48" in text
    assert text.count("```") == 2
    assert f"exp is as it must be. Here `exp(x)` is: e to the x. Source: {source_of(VERDICT)}." in text
    assert text.endswith("Found with example 1, Python 3.12, Linux x86_64, by the check operators/exp of refgrad.\n")


def test_a_limit_has_its_reason() -> None:
    fact = replace(entry("nan"), qualifier="limit", reason="0 ** y is 0 for every y > 0.")
    text = issue_text(Script("example", "1", replace(VERDICT, evidence=Evidence(fact, 4))))
    assert "e to the x. At this point: 0 ** y is 0 for every y > 0. Source: " in text


def test_a_program_is_marked_as_of_its_language() -> None:
    assert "```cpp\n" in issue_text(Script("example", "1", VERDICT, language="cpp"))


X = Subject("gradient", "x")
RAISED = Raised("ValueError", "no", ("ValueError",))


@pytest.mark.parametrize(
    ("fact", "title"),
    [
        (Dtype(subject=X, seen="float64", expected="float32"), "Wrong dtype: `exp(x)`"),
        (Shape(subject=X, seen=(), expected=(2,)), "Wrong shape: `exp(x)`"),
        (Silence(expected_kinds=("freed-graph",)), "No error: `exp(x)`"),
        (Flag(seen="True", expected=False), "Wrong flag: `exp(x)`"),
        (Error(error=RAISED), "Unexpected error: `exp(x)`"),
        (Error(error=RAISED, expected=("freed",), expected_kinds=("freed-graph",)), "Violated: `exp(x)`"),
    ],
)
def test_a_title_says_what_is_wrong(fact: Fact, title: str) -> None:
    assert title_of(Script("example", "1", replace(VERDICT, evidence=Evidence(fact, 4)))) == title


def test_the_title_of_a_missing_gradient_says_whether_it_is_a_number() -> None:
    missing = replace(VERDICT, verdict="missing")
    assert title_of(Script("example", "1", missing)) == "Wrong gradient: `exp(x)`"
    assert title_of(Script("example", "1", replace(missing, evidence=observed("nan")))) == "Gradient is nan: `exp(x)`"
    absent = replace(missing, evidence=Evidence(Absent(subject=X), 4))
    assert title_of(Script("example", "1", absent)) == "Missing: `exp(x)`"


def test_the_title_of_a_behaviour_is_what_it_asks_and_that_of_a_value_what_is_computed() -> None:
    behaviour = all_behaviours()[0]
    told = title_of(Script("example", "1", replace(VERDICT, id=behaviour.id, operator="")))
    assert told == f"Wrong first derivative: {behaviour.statement.rstrip('.')}"
    forward = replace(VERDICT, scenario="x = leaf float64[] {0x1p+0}\na = exp x\n")
    assert title_of(Script("example", "1", forward)) == "Wrong first derivative: `exp(x)`"
    assert title_of(Script("example", "1", replace(VERDICT, scenario=""))) == (
        "Wrong first derivative: exp is as it must be"
    )


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        (VERDICT, "asserts what is right, and fails"),
        (replace(VERDICT, evidence=None), "shows what is wrong"),
        (replace(VERDICT, evidence=Evidence(Error(error=RAISED), 4)), "ends with the error that is told above"),
        (
            replace(VERDICT, evidence=Evidence(Absent(subject=X, error=RAISED), 4)),
            "ends with the error that is told above",
        ),
        (
            replace(VERDICT, verdict="crashed", evidence=Evidence(Died(detail="it died"), 4)),
            "ends its process, or does not answer",
        ),
        (
            replace(VERDICT, verdict="crashed", evidence=Evidence(Error(error=RAISED), 4)),
            "ends with the error that is told above",
        ),
    ],
)
def test_it_is_told_how_a_program_ends(verdict: Verdict, ending: str) -> None:
    assert ending_of(Script("example", "1", verdict)) == ending


def test_a_program_does_not_end_its_block() -> None:
    odd = replace(VERDICT, reproduction=(Code("x = '```'\nprint(x)\n"),))
    assert issue_text(Script("example", "1", odd)).count("```") == 2


def test_a_behaviour_has_its_own_source_and_reason() -> None:
    behaviour = all_behaviours()[0]
    verdict = replace(VERDICT, id=behaviour.id, operator="")
    assert (source_of(verdict), reason_of(verdict)) == (behaviour.source, behaviour.rationale)
    unknown = replace(VERDICT, id="graphs/none", operator="")
    assert (source_of(unknown), reason_of(unknown)) == ("", "")
