"""Is a verdict that several workers need made once, whatever becomes of the first that makes it?"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.shared_verdicts import SharedVerdicts
from tests.grading.broken import bench, verdict

SPAWN = multiprocessing.get_context("spawn")


def made(check: str = "operators/exp", message: str = "") -> Verdict:
    return Verdict(
        id=check, chapter="operators", operator="exp", level="MUST", verdict="passed", statement="s", message=message
    )


def slowly(folder: Path, name: str) -> None:
    """Make a verdict in a process of its own, and note who did."""

    def make() -> Verdict:
        (folder.parent / f"by-{name}").touch()
        time.sleep(0.5)
        return made(message=name)

    SharedVerdicts(folder).made_once("operators/exp", make)


def for_ever(folder: Path) -> None:
    """Take the lock, leave half a line, and never end."""

    def make() -> Verdict:
        (folder / "operators%2Fexp").write_text('{"id": "oper', encoding="utf-8")
        (folder.parent / "locked").touch()
        time.sleep(600)
        return made()

    SharedVerdicts(folder).made_once("operators/exp", make)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "verdicts"
    path.mkdir()
    return path


def test_what_one_has_made_another_reads(folder: Path) -> None:
    first = verdict(bench(operators={"exp": "torch.exp({x}) * 2"}), "operators/exp")
    shared = SharedVerdicts(folder)
    assert shared.made_once(first.id, lambda: first) == first
    assert shared.made_once(first.id, lambda: pytest.fail("made twice")) == first
    assert shared.made_once("operators/sin", lambda: made("operators/sin")).id == "operators/sin"


def test_of_several_processes_one_makes_it(folder: Path) -> None:
    processes = [SPAWN.Process(target=slowly, args=(folder, str(number))) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(list(folder.parent.glob("by-*"))) == 1


def test_another_waits_until_it_is_made(folder: Path) -> None:
    entered, go = threading.Event(), threading.Event()
    shared = SharedVerdicts(folder)

    def make() -> Verdict:
        entered.set()
        assert go.wait(60)
        return made(message="first")

    with ThreadPoolExecutor(2) as pool:
        pool.submit(shared.made_once, "operators/exp", make)
        assert entered.wait(60)
        other = pool.submit(shared.made_once, "operators/exp", lambda: made(message="second"))
        found, _ = wait([other], timeout=0.2)
        go.set()
        assert not found
        assert other.result().message == "first"


def test_where_a_worker_dies_the_next_one_makes_it(folder: Path) -> None:
    process = SPAWN.Process(target=for_ever, args=(folder,))
    process.start()
    while not (folder.parent / "locked").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert SharedVerdicts(folder).made_once("operators/exp", lambda: made(message="second")).message == "second"
    process.join()


def test_a_failed_attempt_leaves_nothing(folder: Path) -> None:
    shared = SharedVerdicts(folder)
    with pytest.raises(ZeroDivisionError):
        shared.made_once("operators/exp", lambda: made(message=str(1 / 0)))
    assert shared.made_once("operators/exp", lambda: made(message="second")).message == "second"
