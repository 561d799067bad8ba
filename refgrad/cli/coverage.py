"""``refgrad coverage``: list what an engine lacks of the table of operators, and what the table lacks."""

from __future__ import annotations

import json

import click

from refgrad.cli.failure import told_in_one_line
from refgrad.report.coverage import coverage
from refgrad.report.coverage_text import coverage_text


@click.command(name="coverage")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, with the rows that reach each operator.")
def coverage_command(engines: tuple[str, ...], *, as_json: bool) -> None:
    """Show the operators of the table that each engine has and lacks, and those of its own that no row reaches.

    Nothing is declared: the rows are run, and the engine says what they reach.
    """
    with told_in_one_line():
        documents = [coverage(engine) for engine in engines]
    if as_json:
        click.echo(json.dumps(documents, indent=2, ensure_ascii=False))
    else:
        click.echo("\n\n".join(coverage_text(document).rstrip() for document in documents))
