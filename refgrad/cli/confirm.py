"""``refgrad confirm``: run the programs of a report without refgrad, and compare what they show with what it says."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from refgrad.cli.failure import Status, file_path, told_in_one_line
from refgrad.native.text import plain_line, plain_text
from refgrad.report import confirm as confirm_script
from refgrad.report import read_document, scripts


@click.command()
@click.argument("reports", nargs=-1, required=True, metavar="ENGINE.json...", type=file_path)
@click.option("--python", default=sys.executable, show_default="this one", help="The interpreter that has the engines.")
@click.pass_context
def confirm(context: click.Context, reports: tuple[Path, ...], python: str) -> None:
    """Run the program of each finding in an interpreter of its own, where refgrad cannot be imported.

    A finding is confirmed if the program prints the number, or ends with the exception, that the report tells; there is
    nothing to compare where the report tells no single number. The exit status is 1 if a program shows something else.
    """
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
    context.exit(Status.FAILED if refuted else Status.PASSED)
