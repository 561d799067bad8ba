"""Supervision of pytest-xdist's workers: one that dies is replaced, and the run goes on.

A check in which a worker dies is run again. Where it was the engine that took the worker down, that is done without
the scenario that the worker died of: that one counts as ``crashed`` from then on, so that it can be made smaller, and
blamed on the operator that it is about, like any other fault. A worker that was killed from outside proves nothing, and
the check is run again as it was.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.grading.checks.check import Check
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE
from refgrad.pytest_plugin.crash import LastScenarios, crash_verdict
from refgrad.pytest_plugin.recording import Recorder
from refgrad.report import failure_text

MOST_DEATHS: Final = 200
"""How many workers may die before a check in which one does is not run again."""

MOST_DEATHS_OF_A_CHECK: Final = 30
"""How many may die in one check."""

MOST_KILLED: Final = 3
"""How often a check is run again as it was after its worker was killed from outside."""

FROM_OUTSIDE: Final = frozenset(
    -number for number in signal.Signals if number.name in {"SIGHUP", "SIGINT", "SIGKILL", "SIGTERM"}
)
"""Exit statuses of processes that were killed, as no engine kills its own."""

SECONDS_TO_END: Final = 5
"""How long a worker whose connection broke may take to end."""


class WorkerSupervision:
    """Tells workers what they need to know, and replaces those that die. Its hooks are pytest-xdist's."""

    def __init__(self, recorder: Recorder) -> None:
        """``recorder`` knows the plan, and what is known already."""
        self.recorder = recorder
        self._folder = tempfile.TemporaryDirectory(prefix="refgrad-")
        self._last = LastScenarios(Path(self._folder.name))
        self._ready: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._killed: Counter[str] = Counter()
        self._stillborn = 0

    def pytest_sessionfinish(self) -> None:
        """Clean up."""
        self._folder.cleanup()

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what is known, and where it leaves the scenario that it runs."""
        node.workerinput[PROPERTY] = {
            "known": [verdict.to_json() for verdict in self.recorder.known.values()],
            "worker": node.gateway.id,
            "last": str(self._last.folder),
        }

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Remember that a worker has started its engine, and which checks are to be run."""
        self._ready.add(node.gateway.id)
        self.recorder.chosen = [name.removeprefix(f"{SUITE}::") for name in ids if name.startswith(f"{SUITE}::")]

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Give up where a worker could not start its engine, or died of it."""
        output: Mapping[str, str] = getattr(node, "workeroutput", {})
        if PROPERTY in output:
            self.recorder.give_up(output[PROPERTY])
        if error and error != "keyboard-interrupt" and node.gateway.id not in self._ready:
            self._stillborn += 1
            if killed_from_outside(node) and self._stillborn <= MOST_KILLED:
                return
            name = self.recorder.plan.adapter.name
            self.recorder.give_up(f"engine {name!r} cannot be started: its process died")

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Run a check in which a worker died again; if that does not help, its verdict is that it crashed."""
        checks = {check.id: check for check in self.recorder.plan.checks}
        check = checks.get(crashitem.removeprefix(f"{SUITE}::"))
        if check is None:
            return
        scenario = self._last.last(report.node.gateway.id)
        innocent = killed_from_outside(report.node) and self._may_be_killed_again(check)
        if innocent or (scenario is not None and self._may_run_again(check)):
            if scenario is not None and not innocent:
                self._last.quarantine(scenario)
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

    def _may_be_killed_again(self, check: Check) -> bool:
        """Whether it may still be chance that its workers are killed: where memory is used up, they are, too."""
        self._killed[check.id] += 1
        return self._killed[check.id] <= MOST_KILLED

    def _may_run_again(self, check: Check) -> bool:
        self._deaths[check.id] += 1
        return self._deaths[check.id] <= MOST_DEATHS_OF_A_CHECK and self._deaths.total() <= MOST_DEATHS


def killed_from_outside(node: Any) -> bool:
    """Whether a worker ended by a signal that no engine raises in its own process; False where that is not known."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    try:
        return process is not None and process.wait(SECONDS_TO_END) in FROM_OUTSIDE
    except subprocess.TimeoutExpired:
        return False
