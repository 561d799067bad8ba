"""``refgrad course``: grade the engine of each student, with points and feedback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

from refgrad.cli.failure import Failure, Status, failure_of
from refgrad.cli.grade import STOPPED, grade_engines
from refgrad.pytest_plugin.plan import PlanError
from refgrad.report.course import Part, read_points, results_of
from refgrad.report.document import read_report
from refgrad.report.pages import Graded, markdown_templates
from refgrad.report.site import write_site


def grade_course(engines: Sequence[Path], points: Path, output: Path, **options: Any) -> Status:
    """Grade the engine of each student, and write a results.json for each and the pages of the course."""
    parts, files = read_points(points), engine_files(engines)
    graded = [_grade(file, output / name, parts, **options) for name, file in files.items()]
    students = [student for _, student in graded]
    page = markdown_templates().get_template("course.md.jinja").render(students=students)
    (output / "course.md").write_text(page, encoding="utf-8")
    write_site(output, output / "site", course=students)
    click.echo(f"pages: {output / 'course.md'}, {output / 'site' / 'course.html'}")
    return Status.BROKEN if any(status == Status.BROKEN for status, _ in graded) else Status.PASSED


def engine_files(engines: Sequence[Path]) -> dict[str, Path]:
    """Return the engine file of each student, by name: that of the file, or of its folder if names of files repeat.

    Raises PlanError if there is no file, or if two students have one name.
    """
    files = [*(each for each in engines if each.is_file())]
    for folder in engines:
        files += sorted(folder.glob("[!_.]*.py")) or sorted(folder.glob("*/[!_.]*.py"))
    alike = len({file.stem for file in files}) < len(files)
    students = {file.absolute().parent.name if alike else file.stem: file for file in files}
    if not 0 < len(students) == len(files):
        raise PlanError("there must be one file for each student; name the files, such as DIR/*/engine.py")
    return students


def _grade(file: Path, folder: Path, parts: Sequence[Part], **options: Any) -> tuple[Status, dict[str, Any]]:
    """Grade one engine, write its results, and print its score. The output of the grade is written to grade.txt."""
    (folder / "report").mkdir(parents=True, exist_ok=True)
    report, problem, select = None, "it cannot be graded, see grade.txt", tuple(part.select for part in parts)
    with (folder / "grade.txt").open("w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        try:
            status = grade_engines([str(file)], pages=True, output=folder / "report", select=select, **options)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (one engine never stops the others)
            failure = error if isinstance(error, Failure) else failure_of(error)
            status, problem = failure.status, failure.message
    if status in STOPPED:
        raise Exit(status)
    if status in {Status.PASSED, Status.FAILED}:
        document = read_report(max((folder / "report").glob("*.json"), key=lambda path: path.stat().st_mtime))
        report = Graded(folder.name, replace(document, engine={**document.engine, "name": folder.name}))
    results = results_of(parts, report, problem)
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    click.echo(f"{folder.name}: {results['score']:g} of {sum(part.points for part in parts):g} points")
    return status, {"name": folder.name, "report": report, **results}
