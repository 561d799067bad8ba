"""What is said of one verdict, wherever a person reads it: its message, its scenario, and a program to paste."""

from __future__ import annotations

import re
from textwrap import indent
from typing import Final

from refgrad.grading.judging.verdict import Verdict

MARGIN: Final = "    "

COMMAND: Final = re.compile(r"^([^\S\n]*)(?=::|##\[)", re.MULTILINE)
"""The beginning of a line in the log of a job that GitHub Actions takes for a command; an engine must not give any."""


def headline(verdict: Verdict) -> str:
    """Return the line that names a verdict: outcome, check and level."""
    return f"{verdict.verdict}: {verdict.id} ({verdict.level})"


def failure_text(verdict: Verdict) -> str:
    """Return everything that is known of a check that failed; parts that a verdict lacks are left out."""
    parts = [headline(verdict), verdict.statement, verdict.message]
    text = "\n".join(part for part in parts if part)
    if verdict.scenario:
        text += f"\n\nscenario {verdict.scenario_id}:\n{indent(verdict.scenario.rstrip(), MARGIN)}"
    if verdict.reproduction:
        text += f"\n\nreproduction:\n{indent(verdict.reproduction.rstrip(), MARGIN)}"
    return COMMAND.sub(r"\1\\", text)
