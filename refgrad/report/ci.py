"""Verdicts as text for people and for machines that run refgrad: annotations and step summaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any, Final

from refgrad.grading.judging.verdict import OUTCOMES, Totals, Verdict
from refgrad.native.text import plain_line, plain_text
from refgrad.report import CHARACTERS, ITEMS, TABLE
from refgrad.report.document import Report
from refgrad.report.findings import Script
from refgrad.report.severity import at

MARGIN: Final = "    "

COMMAND: Final = re.compile(r"^([^\S\n]*)(?=::|##\[)", re.MULTILINE)
"""Beginning of a line in a log that GitHub Actions runs as a command. Text of an engine must not contain one."""


def headline(verdict: Verdict) -> str:
    """Return the line that names a verdict: its outcome, check, level, and the unusual inputs at which it fails."""
    return " ".join((f"{verdict.verdict}: {verdict.id} ({verdict.level})", *(f"[{each}]" for each in at(verdict))))


def finding(script: Script) -> str:
    """Return the sentence for a failed scenario, with the right result and the engine's, or else the message."""
    verdict = script.verdict
    return script.sentence if verdict.failed and verdict.scenario else verdict.message


def failure_text(script: Script) -> str:
    """Return the complete text of a verdict, without the parts that it lacks."""
    verdict = script.verdict
    statement = f"violated: {verdict.statement}" if verdict.failed else verdict.statement
    text = "\n".join(filter(None, [headline(verdict), finding(script), statement]))
    if verdict.reproduction:
        text += f"\n\nprogram:\n{indent(script.program.rstrip(), MARGIN)}"
        text += f"\n{script.needs}" if script.needs else ""
    if verdict.scenario:
        text += f"\n\nscenario {verdict.scenario_id}:\n{indent(verdict.scenario.rstrip(), MARGIN)}\n{verdict.message}"
    return COMMAND.sub(r"\1\\", text)


CHARACTER: Final = 6.6
"""Width of a character in pixels. The text is stretched to the width that follows from it, whatever the font."""

PICTURE: Final = (Path(__file__).parent / "templates" / "badge.svg").read_text(encoding="utf-8")
"""Format string of the badge."""


@dataclass(frozen=True, slots=True)
class Badge:
    """Two short texts, and the name of a color."""

    label: str
    message: str
    color: str

    @classmethod
    def of(cls, report: Report) -> Badge:
        """Return the badge of a report: the number of applicable checks that fail at level MUST; green if none does."""
        engine, summary = report.engine, report.summary
        label = plain_line(f"refgrad: {engine['name']} {engine['version']}", CHARACTERS["badge"])
        totals, run = Totals.of(report.verdicts), len(report.verdicts)
        if totals.must_failed:
            silent = any(name.startswith("wrong ") and name != "wrong error" for name in summary.get("severities", ()))
            return cls(label, f"{totals.must_failed} of {totals.apply} checks fail", "red" if silent else "orange")
        if not report.complete:
            return cls(label, f"{run} of {summary['checks']} checks run", "lightgrey")
        return cls(label, f"{totals.apply} checks, none fails", "brightgreen")

    def endpoint(self) -> dict[str, Any]:
        """Return the data that shields.io reads."""
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.color}

    def picture(self) -> str:
        """Return the badge as SVG, which loads and runs nothing."""
        label_wide, message_wide = (round(CHARACTER * len(text)) for text in (self.label, self.message))
        left, right = label_wide + 10, message_wide + 10
        return PICTURE.format(
            label=escape(self.label), message=escape(self.message), color=TABLE["colors"][self.color],
            left=left, right=right, width=left + right, label_at=left / 2, message_at=left + right / 2,
            label_wide=label_wide, message_wide=message_wide,
        )  # fmt: skip


MARKUP: Final = re.compile(r"[\\`*_\[\](){}#+!|~@:.-]")
"""Characters that may be markup in Markdown, such as the beginning of a link to a person or an issue."""


def annotation_lines(title: str, unexpected: Sequence[Script], objections: Sequence[str]) -> Iterator[str]:
    """Yield lines for GitHub: errors for what fails the run, and warnings for all other failures."""
    annotations = [
        (each.verdict.level == "MUST", headline(each.verdict), finding(each) or each.verdict.statement)
        for each in unexpected
    ]
    annotations += [(True, "known failures", objection) for objection in objections]
    for kind, fails in (("error", True), ("warning", False)):
        for _, head, message in [each for each in annotations if each[0] is fails][: ITEMS["annotations"]]:
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
    for each in unexpected[: ITEMS["step_findings"]]:
        head, _, rest = plain_text(failure_text(each)).partition("\n")
        lines += [f"<details><summary>{_text(head)}</summary>", "", f"<pre>{escape(rest)}</pre>", "</details>", ""]
    if more := unexpected[ITEMS["step_findings"] :]:
        lines += [f"... and {len(more)} more.", ""]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Return a text on one line, escaped for HTML and for Markdown."""
    return MARKUP.sub(lambda match: f"&#{ord(match[0])};", escape(plain_line(text)))
