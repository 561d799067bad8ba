"""How does what the checks find outlive the session? The controlling process writes it down as it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from refgrad.harness import Verdict
from refgrad.harness.checks import all_checks
from refgrad.pytest_plugin.conformance import SUITE, verdict_in
from refgrad.pytest_plugin.plan import Plan
from refgrad.report import build_document, document_path, write_document

CANNOT_START = 3
"""The exit status of a session whose engine cannot be started."""


class Recorder:
    """Keeps the verdicts of a session: in the journal at once, in the report at its end, however it ends.

    ``start_error`` says why the engine could not be started; ``broken`` holds the checks that refgrad itself failed at,
    with the traceback.
    """

    def __init__(self, plan: Plan, known: Mapping[str, Verdict]) -> None:
        """``known`` are the verdicts of the run that is resumed."""
        self.plan = plan
        self.known = known
        self.verdicts: dict[str, Verdict] = {}
        self.broken: dict[str, str] = {}
        self.start_error = ""
        self.report: Path | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin a journal, unless one is gone on with."""
        journal = self.plan.journal
        if journal is not None and not self.known and not session.config.option.collectonly:
            journal.begin(self.plan.header)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what a report carries."""
        verdict = verdict_in(report)
        if verdict is not None:
            self._record(verdict)
        elif report.failed and report.nodeid.startswith(f"{SUITE}::"):
            self.broken[report.nodeid.partition("::")[2]] = report.longreprtext

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report, of as much as is known."""
        output = self.plan.options.output
        if output is None or self.start_error or session.config.option.collectonly:
            return
        suite = [check.id for check in all_checks()]
        document = build_document(self.plan.adapter, self.plan.settings, {**self.known, **self.verdicts}, suite)
        self.report = document_path(output, self.plan.adapter.name)
        write_document(self.report, document)

    @property
    def found(self) -> list[Verdict]:
        """The verdicts of this session so far, in the order of the suite."""
        return [self.verdicts[check.id] for check in self.plan.checks if check.id in self.verdicts]

    def give_up(self, message: str) -> None:
        """End the session, since the engine cannot be started."""
        self.start_error = message
        pytest.exit(message, returncode=CANNOT_START)

    def _record(self, verdict: Verdict) -> None:
        self.verdicts[verdict.id] = verdict
        journal = self.plan.journal
        if journal is not None and verdict.id not in self.known:
            journal.append(verdict)
