"""``refgrad diff``: compare the verdicts of two runs, two versions, or two engines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import click

from refgrad.cli.failure import Failure, Status, told_in_one_line
from refgrad.native.text import plain_line
from refgrad.report.document import Report, read_report
from refgrad.report.runs.comparison import Difference, comparison_text, differences

FailOn = Literal["nothing", "regression", "any"]

FAILS_ON: Final[Mapping[FailOn, Callable[[Difference], bool]]] = MappingProxyType({
    "nothing": lambda _: False,
    "regression": lambda difference: difference.is_regression,
    "any": lambda _: True,
})
"""For each value of ``--fail-on``, the differences for which the exit status is 1."""


def show_differences(old: Path, new: Path, fail_on: FailOn, *, as_json: bool) -> Status:
    """Print the differences between reports, or folders of reports with the same names, and return the exit status."""
    failed = False
    documents = []
    with told_in_one_line():
        for name in _gone(old, new):
            failed |= fail_on != "nothing"
            click.echo(f"{plain_line(name)} is in {old} and not in {new}", err=True)
        for before, after in _pairs(old, new):
            first, second = read_report(before), read_report(after)
            found = differences(first, second)
            failed |= any(map(FAILS_ON[fail_on], found))
            documents.append(_document(first, second, [each.to_json() for each in found]))
            if not as_json:
                click.echo(comparison_text(first, second, found) + "\n")
    if as_json:
        click.echo(json.dumps(documents, indent=1))
    return Status.FAILED if failed else Status.PASSED


def _gone(old: Path, new: Path) -> list[str]:
    """Return the names of reports that the older folder has and the newer one lacks."""
    return sorted(path.name for path in old.glob("*.json") if new.is_dir() and not (new / path.name).exists())


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


def _document(old: Report, new: Report, found: list[dict[str, Any]]) -> dict[str, Any]:
    identity = {
        when: {"engine": plain_line(each.engine["name"]), "version": plain_line(each.engine["version"])}
        | {"refgrad": each.refgrad, "profile": each.profile, "seed": each.seed}
        for when, each in (("old", old), ("new", new))
    }
    return identity | {"differences": found}
