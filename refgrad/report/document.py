"""The report of a run: reading and writing of ENGINE.json. The same run gives the same bytes.

Nothing in a report depends on when, where or how fast the run was. ``specs/schema/report.schema.json`` describes it.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, parsed_json
from refgrad.errors import UserError, shortened
from refgrad.facts import Evidence, Lacks
from refgrad.facts.fact import SEVERITIES
from refgrad.grading.journal import write_atomically
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AnyAdapter, TapeAdapter, engine_version, package_version, python_version
from refgrad.native.languages import LANGUAGES
from refgrad.report.severity import DERIVED, at, severity
from refgrad.specification import installed_version

SCHEMA_NAME: Final = "refgrad/report/3"

SCHEMA_NAMES: Final = "refgrad/report/"
"""Beginning of the schema names of all versions of reports."""

EVIDENCE: Final = {"step": 0, "repeatable": True, "seen_in": 1, "runs": 1}
"""Members of evidence that a report leaves out if they have these values."""

ADDED: Final = DERIVED | {"lacks"}
"""Members of a row that its verdict does not have."""

NOT_FOR_FILES: Final = re.compile(r"[^\w.+-]")


class ReportError(UserError):
    """Raised if a file is not a report, or a report cannot be written. The message names the file and the problem."""


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run on one engine.

    ``engine`` describes the engine: its name, version and platform, and the features that its adapter declares.
    ``refgrad`` is the version of refgrad, ``profile`` and ``seed`` are the options of the run. The report is
    ``complete`` if each check of the suite has a verdict. ``summary`` holds the numbers of checks and of outcomes.
    ``verdicts`` are in the order of the suite.
    """

    engine: Mapping[str, Any]
    refgrad: str
    profile: str
    seed: int
    complete: bool
    summary: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]


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
        "setup": adapter.setup,
        "features": sorted(adapter.features),
        "policy": {"frees": adapter.policy.frees, "implicit_seed": adapter.policy.implicit_seed},
    }


def build_report(  # noqa: PLR0913 (each is a part of the report)
    adapter: AnyAdapter,
    settings: Settings,
    verdicts: Mapping[str, Verdict],
    suite: Sequence[str],
    planned: Collection[str] | None = None,
    *,
    python: str = sys.executable,
) -> Report:
    """Return the report of a run.

    ``verdicts`` maps ids of checks to verdicts. ``suite`` holds the ids of all checks, in order: the report is
    ``complete`` if each of them has a verdict. ``planned`` are the checks that were selected for the run, by default
    all. ``python`` is the interpreter that has the engine.
    """
    rows = tuple(verdicts[name] for name in suite if name in verdicts)
    return Report(
        engine=describe_engine(adapter, python),
        refgrad=installed_version(),
        profile=settings.profile,
        seed=settings.seed,
        complete=len(rows) == len(suite),
        summary=_summary(rows, suite, suite if planned is None else planned),
        verdicts=rows,
    )


def write_report(path: Path, report: Report) -> None:
    """Write a report atomically. Raise ReportError if it cannot be written."""
    try:
        write_atomically(path, report_text(report).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}") from error


def read_report(path: str | Path) -> Report:
    """Read a report that ``refgrad grade`` wrote.

    Raise ReportError, with the position of the problem, if the file cannot be read, is not a report, or was written by
    a version of refgrad with another schema of reports.
    """
    path = Path(path)
    document = parsed_json(path, ReportError)
    name = document.get("schema") if isinstance(document, dict) else None
    if isinstance(name, str) and name.startswith(SCHEMA_NAMES) and name != SCHEMA_NAME:
        problem = f"schema: this version of refgrad reads {SCHEMA_NAME}, and not {shortened(name)}"
        raise ReportError(f"{path}: {problem}; grade the engine again")
    checked(path, document, "report", ReportError)
    language = document["engine"].get("language", "python")
    if language not in LANGUAGES:
        raise ReportError(f"{path}: engine.language: {shortened(language)} is not among {', '.join(LANGUAGES)}")
    operators = frozenset(document["operators"])
    try:
        document["verdicts"] = tuple(_verdict(row, operators) for row in document["verdicts"])
    except ValueError as error:
        raise ReportError(f"{path}: verdicts: {error}") from error
    return Report(*(document[name] for name in Report.__slots__))


def report_text(report: Report) -> str:
    """Return a report as JSON with one line for each verdict."""
    operators = list(dict.fromkeys(verdict.operator for verdict in report.verdicts if verdict.operator))
    rows = ",\n    ".join(_line(_row(verdict, operators)) for verdict in report.verdicts)
    members = {name: getattr(report, name) for name in Report.__slots__ if name != "verdicts"}
    head = json.dumps({"schema": SCHEMA_NAME} | members, indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{head},\n  "operators": {_line(operators)},\n  "verdicts": [\n    {rows}\n  ]\n}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _row(verdict: Verdict, operators: Collection[str]) -> dict[str, Any]:
    """Return a verdict as JSON, with its severity and unusual inputs and without the members that are implied."""
    fact = verdict.fact
    row: dict[str, Any] = {"id": verdict.id, "verdict": verdict.verdict, "operator": "", "message": ""}
    row |= {"lacks": list(fact.names)} if isinstance(fact, Lacks) else {}
    row |= verdict.to_json() | {"severity": severity(verdict) or "", "at": list(at(verdict)) or ""}
    implied = _implied(row, operators)
    row = {name: value for name, value in row.items() if value != implied.get(name, "")}
    if "evidence" in row:
        row["evidence"] = {name: value for name, value in row["evidence"].items() if EVIDENCE.get(name) != value}
    return row


def _verdict(row: Mapping[str, Any], operators: Collection[str]) -> Verdict:
    """Return the verdict of a row of a report."""
    explicit = {name: value for name, value in row.items() if name not in ADDED}
    return Verdict.from_json(_implied(row, operators) | explicit)


def _implied(row: Mapping[str, Any], operators: Collection[str]) -> dict[str, Any]:
    """Return the members of a verdict that its row leaves out if they have these values."""
    chapter, _, name = row["id"].partition("/")
    implied = {"chapter": chapter, "operator": name if name in operators else "", "level": "MUST"}
    if "lacks" not in row:
        return implied
    fact = Lacks(names=tuple(row["lacks"]))
    return implied | {"message": Finding("unsupported", fact).message, "evidence": Evidence(fact).to_json()}


def _summary(rows: Sequence[Verdict], suite: Sequence[str], planned: Collection[str]) -> dict[str, Any]:
    chapters = dict.fromkeys(verdict.chapter for verdict in rows)
    run = {verdict.id for verdict in rows}
    return {
        "checks": len(suite),
        "planned": len(run.union(planned)),
        "run": len(run),
        "not_run": len(set(planned) - run),
        "outcomes": _counts((v.verdict for v in rows), OUTCOMES),
        "severities": _counts(map(severity, rows), SEVERITIES),
        "chapters": {name: _counts((v.verdict for v in rows if v.chapter == name), OUTCOMES) for name in chapters},
        "failed": sum(verdict.failed for verdict in rows),
        "must_failed": sum(verdict.failed and verdict.level == "MUST" for verdict in rows),
    }


def _counts(names: Iterable[str | None], order: Sequence[str]) -> dict[str, int]:
    """Return how often each outcome or severity occurs, worst first, without those that do not occur."""
    counted = Counter(names)
    return {each: counted[each] for each in order if counted[each]}
