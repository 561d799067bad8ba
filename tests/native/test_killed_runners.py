"""A runner that is killed from outside is replaced, and no verdict shows that it was."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.native.runner import ProcessRunner

pytestmark = pytest.mark.disturbed

CHOSEN = ("operators/ad", "operators/mu", "accumulation/", "contracts/ad")
CHECKS = [check for check in all_checks() if check.id.startswith(CHOSEN)]


class Killer(threading.Thread):
    """Kills the process of a runner at random moments, so many times."""

    def __init__(self, runner: ProcessRunner, times: int) -> None:
        super().__init__(daemon=True)
        self.runner, self.times, self.done = runner, times, 0
        self.random, self.stopped = Random(times), threading.Event()  # noqa: S311 (moments of a test)

    def run(self) -> None:
        """Kill, and wait until the next process has had time to answer something."""
        while self.done < self.times and not self.stopped.wait(self.random.uniform(0.8, 1.2)):
            process = self.runner._process  # noqa: SLF001 (what a user could find in a list of processes)
            if process is not None and (pid := process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.done += 1


@contextmanager
def graded(times: int) -> Iterator[tuple[list[Verdict], Killer]]:
    adapter = find_adapter("refgrad")
    runner = ProcessRunner(adapter)
    killer = Killer(runner, times)
    killer.start()
    try:
        bench = Bench(Engine(adapter, runner), settings=Settings("smoke"))
        found = [bench.grade(check) for check in CHECKS]
        while killer.done < times:
            bench = Bench(Engine(adapter, runner), settings=Settings("smoke"))
            found = [bench.grade(check) for check in CHECKS]
        yield found, killer
    finally:
        killer.stopped.set()
        runner.stop()


@pytest.mark.parametrize("times", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_verdicts_are_those_of_a_run_that_nobody_disturbed(times: int) -> None:
    with graded(0) as (undisturbed, _), graded(times) as (disturbed, killer):
        assert killer.done == times
        assert disturbed == undisturbed
        assert {verdict.verdict for verdict in disturbed} <= {"passed", "convention", "inconclusive"}
