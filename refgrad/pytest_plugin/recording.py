"""What a run records and prints, and its orderly end on a signal."""

from __future__ import annotations

import json
import os
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from _pytest.junitxml import LogXML, xml_key

from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import OUTCOMES, Outcome, Verdict
from refgrad.native.process import ending_signals
from refgrad.native.text import plain_line, plain_text
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE, CheckItem, verdicts_in
from refgrad.pytest_plugin.known_failures import KnownFailuresError
from refgrad.pytest_plugin.plan import Plan
from refgrad.report import CHARACTERS, ITEMS
from refgrad.report.ci import annotation_lines, step_summary
from refgrad.report.document import ReportError, build_report, write_report
from refgrad.report.findings import Script


@dataclass(eq=False)
class Signals:
    """Raises KeyboardInterrupt for the first signal. Ignores later ones, and all signals while the session finishes."""

    received: int = 0
    _finishing: bool = False
    _before: dict[int, Any] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Install the signal handlers, which is possible in the main thread only."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in ending_signals()}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """Ignore signals while the report is written."""
        self._finishing = True
        yield

    def pytest_unconfigure(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def status(self) -> int:
        """Exit status of a process ended by the signal, as shells report it, or 0 if none was received."""
        return 128 + self.received if self.received else 0

    def _handle(self, number: int, _: FrameType | None) -> None:
        first = not self.received
        self.received = self.received or number
        if first and not self._finishing:
            raise KeyboardInterrupt


CANNOT_START = 3
"""Exit status of a session whose engine cannot be started."""

BROKEN = 4
"""Exit status of a session in which refgrad itself failed or could not write its results."""

OUTCOMES_OF_REPORTS = frozenset({"passed", "failed", "skipped"})
"""Outcomes that pytest itself reports. Plugins report others, for example for a check that is run again."""

TO_THE_END = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})
"""Exit statuses of sessions that ran all their items, unless ``shouldfail`` or ``shouldstop`` is set."""


OWN_LETTERS: Mapping[str, str] = MappingProxyType({"convention": "c", "inconclusive": "i"})
"""Outcomes that pass, but have letters of their own, since they deserve attention."""

Status = tuple[str, str, str]


@dataclass(eq=False)
class SessionRecorder:
    """Records the verdicts of a session: in the journal at once, in the report at its end, however it ends.

    It also prints which engine is graded, and the verdicts.

    ``start_error`` is the reason why the engine could not be started, ``write_error`` why a file could not be written.
    ``broken`` maps the checks that ended without a verdict to the text of their reports. ``chosen`` are the checks that
    pytest selected among the planned ones, once that is known. At the end, ``missing`` are those that should have a
    verdict and have none.
    """

    plan: Plan
    known: Mapping[str, Verdict]
    signals: Signals
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    chosen: Sequence[str] | None = None
    missing: Sequence[str] = ()
    uncollected: bool = False
    begun: bool = False
    start_error: str = ""
    write_error: str = ""
    report: Path | None = None

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
            self.broken[check] = plain_text(report.longreprtext, CHARACTERS["output"])

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

    def pytest_report_header(self) -> str:
        """Return the line of pytest's header that names the engine."""
        return f"refgrad: grading {self.plan.title}, {len(self.plan.checks)} checks"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Status | None:
        """Return the verdict of a check in place of pytest's own word for its outcome."""
        if report.outcome not in OUTCOMES_OF_REPORTS:
            return "run again after a crash", "R", "RUN AGAIN"
        verdicts = [] if hasattr(report, "wasxfail") else verdicts_in(report)
        if not verdicts:
            return None
        verdict = verdicts[0]
        if verdict.failed:
            return "failed", "F", verdict.verdict.upper()
        if verdict.verdict in OWN_LETTERS and report.passed:
            return verdict.verdict, OWN_LETTERS[verdict.verdict], verdict.verdict.upper()
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts of outcomes, the messages of those with their own letter, and the path of the report."""
        verdicts = self.ordered_verdicts
        if not verdicts and not self.missing:
            return
        terminalreporter.section(f"refgrad: {self.plan.title}")
        counted: Counter[Outcome] = Counter(verdict.verdict for verdict in verdicts)
        own = (each for each in verdicts if each.verdict in OWN_LETTERS)
        for line in (
            ", ".join(f"{counted[name]} {name}" for name in reversed(OUTCOMES) if counted[name]),
            *(plain_line(f"{each.verdict}: {each.id}: {each.message}") for each in own),
            *self.annotations(),
        ):
            terminalreporter.write_line(line)
        if self.missing:
            terminalreporter.write_line(without_verdict(self.missing), red=True)
        if self.write_error:
            terminalreporter.write_line(self.write_error, red=True)
        if self.report is not None:
            terminalreporter.write_line(f"report: {self.report}")

    @property
    def ordered_verdicts(self) -> list[Verdict]:
        """Verdicts of this session so far, in the order of the suite."""
        return [self.verdicts[check.id] for check in all_checks() if check.id in self.verdicts]

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
        plan, verdicts = self.plan, {**self.known, **self.verdicts}
        suite, planned = ([check.id for check in checks] for checks in (all_checks(), plan.checks))
        try:
            report = build_report(plan.adapter, plan.settings, verdicts, suite, planned, python=plan.isolation.python)
            write_report(self.plan.report, report)
            self.report = self.plan.report
        except ReportError as error:
            self.write_error = self.write_error or f"{error}; go on with --resume"

    def _update_known_failures(self) -> None:
        try:
            self.plan.known_failures.update(self.ordered_verdicts)
        except KnownFailuresError as error:
            self.write_error = self.write_error or str(error)

    def _write_step_summary(self) -> None:
        """Append the summary to the file that GitHub Actions shows below a run."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if not path:
            return
        done = self.ordered_verdicts
        text = step_summary(self.plan.title, done, self._unexpected(), self.plan.known_failures.objections(done))
        try:
            with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            self.write_error = self.write_error or f"{path} cannot be written: {error.strerror}"

    def annotations(self) -> Iterator[str]:
        """Yield the lines that GitHub Actions turns into errors, if it runs this session."""
        if os.environ.get("GITHUB_ACTIONS") == "true":
            objections = self.plan.known_failures.objections(self.ordered_verdicts)
            yield from annotation_lines(self.plan.title, self._unexpected(), objections)

    def _unexpected(self) -> list[Script]:
        return [self.plan.script(verdict) for verdict in self.plan.known_failures.unexpected(self.ordered_verdicts)]

    def _status(self, session: pytest.Session) -> int:
        """Return the exit status that replaces pytest's own, or 0. No check without a verdict must go unnoticed."""
        if session.config.option.collectonly or self.start_error:
            return 0
        interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
        if interrupted and self.signals.received not in {0, signal.SIGINT}:  # pytest has a status for SIGINT
            return self.signals.status
        return BROKEN if self.write_error or self.missing else 0

    def _missing(self, session: pytest.Session) -> Sequence[str]:
        """Return the checks without a verdict: those that were run, and, unless the session was stopped, all chosen."""
        if session.config.option.collectonly:
            return ()
        if session.shouldfail or session.shouldstop or session.exitstatus not in TO_THE_END:
            return list(self.broken)
        every = [check.id for check in self.plan.checks]
        chosen = every if self.chosen is None or self.uncollected else self.chosen
        return [check for check in chosen if check not in self.verdicts]


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
    recorded = case.find(f"properties/property[@name='{PROPERTY}']")
    return recorded is not None and json.loads(recorded.get("value", "{}")).get("verdict") == "unsupported"


def _add_error(xml: LogXML, message: str) -> None:
    reporter = xml.node_reporter(f"{SUITE}::start")
    reporter.attrs.update(classname=SUITE, name="start")
    reporter._add_simple("error", "the engine cannot be started", message)  # noqa: SLF001 (plugins have no other way)


def without_verdict(checks: Sequence[str]) -> str:
    """Return the line that names the checks that have no verdict."""
    if not checks:
        return "every check has a verdict"
    have = "check has" if len(checks) == 1 else "checks have"
    most = ITEMS["unfinished"]
    more = f" and {len(checks) - most} more" if len(checks) > most else ""
    return f"{len(checks)} {have} no verdict: {', '.join(checks[:most])}{more}"
