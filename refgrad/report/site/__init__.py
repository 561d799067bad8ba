"""Writes the pages of a site. They are self-contained, use no network, and run nothing that comes from an engine.

Every value is escaped, limited in length, and free of control characters. Each page contains its style and script. A
security policy in its head allows these two, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from refgrad.grading.judging.verdict import OUTCOMES
from refgrad.native.text import plain_text
from refgrad.operators import operator_table
from refgrad.operators.table import edge, signature
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.report import CHARACTERS
from refgrad.report.comparison import KINDS, histories
from refgrad.report.document import ReportError
from refgrad.report.findings import Script, safe_name
from refgrad.report.findings.causes import Cause, distinct_causes, shared_operators
from refgrad.report.pages import MEANINGS, SYMBOLS, Graded, read_folder, templates
from refgrad.report.severity import MEANINGS as SEVERITY_MEANINGS
from refgrad.report.severity import At
from refgrad.report.site import issue
from refgrad.report.site.documents import read_documents, shelves
from refgrad.report.site.pictures import drawn, graph_of, read_accuracy, read_growth
from refgrad.report.site.tables import conventions_of, operators_of, widest_first


def write_site(
    folder: Path, target: Path, earlier: Sequence[Path] = (), docs: Path | None = None, course: Sequence[Any] = ()
) -> list[Path]:
    """Write the site of all reports in a folder, and return the paths of its pages, beginning with the first page.

    With a ``course``, the site is made from the reports of its students instead, and has a page with their points.

    If ``earlier`` folders, oldest first, have reports of the same names, a page shows how the engines changed. The
    documents in the folder ``docs`` become pages of the site.

    Raises ReportError where there is no report, a report is malformed, a link in a document leads nowhere, or a page
    cannot be written.
    """
    reports = [each["report"] for each in course if each["report"]] if course else read_folder(folder)
    writer = _Writer(reports, target)
    chapters = list(dict.fromkeys(v.chapter for report in reports for v in report.verdicts))
    shared = shared_operators(report.causes for report in reports)
    distinct = distinct_causes(report.failures for report in reports)
    writer.page("index.html", "index", title="What refgrad found", chapters=chapters, shared=shared, distinct=distinct)
    if course:
        writer.page("course.html", "course", title="Course", students=course)
    wide = widest_first(reports)
    operators = operators_of(wide)
    writer.page("operators.html", "operators", title="Operators", rows=operators, reports=wide)
    writer.page("conventions.html", "conventions", title="Conventions", rows=conventions_of(wide), reports=wide)
    if errors := read_accuracy(folder):
        writer.page("accuracy.html", "accuracy", title="Accuracy", measured=errors, usual=ALLOWANCE)
    if measured := read_growth(folder):
        curves = [(plot, drawn(plot)) for plot in measured]
        writer.page("growth.html", "growth", title="Growth", plots=curves)
    if stages := histories([*map(read_folder, earlier), reports]):
        writer.page("history.html", "history", title="History", histories=stages, kinds=KINDS)
    page_of = partial(writer.names.page, "document")
    documents = [] if docs is None else read_documents(docs, page_of, folder)
    if documents:
        writer.page("documents.html", "documents", title="Documents", shelves=shelves(documents))
    writer.menu = [template for template, _ in writer.pages.values()]
    for report in reports:
        writer.engine(report)
    for row in operators:
        writer.operator(row.name, wide)
    for document in documents:
        writer.page(page_of(document.path), "document", title=document.title, document=document)
    return writer.write()


class _Writer:
    """Collects pages, and writes them once all names are known."""

    def __init__(self, reports: Sequence[Graded], target: Path) -> None:
        self.target = target
        self.names = FileNames()
        self.menu: list[str] = []
        self.pages: dict[str, tuple[str, dict[str, Any]]] = {}
        self.templates = _templates()
        self.templates.globals.update(
            reports=reports, symbols=SYMBOLS, meanings=MEANINGS, severities=SEVERITY_MEANINGS, outcomes=OUTCOMES,
            severity_choices=[(each.replace(" ", "-"), each) for each in (*SEVERITY_MEANINGS, *get_args(At))],
            issue=issue, engine_page=lambda report: self.names.page("engine", report.file),
            finding_page=lambda report, check: self.names.page("finding", report.file, check),
            operator_page=partial(self.names.page, "operator"), document_page=partial(self.names.page, "document"),
        )  # fmt: skip
        for name in ("index", "course", "operators", "conventions", "accuracy", "growth", "history", "documents"):
            self.names.page(name)

    def page(self, file: str, template: str, **values: Any) -> None:
        """Add a page."""
        self.pages[file] = (template, values)

    def engine(self, report: Graded) -> None:
        """Add the page of an engine, and one for each of its findings."""
        self.page(self.names.page("engine", report.file), "engine", title=report.title, report=report)
        for cause in report.causes:
            for script in cause.findings:
                self.finding(report, cause, script)

    def finding(self, report: Graded, cause: Cause, script: Script) -> None:
        """Add the page of a finding."""
        subject = getattr(getattr(script.verdict.fact, "subject", None), "name", "")
        file = self.names.page("finding", report.file, script.verdict.id)
        title, graph = f"{report.title}: {issue.title_of(script)}", graph_of(script.verdict.scenario, subject)
        self.page(file, "finding", title=title, report=report, cause=cause, script=script, graph=graph)

    def operator(self, name: str, reports: Sequence[Graded]) -> None:
        """Add the page of an operator: what it is, and how each engine does in each chapter."""
        by_report = [{v.chapter: v for v in report.verdicts if v.operator == name} for report in reports]
        chapters = list(dict.fromkeys(chapter for verdicts in by_report for chapter in verdicts))
        values = {"row": operator_table().get(name), "chapters": chapters, "by_report": by_report}
        self.page(self.names.page("operator", name), "operator", title=name, reports=reports, **values)

    def write(self) -> list[Path]:
        """Write all pages. Raises ReportError where they cannot be written."""
        try:
            self.target.mkdir(parents=True, exist_ok=True)
            return [self._write(file, *page) for file, page in self.pages.items()]
        except OSError as error:
            raise ReportError(f"{self.target} cannot be written: {error.strerror}") from error

    def _write(self, file: str, template: str, values: dict[str, Any]) -> Path:
        text = self.templates.get_template(f"{template}.html.jinja").render(menu=self.menu, here=template, **values)
        path = self.target / file
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        return path


def _templates() -> Environment:
    site = templates("refgrad.report.site", autoescape=True, finalize=_plain)
    site.filters |= {"coded": _coded, "signature": signature, "edge": edge}
    for name in ("style.css", "site.js"):
        text = PackageLoader("refgrad.report.site").get_source(site, name)[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        part = name.partition(".")[2]
        site.globals[part] = Markup(text)  # noqa: S704 (our own file)
        site.globals[f"{part}_hash"] = f"sha256-{digest}"
    return site


def _coded(text: str) -> Markup:
    """Return a text in which the parts between backquotes are marked as code."""
    parts = plain_text(text, CHARACTERS["issue"]).split("`")
    if len(parts) % 2 == 0:  # a backquote has no partner
        return escape("`".join(parts))
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def _plain(value: Any) -> Any:
    """Return a value for a page. Text is limited in length and has no control characters."""
    if isinstance(value, Markup):
        return value
    return plain_text(value, CHARACTERS["issue"]) if isinstance(value, str) else value


@dataclass(slots=True)
class FileNames:
    """Assigns each subject the name of a file, always the same one."""

    assigned: dict[Hashable, str] = field(default_factory=dict)

    def page(self, kind: str, *subject: str) -> str:
        """Return the file of the page on a subject, such as ``finding-torch-operators-exp.html``."""
        key, taken = (kind, *subject), self.assigned.values()
        if key not in self.assigned:
            stem = safe_name("-".join(key)).lower()
            names = (f"{stem}.html" if number == 1 else f"{stem}-{number}.html" for number in count(1))
            self.assigned[key] = next(name for name in names if name not in taken)
        return self.assigned[key]
