"""Is a verdict that several workers need made once, whatever becomes of the first that makes it?"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from refgrad.grading.journal import SharedVerdicts
from refgrad.grading.judging.verdict import Verdict
from tests.grading.broken import bench, verdict

pytestmark = pytest.mark.turns(2)

SPAWN = multiprocessing.get_context("spawn")


def computed(check: str = "operators/exp", message: str = "") -> Verdict:
    return Verdict(
        id=check, chapter="operators", operator="exp", level="MUST", verdict="passed", statement="s", message=message
    )


def slowly(path: Path, name: str) -> None:
    """Make a verdict in a process of its own, and note who did."""

    def make() -> Verdict:
        (path.parent / f"by-{name}").touch()
        time.sleep(0.5)
        return computed(message=name)

    SharedVerdicts(path).computed_once("operators/exp", make)


def for_ever(path: Path) -> None:
    """Take the lock, leave half a line, and never end."""

    def make() -> Verdict:
        path.write_text('\noperators/exp {"id": "oper', encoding="utf-8")
        (path.parent / "locked").touch()
        time.sleep(600)
        return computed()

    SharedVerdicts(path).computed_once("operators/exp", make)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts"


@pytest.fixture
def shared(path: Path) -> Iterator[SharedVerdicts]:
    with closing(SharedVerdicts(path)) as shared:
        yield shared


@pytest.fixture
def other(path: Path) -> Iterator[SharedVerdicts]:
    with closing(SharedVerdicts(path)) as other:
        yield other


def test_a_verdict_that_one_worker_computed_is_read_by_another(shared: SharedVerdicts, other: SharedVerdicts) -> None:
    first = verdict(bench(operators={"exp": "torch.exp({x}) * 2"}), "operators/exp")
    assert shared.computed_once(first.id, lambda: first) == first
    assert shared.computed_once(first.id, lambda: pytest.fail("made twice")) == first
    assert other.computed_once(first.id, lambda: pytest.fail("made twice")) == first
    assert shared.computed_once("operators/sin", lambda: computed("operators/sin")).id == "operators/sin"


def test_of_several_processes_one_makes_it(path: Path) -> None:
    processes = [SPAWN.Process(target=slowly, args=(path, str(number))) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(list(path.parent.glob("by-*"))) == 1


def test_where_a_worker_dies_the_next_one_makes_it(path: Path, shared: SharedVerdicts, other: SharedVerdicts) -> None:
    process = SPAWN.Process(target=for_ever, args=(path,))
    process.start()
    while not (path.parent / "locked").exists():
        assert process.is_alive()
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert shared.computed_once("operators/exp", lambda: computed(message="second")).message == "second"
    assert other.computed_once("operators/exp", lambda: computed(message="third")).message == "second"
    process.join()


def test_a_failed_attempt_leaves_nothing(shared: SharedVerdicts) -> None:
    with pytest.raises(ZeroDivisionError):
        shared.computed_once("operators/exp", lambda: computed(message=str(1 / 0)))
    assert shared.computed_once("operators/exp", lambda: computed(message="second")).message == "second"


def test_a_verdict_that_cannot_be_written_is_computed_by_each_worker(
    shared: SharedVerdicts, other: SharedVerdicts
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        assert shared.computed_once("operators/exp", lambda: computed(message="first")).message == "first"
        assert other.computed_once("operators/exp", lambda: computed(message="second")).message == "second"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
