"""What an operator gets wrong in some of its applications is found, and told with how often."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.operators.values import _unstable
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.engine import Engine
from refgrad.native.runner import ProcessRunner
from refgrad.native.statements import Code
from tests.effort import sampled
from tests.grading.broken import CHECKS, SETUP, bench, verdict
from tests.native.reference import ADAPTER

pytestmark = pytest.mark.turns(2)

SEEDS = (0, 1, 2)

COUNTED = """
import os
import random
chance = random.Random(5)
applied = [0]

def is_due(period):
    applied[0] += 1
    return applied[0] % period == 0

def wrong_gradient(x, period):
    return torch.exp(x) + (0.5 * (x - x.detach()) if is_due(period) else 0.0)

def wrong_by_chance(x):
    return torch.exp(x) + (0.5 * (x - x.detach()) if chance.random() < 0.01 else 0.0)

def raising(x, period):
    if is_due(period):
        raise RuntimeError("not this time")
    return torch.exp(x)

def ending(x, period):
    if is_due(period):
        os._exit(3)
    return torch.exp(x)

def in_another_order(x, axis, keepdims):
    if axis is not None or x.ndim != 1:
        return torch.sum(x, axis, keepdims)
    order = list(range(x.shape[0]))
    chance.shuffle(order)
    return torch.sum(x[(tuple(order),)], axis, keepdims)

def rounded_otherwise(x):
    return torch.exp(x) * 1.0000000000000002 if chance.random() < 0.5 else torch.exp(x)
"""


@pytest.fixture(autouse=True)
def time_for_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a machine that does other things besides run as often as a fast one."""
    for effort in EFFORTS.values():
        monkeypatch.setitem(effort, "seconds_of_runs", 1.0)


def graded(operator: str, spelling: str, seed: int = 0, profile: str = "standard") -> Verdict:
    graded_by = bench(COUNTED, profile, operators={operator: spelling})
    graded_by.settings = replace(graded_by.settings, seed=seed)
    return verdict(graded_by, f"operators/{operator}")


def printed(program: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    return out.getvalue()


@pytest.mark.parametrize("seed", sampled(SEEDS, 2))
@pytest.mark.parametrize("spelling", ["wrong_gradient({x}, 100)", "wrong_gradient({x}, 337)", "wrong_by_chance({x})"])
def test_a_gradient_that_is_wrong_once_in_a_hundred_applications_is_found_on_every_seed(
    spelling: str, seed: int
) -> None:
    found = graded("exp", spelling, seed)
    assert (found.verdict, found.evidence is not None and found.evidence.repeatable) == ("wrong", False)
    assert found.evidence is not None
    assert 1 <= found.evidence.seen <= 20 < found.evidence.runs == 200
    assert f"(not repeatable: seen in {found.evidence.seen} of 200 runs)" in found.message


def test_the_program_that_is_shown_is_wrong_now_and_then() -> None:
    found = graded("exp", "wrong_gradient({x}, 100)")
    (program,) = found.reproduction
    assert isinstance(program, Code)
    counts = [int(line.partition(" times ")[0]) for line in printed(program.text).splitlines() if " times " in line]
    assert sorted(counts) == [20, 1980]


def test_an_error_now_and_then_is_told_with_what_it_was() -> None:
    found = graded("exp", "raising({x}, 100)")
    assert (found.verdict, found.evidence is not None and found.evidence.runs) == ("unexpected-error", 200)
    assert "raised RuntimeError: not this time" in found.message


def test_a_process_that_ends_now_and_then_is_a_crash() -> None:
    adapter = replace(ADAPTER, setup=SETUP + COUNTED, operators={"exp": "ending({x}, 300)"})
    engine = Engine(adapter, ProcessRunner(adapter))
    found = Bench(engine, Settings("standard")).grade(CHECKS["operators/exp"])
    assert found.verdict == "crashed"


@pytest.mark.parametrize(
    ("operator", "spelling"),
    [("sum", "in_another_order({x}, {axis}, {keepdims})"), ("exp", "rounded_otherwise({x})")],
)
def test_another_last_bit_from_run_to_run_is_no_fault(operator: str, spelling: str) -> None:
    assert graded(operator, spelling).verdict == "passed"


def test_an_operator_is_not_repeated_by_what_the_engine_lacks() -> None:
    only = {"exp": ADAPTER.operators["exp"]}
    adapter = replace(
        ADAPTER, operators=only, aliases={}, backward="{output}.backward()", lacks=ADAPTER.lacks | {"seed"}
    )
    found = verdict(Bench(Engine(adapter), Settings("smoke")), "operators/exp")
    assert (found.verdict, "operator sum" in found.message) == ("unsupported", True)


def test_more_runs_have_as_much_more_time() -> None:
    calls: list[tuple[int, float]] = []

    def run(runs: int, seconds: float) -> list[Any]:
        calls.append((runs, seconds))
        return []

    repetition: Any = SimpleNamespace(scenarios=[], run=run)
    effort: Any = SimpleNamespace(settings=SimpleNamespace(effort={"runs": 7, "seconds_of_runs": 4.0}))
    assert _unstable(repetition, effort) == _unstable(repetition, effort, 3) == []
    assert calls == [(7, 4.0), (21, 12.0)]
