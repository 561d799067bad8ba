"""Output of a run for GitHub Actions: annotations, and the summary of a step.

Much of the text comes from engines, and is escaped. An annotation is one line, and is escaped by ``%``. In a summary,
such text is escaped for HTML and for Markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from refgrad.grading.judging.verdict import OUTCOMES, Totals, Verdict
from refgrad.native.text import plain_line, plain_text
from refgrad.report.findings import Script
from refgrad.report.narration import failure_text, finding, headline

MOST_ANNOTATIONS: Final = 10
"""Largest number of errors of a step that GitHub shows, and of warnings."""

MOST_FINDINGS: Final = 20
"""Largest number of failures that a summary shows in full."""

MARKUP: Final = re.compile(r"[\\`*_\[\](){}#+!|~@:.-]")
"""Characters that may be markup in Markdown, such as the beginning of a link to a person or an issue."""


def annotation_lines(title: str, unexpected: Sequence[Script], objections: Sequence[str]) -> Iterator[str]:
    """Yield lines for GitHub: errors for what fails the run, and warnings for all other failures."""
    told = [
        (each.verdict.level == "MUST", headline(each.verdict), finding(each) or each.verdict.statement)
        for each in unexpected
    ]
    told += [(True, "known failures", objection) for objection in objections]
    for kind, fails in (("error", True), ("warning", False)):
        for _, head, message in [each for each in told if each[0] is fails][:MOST_ANNOTATIONS]:
            name = _escaped(plain_line(f"{title}: {head}")).replace(":", "%3A").replace(",", "%2C")
            yield f"::{kind} title={name}::{_escaped(plain_text(message))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def step_summary(
    title: str, verdicts: Sequence[Verdict], unexpected: Sequence[Script], objections: Sequence[str]
) -> str:
    """Return the summary of a run: a table of outcomes, and each failure that is not known with its program."""
    counted = Counter(verdict.verdict for verdict in verdicts)
    outcomes = [outcome for outcome in reversed(OUTCOMES) if counted[outcome]]
    known = sum(verdict.failed for verdict in verdicts) - len(unexpected)
    lines = [f"### {_text(title)}", "", _text(f"{Totals.of(verdicts).text}."), ""]
    lines += [f"| {' | '.join(outcomes)} |", "|" + "--:|" * len(outcomes)] if outcomes else []
    lines += [f"| {' | '.join(str(counted[outcome]) for outcome in outcomes)} |", ""] if outcomes else []
    lines += [f"Known failures: {known}.", ""] if known else []
    lines += [line for objection in objections for line in (f"- {_text(objection)}", "")]
    for each in unexpected[:MOST_FINDINGS]:
        head, _, rest = plain_text(failure_text(each)).partition("\n")
        lines += [f"<details><summary>{_text(head)}</summary>", "", f"<pre>{escape(rest)}</pre>", "</details>", ""]
    if more := unexpected[MOST_FINDINGS:]:
        lines += [f"... and {len(more)} more.", ""]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Return a text on one line, escaped for HTML and for Markdown."""
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape(plain_line(text)))
