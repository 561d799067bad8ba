"""Supervision of pytest-xdist's workers: they receive data, and if one dies, it is replaced and its check run again.

An engine has a process of its own, so that it rarely kills a worker: only the reference engine, and engines graded with
``--refgrad-in-process``, run in the worker. A check in which workers die repeatedly has the verdict ``crashed``.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.evidence import Blocked, Died, Evidence, Fact
from refgrad.grading.judging.narration import message
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.process import FROM_OUTSIDE
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE, as_property
from refgrad.pytest_plugin.distribution import OperatorScheduling
from refgrad.pytest_plugin.recording import SessionRecorder
from refgrad.pytest_plugin.running import Running
from refgrad.report.narration import failure_text

MOST_DEATHS: Final = 200
"""Number of workers that may die before a check in which one dies is not run again."""

MOST_DEATHS_OF_A_CHECK: Final = 3
"""Number of times that a check is run again after its worker died."""

MOST_STILLBORN: Final = 3
"""Number of workers that may be killed from outside before they have started their engine."""

WORKERS_DIED: Final = "the process that graded it died, each time that the check was run"

SECONDS_STOPPED: Final = 6.0
"""Time in seconds after which a worker that is stopped by a signal is replaced."""

SAMPLES: Final = 3
"""Number of samples of a worker's state in that time, all of which must find it stopped."""

SECONDS_TO_END: Final = 5
"""Time in seconds that a worker whose connection broke may take to end."""


class WorkerSupervision:
    """Sends workers the data that they need, and replaces those that die. Its hooks are pytest-xdist's."""

    def __init__(self, recorder: SessionRecorder, shared: str) -> None:
        """Take the recorder, with the plan and the known verdicts, and the path of the verdicts that workers share."""
        self.recorder = recorder
        self.shared = shared
        self._nodes: list[Any] = []
        self._finished = threading.Event()
        self._ready: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._stillborn = 0

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> OperatorScheduling | None:
        """Return a scheduler that keeps the checks of an operator on one worker, or None if --dist names another."""
        return OperatorScheduling(config, log, self.recorder.plan.checks) if config.option.dist == "load" else None

    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker the known verdicts, the adapter and the paths of its files."""
        data = {
            "known": [verdict.to_json() for verdict in self.recorder.known.values()],
            "shared": self.shared,
            "running": self._running(node).path.as_posix(),
            "adapter": self.recorder.plan.adapter_data,
        }
        node.workerinput[PROPERTY] = json.dumps(data)  # execnet cannot send names of files that are not UTF-8
        self._nodes.append(node)

    def pytest_sessionstart(self) -> None:
        """Watch the workers until the session finishes."""
        threading.Thread(target=self._watch, daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Stop watching the workers."""
        self._finished.set()

    def _watch(self) -> None:
        """Kill each worker that is stopped by a signal, so that another one runs its check."""
        stopped: Counter[int] = Counter()
        while not self._finished.wait(SECONDS_STOPPED / SAMPLES):
            for process in filter(None, map(popen_of, self._nodes)):
                pid = process.pid
                stopped[pid] = stopped[pid] + 1 if process.poll() is None and is_stopped(pid) else 0
                if stopped[pid] >= SAMPLES:
                    process.kill()

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Store that a worker has started its engine, and which checks are to be run."""
        self._ready.add(node.gateway.id)
        self.recorder.chosen = [name.removeprefix(f"{SUITE}::") for name in ids if name.startswith(f"{SUITE}::")]

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """End the session if a worker could not start its engine, or died while starting it."""
        output: Mapping[str, str] = getattr(node, "workeroutput", {})
        if PROPERTY in output:
            self.recorder.give_up(output[PROPERTY])
        if error and error != "keyboard-interrupt" and node.gateway.id not in self._ready:
            self._stillborn += 1
            if killed_from_outside(node) and self._stillborn <= MOST_STILLBORN:
                return
            name = self.recorder.plan.adapter.name
            self.recorder.give_up(f"engine {name!r} cannot be started: its process died")

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Run a check again in which a worker died. After too many deaths its verdict is ``crashed``."""
        checks = {check.id: check for check in self.recorder.plan.checks}
        check = checks.get(crashitem.removeprefix(f"{SUITE}::"))
        if check is None:
            return
        if self._may_run_again(check):
            try:
                sched.mark_test_pending(crashitem)
            except NotImplementedError:  # some schedulers of pytest-xdist cannot
                pass
            else:
                report.outcome = "rerun"  # type: ignore[assignment]  # pytest-xdist's own word for it
                return
        verdicts = _crashed(check, self._running(report.node).operator())
        report.user_properties += map(as_property, verdicts)
        verdict = verdicts[-1]
        report.longrepr = failure_text(self.recorder.plan.script(verdict))
        reason_to_accept = self.recorder.plan.known_failures.reason_to_accept(verdict)
        if reason_to_accept or verdict.level != "MUST":
            report.outcome, report.wasxfail = "skipped", reason_to_accept or verdict.message

    def _running(self, node: Any) -> Running:
        """Return the file in which a worker stores the scenario that it runs."""
        return Running(Path(f"{self.shared}.{node.gateway.id}"))

    def _may_run_again(self, check: Check) -> bool:
        self._deaths[check.id] += 1
        return self._deaths[check.id] <= MOST_DEATHS_OF_A_CHECK and self._deaths.total() <= MOST_DEATHS


def _crashed(check: Check, operator: str) -> list[Verdict]:
    """Return the verdicts on a check in which workers died and on the check of the operator that they ran."""
    culprit = check_named(f"operators/{operator}") if operator else check
    if culprit.id == check.id:
        return [_verdict(check, "crashed", Died(detail=WORKERS_DIED))]
    return [_verdict(check, "inconclusive", Blocked(cause=culprit.id), culprit.id), *_crashed(culprit, operator)]


def _verdict(check: Check, outcome: Outcome, fact: Fact, cause: str = "") -> Verdict:
    evidence = Evidence(fact)
    return Verdict(
        id=check.id,
        chapter=check.chapter,
        operator=check.operator_name,
        level=check.level,
        verdict=outcome,
        statement=check.statement,
        message=message(evidence),
        evidence=evidence,
        cause=cause,
    )


def popen_of(node: Any) -> subprocess.Popen[bytes] | None:
    """Return the process of a worker, or None if it is not known."""
    process: subprocess.Popen[bytes] | None = getattr(getattr(node.gateway, "_io", None), "popen", None)
    return process


def is_stopped(pid: int) -> bool:
    """Return True if a process is stopped by a signal; False if the system does not provide its state."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] == "T"
        )
    except (OSError, IndexError):
        return False


def killed_from_outside(node: Any) -> bool:
    """Return True if a worker ended by a signal that no engine raises in its own process; False if unknown."""
    process = popen_of(node)
    try:
        return process is not None and -process.wait(SECONDS_TO_END) in FROM_OUTSIDE
    except subprocess.TimeoutExpired:
        return False
