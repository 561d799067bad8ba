"""What happens when a worker of pytest-xdist cannot start its engine, or dies of it? The run goes on with another.

A check in which a worker dies is run again, without the scenario that the worker died of: that one counts as
``crashed`` from then on, so that it can be made smaller, and blamed on the operator that it is about, like any other
fault.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.harness.checks import Check
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE
from refgrad.pytest_plugin.crash import Traces, crash_verdict
from refgrad.pytest_plugin.recording import Recorder
from refgrad.report import failure_text

MOST_DEATHS: Final = 200
"""How many workers may die before a check in which one does is not run again."""

MOST_DEATHS_OF_A_CHECK: Final = 30
"""How many may die in one check."""


class Foreman:
    """Tells workers what they need to know, and looks after those that die. Its hooks are pytest-xdist's."""

    def __init__(self, recorder: Recorder) -> None:
        """``recorder`` knows the plan, and what is known already."""
        self.recorder = recorder
        self._folder = tempfile.TemporaryDirectory(prefix="refgrad-")
        self._traces = Traces(Path(self._folder.name))
        self._ready: set[str] = set()
        self._deaths: Counter[str] = Counter()

    def pytest_sessionfinish(self) -> None:
        """Clean up."""
        self._folder.cleanup()

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what is known, and where it leaves the scenario that it runs."""
        node.workerinput[PROPERTY] = {
            "known": [verdict.to_json() for verdict in self.recorder.known.values()],
            "worker": node.gateway.id,
            "traces": str(self._traces.folder),
        }

    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Remember that a worker has started its engine."""
        self._ready.add(node.gateway.id)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Give up where a worker could not start its engine, or died of it."""
        output: Mapping[str, str] = getattr(node, "workeroutput", {})
        if PROPERTY in output:
            self.recorder.give_up(output[PROPERTY])
        if error and error != "keyboard-interrupt" and node.gateway.id not in self._ready:
            name = self.recorder.plan.adapter.name
            self.recorder.give_up(f"engine {name!r} cannot be started: its process died")

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Run a check in which a worker died again; if that does not help, its verdict is that it crashed."""
        checks = {check.id: check for check in self.recorder.plan.checks}
        check = checks.get(crashitem.removeprefix(f"{SUITE}::"))
        if check is None:
            return
        scenario = self._traces.last(report.node.gateway.id)
        if scenario is not None and self._may_run_again(check):
            self._traces.condemn(scenario)
            try:
                sched.mark_test_pending(crashitem)
            except NotImplementedError:  # some of pytest-xdist's ways to distribute items cannot
                pass
            else:
                report.outcome = "rerun"  # type: ignore[assignment]  # pytest-xdist's own word for it
                return
        verdict = crash_verdict(check, self.recorder.plan.options.engine, scenario)
        report.user_properties.append((PROPERTY, verdict.to_json()))
        report.longrepr = failure_text(verdict)
        if verdict.level != "MUST":
            report.outcome, report.wasxfail = "skipped", verdict.message

    def _may_run_again(self, check: Check) -> bool:
        self._deaths[check.id] += 1
        return self._deaths[check.id] <= MOST_DEATHS_OF_A_CHECK and self._deaths.total() <= MOST_DEATHS
