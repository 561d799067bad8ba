"""Workers of pytest-xdist: distribution of checks, and replacement of workers that die.

An engine has a process of its own, so that it rarely kills a worker: only the reference engine, and engines graded with
``--refgrad-in-process``, run in the worker. A check in which workers die repeatedly has the verdict ``crashed``.

The checks of one operator run on one worker. They share boundary cases, which a worker caches, and use each other's
verdicts, for which no other worker has to wait.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScheduling

from refgrad.facts import Blocked, Died, Evidence, Fact
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.process import FROM_OUTSIDE
from refgrad.pytest_plugin.conformance import PROPERTY, SUITE, Running, as_property
from refgrad.pytest_plugin.recording import SessionRecorder
from refgrad.report.ci import failure_text

QUEUED: Final = 3
"""Smallest number of items of a worker, including the running one: it starts none before it knows the next."""

SHARES: Final = 4
"""Approximate smallest number of messages in which a worker gets its part of the remaining items."""


class OperatorScheduling(LoadScheduling):  # type: ignore[misc]  # pytest-xdist publishes no types
    """Sends a worker the next items of its current operator, and then those of an operator that no other worker has.

    An item without an operator is a group of its own. All else is pytest-xdist's distribution by load.
    """

    def __init__(self, config: pytest.Config, log: Any, checks: Iterable[Check]) -> None:
        """Map the items of ``checks`` to their operators."""
        super().__init__(config, log)
        self._operators = {f"{SUITE}::{check.id}": check.operator_name for check in checks}
        self._at: dict[Any, str] = {}

    def check_schedule(self, node: Any, duration: float = 0.0) -> None:  # noqa: ARG002 (pytest-xdist's signature)
        """Send more items to a worker that soon has none, or shut it down if there are none."""
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif (lacking := QUEUED - len(self.node2pending[node])) > 0:
            self._send_tests(node, lacking)

    def _send_tests(self, node: Any, num: int) -> None:
        """Send a worker at least ``num`` items in one message, with further items of the last one's operator.

        It gets a share of the remaining items at most, or ``num`` if that is more, so that no worker is left with all.
        """
        most = max(num, len(self.pending) // (SHARES * len(self.nodes)))
        rest: list[int] = list(self.pending)
        chosen: list[int] = []
        while rest and len(chosen) < num:
            first = self._next(node, rest)
            group = self._at[node] = self._groups[first]
            of_group = [number for number in rest if self._groups[number] == group]
            chosen += of_group[: most - len(chosen)]
            rest = [number for number in rest if number not in chosen]
        self.pending[:] = [*chosen, *rest]
        super()._send_tests(node, len(chosen))

    def _next(self, node: Any, pending: Sequence[int]) -> int:
        """Return the number of the next item for a worker."""
        others = {self._at[other] for other in self.nodes if other is not node and other in self._at}
        mine = (number for number in pending if self._groups[number] == self._at.get(node))
        unshared = (number for number in pending if self._groups[number] not in others)
        return next(mine, next(unshared, pending[0]))

    @cached_property
    def _groups(self) -> list[str]:
        """Operator of each item of the collection, or the id of an item without one."""
        assert self.collection is not None
        return [self._operators.get(item) or item for item in self.collection]


MOST_DEATHS: Final = 200
"""Number of workers that may die before a check in which one dies is not run again."""

MOST_TRIES: Final = 3
"""How often a check is run again after its worker died, or a worker that was killed before it started its engine."""

WORKERS_DIED: Final = "the process that graded it died, each time that the check was run"

SECONDS_STOPPED: Final = 6.0
"""Time in seconds after which a worker that is stopped by a signal is replaced."""

SAMPLES: Final = 3
"""Number of times that a worker's state is read within ``SECONDS_STOPPED``, and found to be stopped each time."""

SECONDS_TO_END: Final = 5
"""Time in seconds that a worker whose connection broke may take to end."""


@dataclass(eq=False)
class WorkerSupervision:
    """Sends workers the data that they need, and replaces those that die. Its hooks are pytest-xdist's.

    ``shared`` is the path of the verdicts that workers share.
    """

    recorder: SessionRecorder
    shared: str
    _nodes: list[Any] = field(default_factory=list)
    _finished: threading.Event = field(default_factory=threading.Event)
    _ready: set[str] = field(default_factory=set)
    _deaths: Counter[str] = field(default_factory=Counter)
    _stillborn: int = 0

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
            if killed_from_outside(node) and self._stillborn <= MOST_TRIES:
                return
            name = self.recorder.plan.adapter.name
            self.recorder.give_up(f"engine {name!r} cannot be started: its process died")

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Run a check again in which a worker died. After too many deaths its verdict is ``crashed``."""
        name = crashitem.removeprefix(f"{SUITE}::")
        check = next((check for check in self.recorder.plan.checks if check.id == name), None)
        if check is None:
            return
        self._deaths[check.id] += 1
        if self._deaths[check.id] <= MOST_TRIES and self._deaths.total() <= MOST_DEATHS:
            with suppress(NotImplementedError):  # some schedulers of pytest-xdist cannot
                sched.mark_test_pending(crashitem)
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


def _crashed(check: Check, operator: str) -> list[Verdict]:
    """Return the verdicts on a check in which workers died and on the check of the operator that they ran."""
    culprit = check_named(f"operators/{operator}") if operator else check
    if culprit.id == check.id:
        return [_verdict(check, "crashed", Died(detail=WORKERS_DIED))]
    return [_verdict(check, "inconclusive", Blocked(cause=culprit.id), culprit.id), *_crashed(culprit, operator)]


def _verdict(check: Check, outcome: Outcome, fact: Fact, cause: str = "") -> Verdict:
    about = (check.id, check.chapter, check.operator_name, check.level, outcome, check.statement, fact.message())
    return Verdict(*about, evidence=Evidence(fact), cause=cause)


def popen_of(node: Any) -> subprocess.Popen[bytes] | None:
    """Return the process of a worker, or None if it is not known."""
    process: subprocess.Popen[bytes] | None = getattr(getattr(node.gateway, "_io", None), "popen", None)
    return process


def is_stopped(pid: int) -> bool:
    """Return True if a process is stopped by a signal; False if the system does not provide its state."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return status.rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def killed_from_outside(node: Any) -> bool:
    """Return True if a worker ended by a signal that no engine raises in its own process; False if unknown."""
    process = popen_of(node)
    try:
        return process is not None and -process.wait(SECONDS_TO_END) in FROM_OUTSIDE
    except subprocess.TimeoutExpired:
        return False
