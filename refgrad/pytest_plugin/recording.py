"""The record of a session: the controlling process records the verdicts as they arrive."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from _pytest.junitxml import LogXML, xml_key

from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_text
from refgrad.pytest_plugin.conformance import LONGEST_TRACEBACK, PROPERTY, SUITE, CheckItem, verdicts_in
from refgrad.pytest_plugin.known_failures_file import KnownFailuresError
from refgrad.pytest_plugin.plan import Plan
from refgrad.pytest_plugin.signals import Signals
from refgrad.report.ci import annotation_lines, step_summary
from refgrad.report.document import ReportError, build_report, write_report
from refgrad.report.findings import Script

CANNOT_START = 3
"""Exit status of a session whose engine cannot be started."""

BROKEN = 4
"""Exit status of a session in which refgrad itself failed or could not write its results."""

OUTCOMES_OF_REPORTS = frozenset({"passed", "failed", "skipped"})
"""Outcomes that pytest itself reports. Plugins report others, for example for a check that is run again."""

TO_THE_END = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})
"""Exit statuses of sessions that ran all their items, unless ``shouldfail`` or ``shouldstop`` is set."""


class Recorder:
    """Records the verdicts of a session: in the journal at once, in the report at its end, however it ends.

    ``start_error`` is the reason why the engine could not be started, ``write_error`` why a file could not be written.
    ``broken`` maps the checks that ended without a verdict to the text of their reports. ``chosen`` are the checks that
    pytest selected among the planned ones, once that is known. At the end, ``missing`` are those that should have a
    verdict and have none.
    """

    def __init__(self, plan: Plan, known: Mapping[str, Verdict], signals: Signals) -> None:
        """Take the plan, the verdicts of the run that is resumed, and the handler of signals."""
        self.plan = plan
        self.known = known
        self.signals = signals
        self.verdicts: dict[str, Verdict] = {}
        self.broken: dict[str, str] = {}
        self.chosen: Sequence[str] | None = None
        self.missing: Sequence[str] = ()
        self.uncollected = False
        self.begun = False
        self.start_error = ""
        self.write_error = ""
        self.report: Path | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin a journal, unless one is resumed. Raises UsageError if it cannot be written."""
        journal = self.plan.journal
        if journal is not None and not self.known and not session.config.option.collectonly:
            try:
                journal.begin(self.plan.header)
            except OSError as error:
                raise pytest.UsageError(f"{journal.path} cannot be written: {error.strerror}") from error
        self.begun = True

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store which checks are to be run, if this process runs them."""
        if session.items:
            self.chosen = [item.name for item in session.items if isinstance(item, CheckItem)]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store whether the checks could not be collected: then none of them was deselected."""
        self.uncollected |= report.failed and report.nodeid == SUITE

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the verdicts of a report. A check that ends without a verdict is broken."""
        verdicts = verdicts_in(report)
        for verdict in verdicts:
            self._record(verdict)
        check = report.nodeid.removeprefix(f"{SUITE}::")
        if verdicts or check == report.nodeid or check in self.verdicts or report.outcome not in OUTCOMES_OF_REPORTS:
            return
        if report.failed or report.skipped or report.when == "call":
            self.broken[check] = plain_text(report.longreprtext, LONGEST_TRACEBACK)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Write the report of all known verdicts, and change the exit status if some are missing or not written."""
        if self.begun and not self.start_error and not session.config.option.collectonly:
            self._write()
            self._update_known_failures()
            self._write_step_summary()
        self.missing = self._missing(session)
        _complete_junit(session.config, self.start_error)
        with warnings.catch_warnings():
            if self.start_error:  # other plugins warn of what such a session lacks
                warnings.simplefilter("ignore")
            yield
        status = self._status(session)
        if status:
            session.exitstatus = status

    @property
    def found(self) -> list[Verdict]:
        """Verdicts of this session so far, in the order of the suite."""
        return [self.verdicts[check.id] for check in all_checks() if check.id in self.verdicts]

    @property
    def unfinished(self) -> list[str]:
        """Chosen checks that have no verdict, in the order of the suite."""
        every = [check.id for check in self.plan.checks]
        chosen = every if self.chosen is None or self.uncollected else self.chosen
        return [check for check in chosen if check not in self.verdicts]

    def give_up(self, message: str) -> None:
        """End the session because the engine cannot be started."""
        self.start_error = message
        pytest.exit(message, returncode=CANNOT_START)

    def _record(self, verdict: Verdict) -> None:
        if verdict.id in self.verdicts:
            return
        self.verdicts[verdict.id] = verdict
        self.broken.pop(verdict.id, None)
        journal = self.plan.journal
        if journal is not None and verdict.id not in self.known and not self.write_error:
            try:
                journal.append(verdict)
            except OSError as error:
                self.write_error = f"{journal.path} cannot be written: {error.strerror}; go on with --resume"
                pytest.exit(self.write_error, returncode=BROKEN)

    def _write(self) -> None:
        if self.plan.report is None:
            return
        suite = [check.id for check in all_checks()]
        planned = [check.id for check in self.plan.checks]
        found = {**self.known, **self.verdicts}
        try:
            write_report(
                self.plan.report,
                build_report(
                    self.plan.adapter, self.plan.settings, found, suite, planned, python=self.plan.isolation.python
                ),
            )
            self.report = self.plan.report
        except ReportError as error:
            self.write_error = self.write_error or f"{error}; go on with --resume"

    def _update_known_failures(self) -> None:
        try:
            self.plan.known_failures.update(self.found)
        except KnownFailuresError as error:
            self.write_error = self.write_error or str(error)

    def _write_step_summary(self) -> None:
        """Append the summary to the file that GitHub Actions shows below a run."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if not path:
            return
        found = self.found
        text = step_summary(self.plan.title, found, self._unexpected(), self.plan.known_failures.objections(found))
        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            self.write_error = self.write_error or f"{path} cannot be written: {error.strerror}"

    def annotations(self) -> Iterator[str]:
        """Yield the lines that GitHub Actions turns into errors, if it runs this session."""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            objections = self.plan.known_failures.objections(self.found)
            yield from annotation_lines(self.plan.title, self._unexpected(), objections)

    def _unexpected(self) -> list[Script]:
        return [self.plan.script(verdict) for verdict in self.plan.known_failures.unexpected(self.found)]

    def _status(self, session: pytest.Session) -> int:
        """Return the exit status that replaces pytest's own, or 0. No check without a verdict must go unnoticed."""
        if session.config.option.collectonly or self.start_error:
            return 0
        if self.signals.terminated and session.exitstatus == pytest.ExitCode.INTERRUPTED:
            return self.signals.status
        return BROKEN if self.write_error or self.missing else 0

    def _missing(self, session: pytest.Session) -> Sequence[str]:
        """Return the checks without a verdict: those that were run, and, unless the session was stopped, all chosen."""
        if session.config.option.collectonly:
            return ()
        stopped = session.shouldfail or session.shouldstop or session.exitstatus not in TO_THE_END
        return list(self.broken) if stopped else self.unfinished


def _complete_junit(config: pytest.Config, start_error: str) -> None:
    """Change the JUnit file, if pytest is to write one.

    Unsupported checks are removed, and an error is added if the engine could not be started.
    """
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    kept = [each for each in xml.node_reporters_ordered if not _is_not_offered(each.to_xml())]
    xml.stats["skipped"] -= len(xml.node_reporters_ordered) - len(kept)
    xml.node_reporters_ordered[:] = kept
    if start_error:
        _add_error(xml, start_error)


def write_junit_error(config: pytest.Config, start_error: str) -> None:
    """Write the JUnit file, if requested, of a session that does not begin because its engine cannot be started."""
    if config.option.xmlpath and not hasattr(config, "workerinput"):
        xml = LogXML(config.option.xmlpath, config.option.junitprefix)
        xml.pytest_sessionstart()
        _add_error(xml, start_error)
        xml.pytest_sessionfinish()


def _is_not_offered(case: Element) -> bool:
    found = case.find(f"properties/property[@name='{PROPERTY}']")
    return found is not None and json.loads(found.get("value", "{}")).get("verdict") == "unsupported"


def _add_error(xml: LogXML, message: str) -> None:
    reporter = xml.node_reporter(f"{SUITE}::start")
    reporter.attrs.update(classname=SUITE, name="start")
    reporter._add_simple("error", "the engine cannot be started", message)  # noqa: SLF001 (plugins have no other way)
