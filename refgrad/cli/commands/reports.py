"""Commands on reports; their implementations are imported when they run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from refgrad.cli.options import PYTHON
from refgrad.cli.parameters import existing_path, file_path


@click.command(short_help="Print a badge of a report.")
@click.argument("file", metavar="ENGINE.json", type=existing_path)
@click.option("--svg", is_flag=True, help="Print a picture instead.")
def badge(file: Path, *, svg: bool) -> None:
    """Print a badge of a report, as JSON that shields.io takes as an endpoint.

    It is red where a number is silently wrong, orange where other checks on the level MUST fail, green where none fails
    and all were run.
    """
    from refgrad.report.ci.badge import Badge
    from refgrad.report.document import read_report

    found = Badge.of(read_report(file))
    click.echo(found.picture() if svg else json.dumps(found.endpoint()), nl=not svg)


@click.command(short_help="Run the programs of reports without refgrad.")
@click.argument("reports", nargs=-1, required=True, metavar="ENGINE.json...", type=existing_path)
@PYTHON
def confirm(reports: tuple[Path, ...], python: str | None) -> None:
    """Run the program of each finding in an interpreter of its own, where refgrad cannot be imported.

    A finding is confirmed if its program fails, and gives the number, or ends with the exception, that the report
    tells. It could not be run where the engine cannot be imported. The programs stand in the files: confirm only files
    that you trust. The exit status is 1 if a finding is not confirmed.
    """
    from refgrad.cli.confirm import confirm_reports

    raise SystemExit(int(confirm_reports(reports, python or sys.executable)))


@click.command(short_help="Compare reports, or folders of reports.")
@click.argument("old", type=existing_path)
@click.argument("new", type=existing_path)
@click.option(
    "--fail-on",
    type=click.Choice(["nothing", "regression", "any"]),
    default="nothing",
    show_default=True,
    help="The exit status is 1 if a check that held fails, is gone or is not offered now, or if anything differs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with the differences of each pair of reports.")
def diff(old: Path, new: Path, fail_on: Any, *, as_json: bool) -> None:
    """Compare two reports, or the reports of the same name in two folders: versions, seeds, or engines.

    A check is broken where it held and fails now, fixed where it failed and holds now, and changed if its verdict is
    another one otherwise. Where it fails as before, an error that is ten times larger or smaller is told as accuracy.
    """
    from refgrad.cli.diff import show_differences

    raise SystemExit(int(show_differences(old, new, fail_on, as_json=as_json)))


@click.command(short_help="Write pages about reports.")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=existing_path)
@click.option("--html", type=file_path, metavar="SITE", help="Write a site for the browser there.")
@click.option("--docs", type=existing_path, metavar="DOCS", help="Make pages of the Markdown in this folder, too.")
def report(folders: tuple[Path, ...], html: Path | None, docs: Path | None) -> None:
    """Write pages beside the reports (*.json) in each folder: one an engine, a matrix, and a script a finding.

    With --html nothing is written beside the reports. The site needs no network and no server: open its index.html. Of
    several folders the last one makes the site, and a page tells how its engines changed since those before. With
    --docs the documentation is a part of it: links between documents lead to their pages.
    """
    from refgrad.cli.report import write_html, write_reports

    if html is not None:
        write_html(folders, html, docs)
    elif docs is not None:
        raise click.UsageError("--docs needs --html: documents become pages of a site.")
    else:
        write_reports(folders)
