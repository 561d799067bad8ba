"""The text of an issue that is ready to be filed, and the source of the statement that a finding violates."""

from __future__ import annotations

from functools import cache

from refgrad.facts import Entry, Error, Fact
from refgrad.grading.checks.behaviours import Behaviour, all_behaviours
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_line, plain_text
from refgrad.operators import operator_table
from refgrad.operators.table import signature
from refgrad.report import CHARACTERS
from refgrad.report.findings import Script, expression
from refgrad.report.pages import markdown_templates


def issue_text(script: Script) -> str:
    """Return a finding as Markdown: a title, the sentence, the program, what it violates, and the versions."""
    verdict, source = script.verdict, source_of(script.verdict)
    reasons = [verdict.statement, reason_of(verdict), operator_sentence(verdict), edge_sentence(verdict)]
    because = " ".join(filter(None, [*reasons, source and f"Source: {source}."]))
    program = script.program.replace("```", "'''").rstrip()
    page = markdown_templates().get_template("issue.md.jinja")
    text = page.render(script=script, title=title_of(script), program=program, because=because).removesuffix("\n")
    return plain_text(text, CHARACTERS["issue"]) + "\n"


def title_of(script: Script) -> str:
    """Return a short title: the kind of the failure, and the behaviour, expression or statement that it concerns."""
    what = statement_of(script.verdict.id) or expression(script.verdict) or script.verdict.statement
    kind = (script.verdict.fact or Fact()).title(str(script.severity))
    return plain_line(f"{kind}: {what}".rstrip("."), CHARACTERS["issue_title"])


def operator_sentence(verdict: Verdict) -> str:
    """Return a sentence on the operator of a verdict, by refgrad's name for it, or no text if there is none."""
    row = operator_table().get(verdict.operator)
    return "" if row is None else f"Here `{row.name}{signature(row)}` is: {row.summary}."


def edge_sentence(verdict: Verdict) -> str:
    """Return a sentence on why a limit is the right number, or no text if the number is not a limit."""
    fact = verdict.fact
    return f"At this point: {fact.reason.rstrip('.')}." if isinstance(fact, Entry) and fact.qualifier == "limit" else ""


def ending_of(script: Script) -> str:
    """Return a sentence about how the program of a finding ends."""
    fact = script.verdict.fact
    if script.verdict.verdict in {"crashed", "hung"} and not isinstance(fact, Error):
        return "ends its process, or does not answer"
    if fact is not None and fact.raised is not None:
        return "ends with the error that is told above"
    return "asserts what is right, and fails" if script.printed.fails else "shows what is wrong"


def source_of(verdict: Verdict) -> str:
    """Return the source of the statement of a check: that of a behaviour, or of an operator's formula."""
    return str(getattr(_behaviours().get(verdict.id) or operator_table().get(verdict.operator), "source", ""))


def reason_of(verdict: Verdict) -> str:
    """Return the rationale of a behaviour, or no text for a check that is not a behaviour."""
    return str(getattr(_behaviours().get(verdict.id), "rationale", ""))


def statement_of(check: str) -> str:
    """Return the statement of a behaviour, or no text for a check that is not a behaviour."""
    return str(getattr(_behaviours().get(check), "statement", ""))


@cache
def _behaviours() -> dict[str, Behaviour]:
    return {each.id: each for each in all_behaviours()}
