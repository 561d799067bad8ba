"""The text of an issue that can be filed as it stands, and the source of the statement that a finding violates."""

from __future__ import annotations

from functools import cache
from typing import Final

from refgrad.grading.checks.statements.behaviours import Behaviour, all_behaviours
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_text
from refgrad.operators import operator_table
from refgrad.report.findings import Script

LONGEST: Final = 60_000
"""Characters of an issue, and of one value on a page."""


def issue_text(found: Script) -> str:
    """Return a finding as Markdown: the sentence, the program, and what it was found with."""
    ticks = "```"
    program = found.program.replace(ticks, "'''").rstrip()
    source = source_of(found.verdict)
    because = (
        [f"{found.verdict.statement}" + (f" Source: {source}" if source else "")] if found.verdict.statement else []
    )
    parts = [found.sentence, f"{ticks}python\n{program}\n{ticks}", *because, f"Found with {found.environment}."]
    return plain_text("\n\n".join(parts), LONGEST) + "\n"


def source_of(verdict: Verdict) -> str:
    """Return where the statement of a check comes from: the source of a behaviour, or of an operator's formula."""
    if behaviour := _behaviours().get(verdict.id):
        return behaviour.source
    operator = operator_table().get(verdict.operator)
    return "" if operator is None else operator.source


def reason_of(verdict: Verdict) -> str:
    """Return why a behaviour is asked for, nothing for what is no behaviour."""
    behaviour = _behaviours().get(verdict.id)
    return "" if behaviour is None else behaviour.rationale


def statement_of(check: str) -> str:
    """Return what a behaviour asks, nothing for what is no behaviour."""
    behaviour = _behaviours().get(check)
    return "" if behaviour is None else behaviour.statement


@cache
def _behaviours() -> dict[str, Behaviour]:
    return {each.id: each for each in all_behaviours()}
