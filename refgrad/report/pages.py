"""The pages of reports in Markdown: one for each engine, and two that compare the engines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from refgrad.documents import read_toml
from refgrad.facts.fact import Severity
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome, Totals, Verdict
from refgrad.native.text import plain_line, plain_text
from refgrad.report import CHARACTERS, TABLE
from refgrad.report.document import SCHEMA_NAME, Report, ReportError, read_report
from refgrad.report.findings import Script, failures, proofs, write_scripts
from refgrad.report.findings.causes import Cause, causes, distinct_causes, shared_operators
from refgrad.report.severity import MEANINGS as SEVERITY_MEANINGS
from refgrad.report.severity import severity

SYMBOLS: Final[Mapping[str, str]] = {name: row["symbol"] for name, row in TABLE["outcomes"].items()}
MEANINGS: Final[Mapping[str, str]] = {name: row["meaning"] for name, row in TABLE["outcomes"].items()}

UPSTREAM_FILE: Final = "upstream.toml"
"""Name of the file, in the folder of the reports, that lists the upstream issues of findings, with dates."""


@dataclass(frozen=True, slots=True)
class Known:
    """A report of others on what a finding shows, or that none was found: then there is no link and no note."""

    engine: str
    checks: frozenset[str]
    looked_up: date
    link: str = ""
    note: str = ""

    def explains(self, engine: str, checks: Iterable[str]) -> bool:
        """Return True if the report is about one of these checks of an engine."""
        return engine == self.engine and not self.checks.isdisjoint(checks)


def read_upstream(folder: Path) -> list[Known]:
    """Read the reports of others that are listed next to the reports of a folder; none without such a file.

    Raises ReportError where the file is malformed.
    """
    path = folder / UPSTREAM_FILE
    if not path.exists():
        return []
    rows = read_toml(path, "upstream", ReportError, dates=("date",))
    return [
        Known(row["engine"], frozenset(row["checks"]), date.fromisoformat(row["date"]), *links)
        for row in (*rows.get("known", ()), *rows.get("not_found", ()))
        for links in [[row[key] for key in ("link", "note") if key in row]]
    ]


@dataclass(frozen=True)
class Graded:
    """A report, with the properties that the templates use."""

    file: str
    document: Report
    upstream: Sequence[Known] = ()

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The verdicts, in the order of the suite."""
        return self.document.verdicts

    @cached_property
    def totals(self) -> Totals:
        """Number of checks that apply, and number of these that fail."""
        return Totals.of(self.verdicts)

    @property
    def engine(self) -> Mapping[str, Any]:
        """Description of the engine that was graded."""
        return self.document.engine

    @property
    def title(self) -> str:
        """Name of the engine, with its version if that is known."""
        name, version = self.engine["name"], self.engine["version"]
        return plain_line(name if version == "unknown" else f"{name} {version}", CHARACTERS["name"])

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes that occur, best first."""
        return [outcome for outcome in reversed(OUTCOMES) if outcome in self.document.summary["outcomes"]]

    @cached_property
    def failures(self) -> Sequence[Script]:
        """All failures."""
        return failures(self.document)

    @cached_property
    def scripts(self) -> Mapping[str, Script]:
        """The failures that have a program, by their statements, each program once."""
        return {script.key: script for script in proofs(self.failures)}

    @cached_property
    def causes(self) -> Sequence[Cause]:
        """The causes of the failures, worst first."""
        return causes(self.failures, self.verdicts)

    @cached_property
    def severities(self) -> Mapping[Severity, int]:
        """Number of failures by severity."""
        return Counter(kind for verdict in self.verdicts if (kind := severity(verdict)) is not None)

    def known(self, cause: Cause) -> list[Known]:
        """Return the upstream reports on a cause, or that none was found."""
        checks = {finding.verdict.id for finding in cause.findings}
        rows = [known for known in self.upstream if known.explains(self.engine["name"], checks)]
        return [known for known in rows if known.link] or rows[:1]

    def those(self, *outcomes: Outcome) -> list[Verdict]:
        """Return the verdicts with one of the outcomes."""
        return [verdict for verdict in self.verdicts if verdict.verdict in outcomes]

    def chapter(self, name: str) -> str:
        """Return the result of an engine in a chapter, in a few characters, or no text where it was not graded.

        Inconclusive checks are counted separately: they neither pass nor fail.
        """
        counts = Counter(verdict.verdict for verdict in self.verdicts if verdict.chapter == name)
        failed = sum(counts[outcome] for outcome in FAILURES)
        decided = failed + counts["passed"] + counts["convention"]
        parts = [f"{SYMBOLS['inconclusive']} {counts['inconclusive']}"] if counts["inconclusive"] else []
        if decided:
            parts.insert(0, f"✗ {failed} of {decided}" if failed else f"✓ {decided}")
        return ", ".join(parts) or (SYMBOLS["unsupported"] if counts else "")

    def operator(self, chapter: str, name: str) -> str:
        """Return the symbol of an operator in a chapter, or no text where it was not graded."""
        return self._symbols.get((chapter, name), "")

    @cached_property
    def _symbols(self) -> Mapping[tuple[str, str], str]:
        """The symbols of operators by chapter and name. If an operator has several checks, the first one counts."""
        return {(v.chapter, v.operator): SYMBOLS[v.verdict] for v in reversed(self.verdicts)}


def write_pages(folder: Path) -> list[Path]:
    """Write the pages and scripts for all reports (``*.json``) in a folder, and return their paths.

    Raises ReportError where there is no report, or where one is malformed.
    """
    graded = read_folder(folder)
    written = write_scripts(folder / "findings", [script for report in graded for script in report.scripts.values()])
    page = markdown_templates().get_template("engine.md.jinja")
    pages = {f"{report.file}.md": page.render(report=report) for report in graded}
    pages |= {"README.md": summary(graded), "matrix.md": _comparison_page("matrix.md.jinja", graded)}
    for name, text in pages.items():
        written.append(folder / name)
        written[-1].write_bytes(text.encode("utf-8", "backslashreplace"))
    return written


def summary(graded: Sequence[Graded]) -> str:
    """Return the page that compares the engines in a few tables."""
    return _comparison_page("summary.md.jinja", graded)


def read_folder(folder: Path) -> list[Graded]:
    """Read all reports of a folder. Raises ReportError where there is none, or where one is malformed."""
    upstream = read_upstream(folder)
    graded = [Graded(path.stem, read_report(path), upstream) for path in sorted(folder.glob("*.json"))]
    if not graded:
        raise ReportError(f"{folder} holds no report (*.json with the schema {SCHEMA_NAME})")
    return graded


def _comparison_page(page: str, graded: Sequence[Graded]) -> str:
    verdicts = [verdict for report in graded for verdict in report.verdicts]
    chapters = list(dict.fromkeys(verdict.chapter for verdict in verdicts))
    operators = {
        name: list(dict.fromkeys(v.operator for v in verdicts if v.chapter == name and v.operator)) for name in chapters
    }
    by_operator = {name: each for name, each in operators.items() if each}
    shared = shared_operators(report.causes for report in graded)
    template, distinct = markdown_templates().get_template(page), distinct_causes(report.failures for report in graded)
    return template.render(reports=graded, chapters=chapters, by_operator=by_operator, shared=shared, distinct=distinct)


def templates(package: str, **options: Any) -> Environment:
    """Return an environment of the templates of a package. A name without a value is an error."""
    loader = PackageLoader(package)
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **options)  # noqa: S701 (callers of HTML say so)


def markdown_templates() -> Environment:
    """Return the environment of the templates of this package, with their filters.

    ``plain`` escapes a text that is not markup, and ``foreign`` one of an engine, so that Markdown finds no link in
    it either. ``code`` escapes code in a cell of a table, ``fenced`` the content of a block of code, so that it does
    not end the block. ``anchor`` returns the anchor of a heading.
    """
    markdown = templates("refgrad.report", keep_trailing_newline=True)
    markdown.globals.update(symbols=SYMBOLS, meanings=MEANINGS, severities=SEVERITY_MEANINGS)
    markdown.filters |= {
        "plain": _plain,
        "code": lambda text: str(text).replace("|", "\\|"),
        "foreign": lambda text: _plain(plain_text(text)).replace("](", "]\\("),
        "fenced": lambda text: plain_text(text.rstrip(), CHARACTERS["program"]).replace("```", "`\u200b`\u200b`"),
        "anchor": lambda text: re.sub(r"[^\w-]", "", str(text).lower()),
    }
    return markdown


def _plain(text: str) -> str:
    """Return a text on one line, escaped so that Markdown finds no HTML and no cell of a table in it."""
    return text.replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")
