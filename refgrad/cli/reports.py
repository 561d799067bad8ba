"""``refgrad report``, ``confirm`` and ``diff``: write pages about reports, run their programs, and compare them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import click

from refgrad.cli.failure import Failure, Status
from refgrad.native.text import plain_line, plain_text
from refgrad.report.comparison import comparison_text, differences
from refgrad.report.confirmation import confirm as confirm_script
from refgrad.report.document import Report, read_report
from refgrad.report.findings import scripts


def write_reports(folders: Sequence[Path]) -> None:
    """Write the pages of each folder, and print their number."""
    from refgrad.report.pages import write_pages

    for folder in folders:
        written = write_pages(folder)
        pages = sum(path.suffix == ".md" for path in written)
        counts = f"{pages} pages and {len(written) - pages} scripts of findings"
        click.echo(f"{folder}: {counts}; begin with {folder / 'README.md'}")


def write_html(folders: Sequence[Path], target: Path, docs: Path | None = None) -> None:
    """Write the site of the last folder, with the changes since the earlier ones, and print its first page.

    The documents in the folder ``docs`` become pages of it, too.
    """
    from refgrad.report.site import write_site

    *earlier, newest = folders
    written = write_site(newest, target, earlier, docs)
    click.echo(f"{target}: {len(written)} pages; begin with {written[0]}")


CLAIMS: Final = "claims/"
"""Prefix of the checks of the claims of an engine file, which no program demonstrates."""

WARNING: Final = (
    "Running {count} programs that stand in {path}, as they are: interrupt this if you do not trust the file."
)

NOTHING_RUN: Final = "nothing of {path} could be run: name the interpreter that has the engine with --python"


def confirm_reports(reports: Sequence[Path], python: str) -> Status:
    """Run the program of each finding, print the findings that are not confirmed, and return FAILED for any."""
    failed = 0
    for path in reports:
        counts: Counter[str] = Counter()
        findings = [script for script in scripts(read_report(path)) if not script.verdict.id.startswith(CLAIMS)]
        if findings:
            click.echo(WARNING.format(count=len(findings), path=path), err=True)
        for script in findings:
            confirmation = confirm_script(script, python)
            counts[confirmation.answer] += 1
            if confirmation.answer != "confirmed":
                click.echo(f"{script.verdict.id}: {confirmation.answer}")
                click.echo(f"  the report:  {script.sentence}")
                output = plain_text(confirmation.transcript or "ends without an error")
                click.echo("  its program: " + output.replace("\n", "\n               "))
        if findings and counts["could not be run"] == len(findings) and findings[0].file_name.endswith(".py"):
            click.echo(NOTHING_RUN.format(path=path), err=True)
        failed += len(findings) - counts["confirmed"]
        answers = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
        click.echo(f"{path}: {len(findings)} findings" + (f", {answers}" if answers else ""))
    return Status.FAILED if failed else Status.PASSED


FailOn = Literal["nothing", "regression", "any"]


def show_differences(old: Path, new: Path, fail_on: FailOn, *, as_json: bool) -> Status:
    """Print the differences between reports, or folders of reports with the same names, and return the exit status."""
    gone = sorted(path.name for path in old.glob("*.json") if new.is_dir() and not (new / path.name).exists())
    failed, documents = bool(gone), []
    for name in gone:
        click.echo(f"{plain_line(name)} is in {old} and not in {new}", err=True)
    for before, after in _pairs(old, new):
        first, second = read_report(before), read_report(after)
        changes = differences(first, second)
        failed |= any(fail_on == "any" or each.is_regression for each in changes)
        documents.append(_document(first, second, [each.to_json() for each in changes]))
        if not as_json:
            click.echo(comparison_text(first, second, changes) + "\n")
    if as_json:
        click.echo(json.dumps(documents, indent=1))
    return Status.FAILED if failed and fail_on != "nothing" else Status.PASSED


def _pairs(old: Path, new: Path) -> list[tuple[Path, Path]]:
    """Return the pairs of reports to compare. Raises Failure for a file and a folder, or if no name is in both."""
    if not old.is_dir() and not new.is_dir():
        return [(old, new)]
    if not (old.is_dir() and new.is_dir()):
        raise Failure(f"{old} and {new}: give two reports, or two folders of reports", Status.WRONG_USAGE)
    names = sorted({path.name for path in old.glob("*.json")} & {path.name for path in new.glob("*.json")})
    if not names:
        raise Failure(f"{old} and {new} have no report of the same name", Status.WRONG_USAGE)
    return [(old / name, new / name) for name in names]


def _document(old: Report, new: Report, changes: list[dict[str, Any]]) -> dict[str, Any]:
    identity = {
        when: {"engine": plain_line(each.engine["name"]), "version": plain_line(each.engine["version"])}
        | {"refgrad": each.refgrad, "profile": each.profile, "seed": each.seed}
        for when, each in (("old", old), ("new", new))
    }
    return identity | {"differences": changes}
