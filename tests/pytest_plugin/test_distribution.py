"""Tests of the distribution of checks among workers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.grading.checks.families import all_checks
from refgrad.pytest_plugin.conformance import SUITE
from refgrad.pytest_plugin.workers import OperatorScheduling

CHECKS = [check for check in all_checks() if check.operator_name in {"abs", "add", "exp", "matmul", "sum"}]
OTHERS = [check for check in all_checks() if not check.operator_name][:5]


class Worker:
    """Stands in for a worker: it keeps what it is sent, and runs an item once it knows the next or is to end."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw")
        self.shutting_down = False
        self.sent: list[int] = []
        self.messages = 0

    def send_runtest_some(self, numbers: Sequence[int]) -> None:
        self.sent += numbers
        self.messages += 1

    def shutdown(self) -> None:
        self.shutting_down = True

    def can_run(self, done: int) -> bool:
        return len(self.sent) > done + (not self.shutting_down)


def scheduler(items: Sequence[str], workers: Sequence[Worker]) -> OperatorScheduling:
    values = {"tx": ["popen"] * len(workers), "maxschedchunk": 1, "numprocesses": None}
    config: Any = SimpleNamespace(getvalue=values.get, getoption=values.get, option=SimpleNamespace(**values))
    log = SimpleNamespace(loadsched=lambda *_: None)
    schedule = OperatorScheduling(config, log, all_checks())
    for worker in workers:
        schedule.add_node(worker)
        schedule.add_node_collection(worker, items)
    schedule.schedule()
    return schedule


def run(
    schedule: OperatorScheduling, workers: Sequence[Worker], turns: Any, begun: Sequence[int] = (0, 0)
) -> list[list[int]]:
    """Let the workers that ``turns`` names complete their next item, until none is left; return what each has run.

    ``begun`` says how many each has completed before.
    """
    done: list[list[int]] = [[] for _ in workers]
    while schedule.has_pending:
        ready = [i for i, worker in enumerate(workers) if worker.can_run(begun[i] + len(done[i]))]
        chosen = turns(ready)
        number = workers[chosen].sent[begun[chosen] + len(done[chosen])]
        done[chosen].append(number)
        schedule.mark_test_complete(workers[chosen], number)
    return done


@given(st.data())
def test_every_item_is_run_once_and_a_worker_finishes_an_operator_before_it_begins_another(data: st.DataObject) -> None:
    checks = data.draw(st.permutations([*CHECKS, *OTHERS]))
    workers = [Worker(), Worker()]
    schedule = scheduler([f"{SUITE}::{check.id}" for check in checks], workers)
    done = run(schedule, workers, lambda ready: data.draw(st.sampled_from(ready)))
    assert sorted(done[0] + done[1]) == list(range(len(checks)))
    for own in done:
        met = [checks[number].operator_name or checks[number].id for number in own]
        changes = [name for name, before in zip(met, [None, *met], strict=False) if name != before]
        assert len(changes) == len(set(changes))


@given(st.integers(0, len(CHECKS) - 1))
def test_what_a_worker_that_died_was_at_is_run_by_another(turns: int) -> None:
    checks = [*CHECKS, *OTHERS]
    workers = [Worker(), Worker()]
    schedule = scheduler([f"{SUITE}::{check.id}" for check in checks], workers)
    done = []
    for turn in range(turns):
        worker = workers[turn % 2]
        done.append(worker.sent[turn // 2])
        schedule.mark_test_complete(worker, done[-1])
    crashed = schedule.remove_node(workers[0])
    assert crashed == f"{SUITE}::{checks[workers[0].sent[(turns + 1) // 2]].id}"
    schedule.mark_test_pending(crashed)
    done += run(schedule, [workers[1]], min, [turns // 2])[0]
    assert sorted(done) == list(range(len(checks)))


def test_items_that_are_no_checks_are_run_too() -> None:
    workers = [Worker(), Worker()]
    schedule = scheduler(["test_one.py::test_a", "test_one.py::test_b", f"{SUITE}::{CHECKS[0].id}"], workers)
    done = run(schedule, workers, min)
    assert sorted(done[0] + done[1]) == [0, 1, 2]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_worker_is_sent_an_operator_at_once_as_long_as_there_are_many(count: int) -> None:
    checks = all_checks()
    workers = [Worker() for _ in range(count)]
    schedule = scheduler([f"{SUITE}::{check.id}" for check in checks], workers)
    run(schedule, workers, lambda ready: ready[0], [0] * count)
    groups = {check.operator_name or check.id for check in checks}
    assert sum(worker.messages for worker in workers) < 1.1 * len(groups)
