"""``refgrad confirm``: run the programs of a report without refgrad, and compare what they show with what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from refgrad.cli.failure import Status, told_in_one_line
from refgrad.native.text import plain_line, plain_text
from refgrad.report.confirmation import confirm as confirm_script
from refgrad.report.document import read_document
from refgrad.report.findings import scripts


def confirm_reports(reports: Sequence[Path], python: str) -> Status:
    """Run the program of each finding, print which of them show something else, and return whether any does."""
    refuted = 0
    for path in reports:
        counts: Counter[str] = Counter()
        with told_in_one_line():
            found = scripts(read_document(path))
        for script in found:
            with told_in_one_line():
                confirmation = confirm_script(script, python)
            counts[confirmation.answer] += 1
            if confirmation.answer != "confirmed":
                click.echo(f"{script.verdict.id}: {confirmation.answer}")
                click.echo(f"  the report:  {script.verdict.message}")
                click.echo("  its program: " + plain_text(confirmation.shown).replace("\n", "\n               "))
        refuted += counts["refuted"]
        told = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
        click.echo(f"{plain_line(str(path))}: {len(found)} findings" + (f", {told}" if told else ""))
    return Status.FAILED if refuted else Status.PASSED
