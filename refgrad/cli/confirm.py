"""``refgrad confirm``: run the programs of a report without refgrad, and compare their results with the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from refgrad.cli.failure import Status, told_in_one_line
from refgrad.native.text import plain_text
from refgrad.report.confirmation import confirm as confirm_script
from refgrad.report.document import read_report
from refgrad.report.findings import scripts

CLAIMS: Final = "claims/"
"""Prefix of the checks of the claims of an engine file, which no program demonstrates."""

WARNING: Final = (
    "Running {count} programs that stand in {path}, as they are: interrupt this if you do not trust the file."
)

NOTHING_RUN: Final = "nothing of {path} could be run: name the interpreter that has the engine with --python"


def confirm_reports(reports: Sequence[Path], python: str) -> Status:
    """Run the program of each finding, print the findings that are not confirmed, and return FAILED for any."""
    odd = 0
    for path in reports:
        counts: Counter[str] = Counter()
        found = [script for script in scripts(read_report(path)) if not script.verdict.id.startswith(CLAIMS)]
        if found:
            click.echo(WARNING.format(count=len(found), path=path), err=True)
        for script in found:
            with told_in_one_line():
                confirmation = confirm_script(script, python)
            counts[confirmation.answer] += 1
            if confirmation.answer != "confirmed":
                click.echo(f"{script.verdict.id}: {confirmation.answer}")
                click.echo(f"  the report:  {script.sentence}")
                shown = plain_text(confirmation.shown or "ends without an error")
                click.echo("  its program: " + shown.replace("\n", "\n               "))
        if found and counts["could not be run"] == len(found) and found[0].language == "python":
            click.echo(NOTHING_RUN.format(path=path), err=True)
        odd += len(found) - counts["confirmed"]
        told = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
        click.echo(f"{path}: {len(found)} findings" + (f", {told}" if told else ""))
    return Status.FAILED if odd else Status.PASSED
