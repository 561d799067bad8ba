"""How does what the checks find outlive the session? The controlling process writes it down as it comes in."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from refgrad.harness import Verdict
from refgrad.harness.checks import all_checks
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE, verdict_in
from refgrad.pytest_plugin.crash import Trace, crash_verdict
from refgrad.pytest_plugin.plan import Plan
from refgrad.report import build_document, document_path, failure_text, write_document

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
        self._running = tempfile.TemporaryDirectory(prefix="refgrad-")
        self._ready: set[str] = set()

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
        self._running.cleanup()
        output = self.plan.options.output
        if output is None or self.start_error or session.config.option.collectonly:
            return
        suite = [check.id for check in all_checks()]
        document = build_document(self.plan.adapter, self.plan.settings, {**self.known, **self.verdicts}, suite)
        self.report = document_path(output, self.plan.adapter.name)
        write_document(self.report, document)

    def give_up(self, message: str) -> None:
        """End the session, since the engine cannot be started."""
        self.start_error = message
        pytest.exit(message, returncode=CANNOT_START)

    def _record(self, verdict: Verdict) -> None:
        self.verdicts[verdict.id] = verdict
        journal = self.plan.journal
        if journal is not None and verdict.id not in self.known:
            journal.append(verdict)

    # What follows are pytest-xdist's hooks.

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what is known, and where it leaves the scenario that it runs."""
        node.workerinput[PROPERTY] = {
            "known": [verdict.to_json() for verdict in self.known.values()],
            "running": str(self._scenario_file(node)),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Remember that a worker has started its engine."""
        self._ready.add(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Give up where a worker could not start its engine, or died of it."""
        output: Mapping[str, str] = getattr(node, "workeroutput", {})
        if PROPERTY in output:
            self.give_up(output[PROPERTY])
        if error and error != "keyboard-interrupt" and node.gateway.id not in self._ready:
            self.give_up(f"engine {self.plan.adapter.name!r} cannot be started: its process died")

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Turn the death of a worker into a verdict on the check that it was running; another takes its place."""
        checks = {check.id: check for check in self.plan.checks}
        check = checks.get(crashitem.removeprefix(f"{SUITE}::"))
        if check is None:
            return
        node: Any = report.node
        scenario = Trace(self._scenario_file(node)).last()
        verdict = crash_verdict(check, self.plan.options.engine, scenario)
        report.user_properties.append((PROPERTY, verdict.to_json()))
        report.longrepr = failure_text(verdict)
        if verdict.level != "MUST":
            report.outcome, report.wasxfail = "skipped", verdict.message

    def _scenario_file(self, node: Any) -> Path:
        return Path(self._running.name, node.gateway.id)
