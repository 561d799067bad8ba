"""What is said of one verdict, wherever a person reads it: a sentence, a program, and the scenario behind them."""

from __future__ import annotations

import re
from textwrap import indent
from typing import Final

from refgrad.grading.judging.verdict import Verdict
from refgrad.report.findings import Script
from refgrad.report.severity import at

MARGIN: Final = "    "

COMMAND: Final = re.compile(r"^([^\S\n]*)(?=::|##\[)", re.MULTILINE)
"""The beginning of a line in the log of a job that GitHub Actions takes for a command; an engine must not give any."""


def headline(verdict: Verdict) -> str:
    """Return the line that names a verdict: outcome, check and level, and at which unusual numbers it fails."""
    return " ".join((f"{verdict.verdict}: {verdict.id} ({verdict.level})", *(f"[{each}]" for each in at(verdict))))


def finding(script: Script) -> str:
    """Return what was found: for a failure of a scenario what is right and what the engine gives, else the message."""
    verdict = script.verdict
    return script.sentence if verdict.failed and verdict.scenario else verdict.message


def failure_text(script: Script) -> str:
    """Return everything that is known of a verdict; parts that it lacks are left out."""
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
