"""ENGINE.json, the report of a run, with all its verdicts. The same run gives the same bytes.

Nothing in it depends on when, where or how fast the run was. ``specs/schema/report.schema.json`` describes it.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import refgrad
from refgrad.documents import checked, read_json
from refgrad.errors import UserError
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import OUTCOMES, Verdict
from refgrad.native.adapter import AnyAdapter, TapeAdapter, engine_version, package_version, python_version
from refgrad.report.packing import packed, unpacked, unpacked_size
from refgrad.report.severity import DERIVED, SEVERITIES, at, severity

SCHEMA_NAME: Final = "refgrad/report/2"

MOST_UNPACKED: Final = 500_000_000
"""Largest accepted value of :func:`unpacked_size`. That of the largest committed report is 80 million."""

NOT_FOR_FILES: Final = re.compile(r"[^\w.+-]")


class ReportError(UserError):
    """Raised if a file is not a report, or a report cannot be written. The message names the file and the problem."""


def document_path(directory: Path, engine: str) -> Path:
    """Return the path of the report on an engine. Characters that file systems may reject are replaced."""
    return directory / f"{NOT_FOR_FILES.sub('_', engine)}.json"


def describe_engine(adapter: AnyAdapter, python: str = sys.executable) -> dict[str, Any]:
    """Return the identity of an engine in an interpreter, and the features that its adapter declares."""
    numpy = package_version("numpy", python) if adapter.runs_here else "unknown"
    return {
        "name": adapter.name,
        "version": engine_version(adapter, python),
        "python": python_version(python),
        **({} if numpy == "unknown" else {"numpy": numpy}),
        "platform": f"{platform.system()} {platform.machine()}",
        **({} if adapter.syntax.runs_here else {"language": adapter.language}),
        "kind": "tape" if isinstance(adapter, TapeAdapter) else "functional",
        "dtype": adapter.dtype,
        "features": sorted(adapter.features),
        "policy": {"frees": adapter.policy.frees, "implicit_seed": adapter.policy.implicit_seed},
    }


def build_document(  # noqa: PLR0913 (each is a part of the report)
    adapter: AnyAdapter,
    settings: Settings,
    verdicts: Mapping[str, Verdict],
    suite: Sequence[str],
    planned: Collection[str] | None = None,
    *,
    python: str = sys.executable,
) -> dict[str, Any]:
    """Return the report of a run.

    ``verdicts`` maps ids of checks to verdicts. ``suite`` holds the ids of all checks, in order: the report is
    ``complete`` if each of them has a verdict. ``planned`` are the checks that were selected for the run, by default
    all. ``python`` is the interpreter that has the engine.
    """
    rows = [verdicts[name] for name in suite if name in verdicts]
    return {
        "schema": SCHEMA_NAME,
        "engine": describe_engine(adapter, python),
        "refgrad": refgrad.__version__,
        "profile": settings.profile,
        "seed": settings.seed,
        "complete": len(rows) == len(suite),
        "verdicts": [_row(verdict) for verdict in rows],
        "summary": _summary(rows, suite, suite if planned is None else planned),
    }


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write a report atomically. Raises ReportError where it cannot be written."""
    text = _text(document)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}") from error


def _text(document: Mapping[str, Any]) -> str:
    """Return a report as JSON with one line per verdict, so that a diff of two reports shows verdicts."""
    common, rows = packed(document["verdicts"])
    shared = [f"{_line(chapter)}:{_line(each)}" for chapter, each in common.items()]
    members = []
    for name, value in document.items():
        if name == "verdicts":
            members.append(f'"common": {{{_lines(shared)}}}')
            members.append(f'"verdicts": [{_lines(map(_line, rows))}]')
        else:
            members.append(f"{_line(name)}: " + json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n  "))
    return "{\n  " + ",\n  ".join(members) + "\n}\n"


def _lines(lines: Iterable[str]) -> str:
    return "\n    " + ",\n    ".join(lines) + "\n  "


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_document(path: Path) -> dict[str, Any]:
    """Read a report, and complete its verdicts. Reports of an earlier schema have complete verdicts.

    Raises ReportError where the file is not a report.
    """
    document = read_json(path, "report", ReportError)
    rows, common = document["verdicts"], document.pop("common", {})
    if unpacked_size(common, rows) > MOST_UNPACKED:
        raise ReportError(f"{path}: verdicts: completed, they are too large")
    whole: dict[str, Any] = document | {"verdicts": unpacked(common, rows)}
    checked(path, whole, "report#completed", ReportError)
    try:
        verdicts_of(whole)
    except ValueError as error:
        raise ReportError(f"{path}: verdicts: {error}") from error
    return whole


def verdicts_of(document: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a report, in order."""
    return [Verdict.from_json({key: row[key] for key in row if key not in DERIVED}) for row in document["verdicts"]]


def _row(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON, with its severity if it failed, and the unusual inputs at which it failed."""
    derived = {"severity": severity(verdict), "at": list(at(verdict))}
    return verdict.to_json() | {name: value for name, value in derived.items() if value}


def _summary(rows: Sequence[Verdict], suite: Sequence[str], planned: Collection[str]) -> dict[str, Any]:
    chapters = dict.fromkeys(verdict.chapter for verdict in rows)
    run = {verdict.id for verdict in rows}
    return {
        "checks": len(suite),
        "planned": len(run.union(planned)),
        "run": len(run),
        "not_run": len(set(planned) - run),
        "outcomes": _counts(rows),
        "severities": _severities(rows),
        "chapters": {name: _counts(v for v in rows if v.chapter == name) for name in chapters},
        "failed": sum(verdict.failed for verdict in rows),
        "must_failed": sum(verdict.failed and verdict.level == "MUST" for verdict in rows),
    }


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return the number of verdicts by outcome, worst first. Outcomes that do not occur are left out."""
    counted = Counter(verdict.verdict for verdict in verdicts)
    return {outcome: counted[outcome] for outcome in OUTCOMES if counted[outcome]}


def _severities(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return the number of failures by severity, worst first. Severities that do not occur are left out."""
    counted = Counter(map(severity, verdicts))
    return {each: counted[each] for each in SEVERITIES if counted[each]}
