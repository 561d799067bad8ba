"""``refgrad accuracy`` and ``refgrad coverage``: measure the errors of operators, and list the missing ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

import click

from refgrad.cli.failure import Failure, Status
from refgrad.grading.accuracy import measurable, measure
from refgrad.native.adapter import engine_version, find_adapter
from refgrad.native.engine import Isolation, launch
from refgrad.report.accuracy import accuracy_page
from refgrad.report.coverage import coverage, coverage_text
from refgrad.scenario.formats import FORMATS


def show_accuracy(
    engines: Sequence[str], *, select: Sequence[str], dtype: str, python: str | None, as_json: bool
) -> None:
    """Print the largest errors of the value and of the slopes of each selected operator of the engines."""
    documents = [_measured(name, select, dtype, python or sys.executable) for name in engines]
    if as_json:
        click.echo(json.dumps(documents, indent=1))
    else:
        click.echo(accuracy_page(documents).rstrip())


def _measured(name: str, select: Sequence[str], dtype: str, python: str) -> dict[str, Any]:
    adapter = find_adapter(name)
    offered = [each for each in adapter.dtypes if each in FORMATS]
    if dtype not in offered:
        raise Failure(f"engine {name!r} has no {dtype!r}; it has {', '.join(offered)}", Status.WRONG_USAGE)
    engine = launch(adapter, Isolation(python=python))
    rows = [row for row in measurable(engine) if not select or any(fnmatchcase(row.name, glob) for glob in select)]
    if not rows:
        raise Failure(f"engine {name!r} has no elementwise operator that is selected", Status.WRONG_USAGE)
    errors = [asdict(worst) for row in rows for worst in measure(engine, row, dtype)]
    return {"engine": adapter.name, "version": engine_version(adapter, python), "dtype": dtype, "worst": errors}


def show_coverage(engines: Sequence[str], python: str | None, *, as_json: bool) -> None:
    """Print the operators of the table that each engine has and lacks, and those of its own that no row reaches."""
    documents = [coverage(engine, python) for engine in engines]
    if as_json:
        click.echo(json.dumps(documents, indent=2))
    else:
        click.echo("\n\n".join(coverage_text(document).rstrip() for document in documents))
