"""``refgrad coverage``: list the operators that an engine lacks, and those that the operator table lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from refgrad.cli.failure import told_in_one_line
from refgrad.report.coverage import coverage
from refgrad.report.coverage_text import coverage_text


def show_coverage(engines: Sequence[str], python: str | None, *, as_json: bool) -> None:
    """Print the operators of the table that each engine has and lacks, and those of its own that no row reaches."""
    with told_in_one_line():
        documents = [coverage(engine, python) for engine in engines]
    if as_json:
        click.echo(json.dumps(documents, indent=2))
    else:
        click.echo("\n\n".join(coverage_text(document).rstrip() for document in documents))
