"""A run that is told to end, or whose processes are killed at any moment, goes on and ends like an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from refgrad.report.document import read_report
from tests.cli.conftest import Terminal
from tests.signals import ignoring

pytestmark = pytest.mark.disturbed

SLOW = ("toy:SLOW", "--profile", "smoke", "--select", "sharing/*", "--select", "operators/a[bcd]*")


class Run:
    """A run of ``refgrad grade`` that goes on while the test does something to it."""

    def __init__(self, folder: Path, workers: int = 1, ignored: Sequence[int] = ()) -> None:
        grade = [sys.executable, "-m", "refgrad", "grade", *SLOW, "--workers", str(workers)]
        command = ignoring(ignored, grade)
        self.folder = folder
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def wait_for_verdicts(self, count: int) -> None:
        """Wait until so many verdicts are journalled, or the run has ended."""
        journal = self.folder / "out" / "slow.journal.jsonl"
        while self.process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > count):
            time.sleep(0.01)

    @property
    def workers(self) -> list[int]:
        """The processes that run the checks."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(path.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == self.process.pid:
                found.append(int(path.parent.name))
        return found

    def end(self) -> tuple[int, str]:
        """Wait for the end of the run, and return its status and what it wrote to stderr."""
        errors = self.process.communicate(timeout=300)[1]
        return self.process.returncode, errors


Undisturbed = Callable[[Terminal], bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")

    def report(terminal: Terminal) -> bytes:
        path = folder / "slow.json"
        return path.read_bytes() if path.exists() else whole(terminal, path, "--output", str(folder))

    return report


def resume(terminal: Terminal) -> bytes:
    return whole(terminal, terminal.folder / "out" / "slow.json", "--resume")


def whole(terminal: Terminal, report: Path, *arguments: str) -> bytes:
    """Run to the end in this process, and return the report."""
    finished = terminal.grade(*SLOW, *arguments)
    assert (finished.status, finished.errors) == (0, "")
    return report.read_bytes()


@pytest.mark.parametrize(
    ("number", "word", "workers"),
    [
        (signal.SIGHUP, "hangup", 1),
        (signal.SIGINT, "interrupted", 2),
        (signal.SIGQUIT, "quit", 1),
        (signal.SIGTERM, "terminated", 2),
    ],
)
def test_a_run_that_is_told_to_end_writes_what_is_known_and_goes_on(
    terminal: Terminal, undisturbed: Undisturbed, number: int, word: str, workers: int
) -> None:
    run = Run(terminal.folder, workers)
    run.wait_for_verdicts(2)
    os.kill(run.process.pid, number)
    ended, errors = run.end()
    assert ended == 128 + number, errors
    assert errors.startswith(f"Error: {word}: ")
    assert errors.endswith("; go on with --resume\n")
    assert len(errors.splitlines()) == 1
    document = read_report(terminal.folder / "out" / "slow.json")
    assert document.summary["run"] >= 2
    assert document.summary["not_run"] > 0
    assert not list((terminal.folder / "out").glob(".*"))
    assert resume(terminal) == undisturbed(terminal)


def test_a_run_under_nohup_goes_on_after_a_hangup(terminal: Terminal, undisturbed: Undisturbed) -> None:
    run = Run(terminal.folder, ignored=(signal.SIGHUP,))
    run.wait_for_verdicts(2)
    os.kill(run.process.pid, signal.SIGHUP)
    assert run.end() == (0, "")
    assert (terminal.folder / "out" / "slow.json").read_bytes() == undisturbed(terminal)


def kill_a_worker(run: Run) -> None:
    workers = run.workers
    if workers:
        os.kill(random.choice(workers), signal.SIGKILL)  # noqa: S311 (which one does not matter)


def stop_a_worker(run: Run) -> None:
    workers = run.workers
    if workers:
        os.kill(random.choice(workers), signal.SIGSTOP)  # noqa: S311 (as above)


def kill_the_grader(run: Run) -> None:
    os.kill(run.process.pid, signal.SIGKILL)


def is_undisturbed_in_the_end(terminal: Terminal, disturb: Callable[[Run], None], wait: Callable[[Run], None]) -> bytes:
    run = Run(terminal.folder, workers=2)
    wait(run)
    if run.process.poll() is None:
        disturb(run)
    run.end()
    return resume(terminal)


@pytest.mark.parametrize("count", [pytest.param(0, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("disturb", [kill_a_worker, kill_the_grader, stop_a_worker])
def test_a_run_in_which_a_process_is_killed_ends_like_one_that_is_not(
    terminal: Terminal, undisturbed: Undisturbed, disturb: Callable[[Run], None], count: int
) -> None:
    report = is_undisturbed_in_the_end(terminal, disturb, lambda run: run.wait_for_verdicts(count))
    assert report == undisturbed(terminal)


def test_a_killed_run_leaves_no_files_once_it_is_resumed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary, out = terminal.folder / "tmp", terminal.folder / "out"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    is_undisturbed_in_the_end(terminal, kill_the_grader, lambda run: run.wait_for_verdicts(1))
    assert not list(temporary.iterdir())
    assert sorted(path.name for path in out.iterdir()) == ["slow.journal.jsonl", "slow.json"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(50))
@pytest.mark.parametrize("disturb", [kill_a_worker, kill_the_grader])
def test_a_run_in_which_a_process_is_killed_at_any_moment_ends_like_one_that_is_not(
    terminal: Terminal, undisturbed: Undisturbed, disturb: Callable[[Run], None], moment: int
) -> None:
    seconds = random.Random(moment).uniform(0, 12)  # noqa: S311 (any moment of such a run)
    report = is_undisturbed_in_the_end(terminal, disturb, lambda _: time.sleep(seconds))
    assert report == undisturbed(terminal)


def test_two_runs_at_once_into_one_folder_are_one_run_and_one_refusal(
    terminal: Terminal, undisturbed: Undisturbed
) -> None:
    first = Run(terminal.folder)
    first.wait_for_verdicts(0)
    os.killpg(first.process.pid, signal.SIGSTOP)  # however long the other one takes
    second = Run(terminal.folder).end()
    os.killpg(first.process.pid, signal.SIGCONT)
    assert second == (2, "Error: out/slow.json is being written by another run\n")
    assert first.end() == (0, "")
    assert (terminal.folder / "out" / "slow.json").read_bytes() == undisturbed(terminal)
    journal = (terminal.folder / "out" / "slow.journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in journal[1:]}) == len(journal) - 1
