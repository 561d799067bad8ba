"""The output of checks on pytest's terminal: a letter and a word for each, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest

from refgrad.grading.judging.verdict import OUTCOMES, Outcome
from refgrad.native.text import plain_line
from refgrad.pytest_plugin.conformance import verdicts_in
from refgrad.pytest_plugin.recording import SessionRecorder

OWN_LETTERS: Mapping[str, str] = MappingProxyType({"convention": "c", "inconclusive": "i"})
"""Outcomes that pass, but have letters of their own, since they deserve attention."""

NAMED = 10
"""Largest number of checks without a verdict that are named."""

Status = tuple[str, str, str]


class Narrator:
    """Prints which engine is graded, and the verdicts."""

    def __init__(self, recorder: SessionRecorder) -> None:
        """Take the recorder of the verdicts."""
        self.recorder = recorder

    def pytest_report_header(self) -> str:
        """Return the line of pytest's header that names the engine."""
        plan = self.recorder.plan
        return f"refgrad: grading {plan.title}, {len(plan.checks)} checks"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Status | None:
        """Return the verdict of a check in place of pytest's own word for its outcome."""
        if report.outcome not in {"passed", "failed", "skipped"}:
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
        verdicts = self.recorder.ordered_verdicts
        if not verdicts and not self.recorder.missing:
            return
        terminalreporter.section(f"refgrad: {self.recorder.plan.title}")
        counted: Counter[Outcome] = Counter(verdict.verdict for verdict in verdicts)
        terminalreporter.write_line(
            ", ".join(f"{counted[name]} {name}" for name in reversed(OUTCOMES) if counted[name])
        )
        for verdict in verdicts:
            if verdict.verdict in OWN_LETTERS:
                terminalreporter.write_line(plain_line(f"{verdict.verdict}: {verdict.id}: {verdict.message}"))
        for line in self.recorder.annotations():
            terminalreporter.write_line(line)
        if self.recorder.missing:
            terminalreporter.write_line(without_verdict(self.recorder.missing), red=True)
        if self.recorder.write_error:
            terminalreporter.write_line(self.recorder.write_error, red=True)
        if self.recorder.report is not None:
            terminalreporter.write_line(f"report: {self.recorder.report}")


def without_verdict(checks: Sequence[str]) -> str:
    """Return the line that names the checks that have no verdict."""
    if not checks:
        return "every check has a verdict"
    have = "check has" if len(checks) == 1 else "checks have"
    more = f" and {len(checks) - NAMED} more" if len(checks) > NAMED else ""
    return f"{len(checks)} {have} no verdict: {', '.join(checks[:NAMED])}{more}"
