"""The text of one verdict for people: a sentence, a program, and the scenario from which they derive."""

from __future__ import annotations

import re
from textwrap import indent
from typing import Final

from refgrad.grading.judging.verdict import Verdict
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
    parts = [headline(verdict), finding(script), statement]
    text = "\n".join(part for part in parts if part)
    if verdict.reproduction:
        text += f"\n\nprogram:\n{indent(script.program.rstrip(), MARGIN)}"
        text += f"\n{script.needs}" if script.needs else ""
    if verdict.scenario:
        text += f"\n\nscenario {verdict.scenario_id}:\n{indent(verdict.scenario.rstrip(), MARGIN)}\n{verdict.message}"
    return COMMAND.sub(r"\1\\", text)
