"""An issue can be filed as it stands."""

from __future__ import annotations

from dataclasses import replace

from refgrad.grading.checks.statements.behaviours import all_behaviours
from refgrad.report.findings import Script
from refgrad.report.site.issue import issue_text, reason_of, source_of
from tests.report.example import VERDICTS

VERDICT = replace(VERDICTS[4], reproduction="x_grad = 0.1\nprint(x_grad)  # gradient of x\n")


def test_an_issue_has_the_sentence_the_program_the_statement_and_the_versions() -> None:
    text = issue_text(Script("example", "1", VERDICT, "3.12", "Linux x86_64"))
    assert text.startswith(
        "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; example 1 gives 0.1.\n\n```python\n"
    )
    assert "assert math.isclose(got, 4.48" in text
    assert text.count("```") == 2
    assert f"exp is as it must be. Source: {source_of(VERDICT)}" in text
    assert text.endswith("Found with example 1, Python 3.12, Linux x86_64.\n")


def test_a_program_does_not_end_its_block() -> None:
    odd = replace(VERDICT, reproduction="x = '```'\nprint(x)\n")
    assert issue_text(Script("example", "1", odd)).count("```") == 2


def test_a_behaviour_has_its_own_source_and_reason() -> None:
    behaviour = all_behaviours()[0]
    verdict = replace(VERDICT, id=behaviour.id, operator="")
    assert (source_of(verdict), reason_of(verdict)) == (behaviour.source, behaviour.rationale)
    unknown = replace(VERDICT, id="graphs/none", operator="")
    assert (source_of(unknown), reason_of(unknown)) == ("", "")
