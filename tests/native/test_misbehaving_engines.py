"""An engine that misbehaves in one operator gets the verdict on that operator, and its own on every other one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.search import SEARCH
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.engine import Engine
from refgrad.native.process import Limits
from refgrad.native.runner import ProcessRunner
from tests.native.misbehaving_engines import (
    LEFT_BEHIND,
    MISBEHAVIOURS,
    Misbehaviour,
    leaving_a_child,
    leaving_a_daemon,
)

pytestmark = pytest.mark.disturbed

LIMITS = Limits(start=60.0, program=20.0, memory=1 << 27)
CRASHES = 1
"""The processes and further scenarios that a search spends here: what is behind the first crash is the same crash."""
SCENARIOS = 2
"""The fixed scenarios of an operator here, and as many drawn ones: some engines are started anew for each."""
PATIENCE = 0.5
"""The seconds for a program of an engine that does not answer: the sine, which does, takes a five-hundredth of it."""
KILLED_WITHIN = 10.0
"""The seconds in which a killed child must be gone: it would sleep six times as long by itself."""
CHECKS = {check.id: check for check in all_checks()}


@contextmanager
def running(misbehaviour: Misbehaviour) -> Iterator[Bench]:
    """Grade an engine in a process of its own."""
    adapter = misbehaviour.adapter()
    limits = replace(LIMITS, program=PATIENCE) if misbehaviour.outcome == "hung" else LIMITS
    runner = ProcessRunner(adapter, limits=limits)
    try:
        yield Bench(Engine(adapter, runner), settings=Settings("smoke"))
    finally:
        runner.stop()


def outcome(bench: Bench, check: Check) -> Outcome:
    return bench.grade(check).verdict


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda each: each.name)
def test_the_check_that_meets_it_gets_its_verdict_and_the_next_one_its_own(
    misbehaviour: Misbehaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCH, "most_crashed", CRASHES)
    monkeypatch.setitem(SEARCH, "most_hung", CRASHES)
    monkeypatch.setitem(SEARCH, "most_for_another", CRASHES)
    for tried in ("operators", "fixed_cases"):
        monkeypatch.setitem(EFFORTS["smoke"], tried, SCENARIOS)
    with running(misbehaviour) as bench:
        assert outcome(bench, CHECKS["operators/exp"]) == misbehaviour.outcome
        assert outcome(bench, CHECKS["operators/sin"]) == "passed"


def test_there_are_enough_of_them() -> None:
    assert len(MISBEHAVIOURS) >= 40


@pytest.mark.parametrize(
    ("name", "most"), [("leaves with status 3", SEARCH["most_crashed"]), ("never ends", SEARCH["most_hung"])]
)
def test_a_check_spends_one_process_before_its_search_and_one_behind_it(name: str, most: int) -> None:
    (misbehaviour,) = (each for each in MISBEHAVIOURS if each.name == name)
    with running(misbehaviour) as bench:
        outcome(bench, CHECKS["operators/exp"])
        assert bench.engine.runner.endings <= 2 + most


CHILDREN: dict[str, tuple[Callable[[str], str], Outcome]] = {
    "a child": (lambda path: leaving_a_child(f"open({path!r}, 'a').write(f'{{child.pid}}\\n')"), "crashed"),
    "a daemon": (lambda path: leaving_a_daemon(f"open({path!r}, 'a').write(f'{{os.getpid()}}\\n')"), "passed"),
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_nothing_is_left_running(tmp_path: Path, kind: str) -> None:
    """Other workers run the same engine at the same time, so each child that this one starts is written down."""
    started = tmp_path / "children"
    lines, expected = CHILDREN[kind]
    with running(Misbehaviour(f"leaves {kind}", lines(str(started)), expected)) as bench:
        assert outcome(bench, CHECKS["operators/exp"]) == expected
    children = [int(pid) for pid in started.read_text(encoding="utf-8").split()]
    assert children
    assert not [pid for pid in children if outlives(pid)]


def outlives(pid: int) -> bool:
    """Whether a child still runs some seconds after the end of its engine: a kill is not done when it is asked for."""
    deadline = time.monotonic() + KILLED_WITHIN
    while command_of(pid) == LEFT_BEHIND:
        if time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    return False


def command_of(pid: int) -> tuple[str, ...]:
    """Return the words of a process that runs; one that nobody has waited for has none."""
    try:
        told = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ()
    return tuple(told.split("\0")[:-1])
