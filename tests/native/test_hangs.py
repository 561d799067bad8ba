"""An operator that gives no answer costs a few time limits, and every check that needs it says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from refgrad.facts import Died
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.settings import Settings
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter
from refgrad.native.engine import Engine
from refgrad.native.process import EndingError, Limits, RunnerProcess
from refgrad.native.runner import ProcessRunner
from tests.native.misbehaving_engines import SETUP
from tests.native.tiny_engine import tiny_adapter

pytestmark = pytest.mark.disturbed

LIMIT = 1.0
MOST_LIMITS = 5
"""So many times the limit may a run wait for an operator that hangs, at any profile."""

CHAPTERS = ("operators", "sharing", "values", "seeds", "accumulation", "contracts", "graphs", "edges", "second_order")
OPERATORS = {"add": "{x} + {y}", "multiply": "{x} * {y}", "sin": "sin({x})", "exp": "exp({x})"}
DUALS = """
import time
def pullback(function, primals):
    return function(*primals), lambda seed: [seed for _ in primals]
def exp(x):
    {line}
    return np.exp(x)
"""


def tape(line: str) -> AnyAdapter:
    return tiny_adapter(setup=SETUP.format(body=f"    {line}"), operators=OPERATORS)


def functional(line: str) -> AnyAdapter:
    """Return an engine whose pullbacks are wrong, but for one check; only what waits counts here."""
    operators = {**OPERATORS, "sin": "np.sin({x})"}
    vjp = "pullback({function}, {primals})"
    return FunctionalAdapter(name="f", setup=DUALS.format(line=line), leaf="{array}", vjp=vjp, operators=operators)


@contextmanager
def waited(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Collect the seconds that a runner waits in vain."""
    seconds: list[float] = []
    end = RunnerProcess._end_of_program  # noqa: SLF001 (what every hang goes through)

    def counted(process: RunnerProcess, outcome: str, detail: str) -> EndingError:
        seconds.extend(float(found) for found in re.findall(r"within ([\d.]+) s", detail))
        return end(process, outcome, detail)  # type: ignore[arg-type]

    monkeypatch.setattr(RunnerProcess, "_end_of_program", counted)
    yield seconds


@pytest.mark.parametrize(
    ("engine", "line", "blocks"), [(tape, "time.sleep(100000)", False), (functional, "while True: pass", True)]
)
def test_an_operator_that_hangs_costs_at_most_five_time_limits(
    monkeypatch: pytest.MonkeyPatch, engine: Callable[[str], AnyAdapter], line: str, *, blocks: bool
) -> None:
    """The tape's sine is right and plays the roles of the exponential, so that no other check is blocked there."""
    adapter = engine(line)
    runner = ProcessRunner(adapter, limits=Limits(program=LIMIT))
    bench = Bench(Engine(adapter, runner), settings=Settings("smoke"))
    with waited(monkeypatch) as seconds:
        verdicts = {check.id: bench.grade(check) for check in all_checks() if check.chapter in CHAPTERS}
    runner.stop()
    assert verdicts["operators/exp"].verdict == "hung"
    assert {verdict.id for verdict in verdicts.values() if verdict.verdict == "hung"} == {"operators/exp"}
    assert sum(seconds) <= MOST_LIMITS * LIMIT
    blocked = {verdict.id for verdict in verdicts.values() if verdict.cause == "operators/exp"}
    assert {verdicts[check].verdict for check in blocked} == ({"inconclusive"} if blocks else set())
    assert (verdicts["sharing/chained_diamonds"].verdict == "passed") is not blocks


def test_the_verdict_on_a_hang_was_confirmed_with_the_whole_limit() -> None:
    adapter = tape("time.sleep(100000)")
    runner = ProcessRunner(adapter, limits=Limits(program=LIMIT))
    (check,) = (each for each in all_checks() if each.id == "operators/exp")
    verdict = Bench(Engine(adapter, runner), settings=Settings("smoke")).grade(check)
    runner.stop()
    assert verdict.evidence is not None
    assert verdict.evidence.repeatable
    assert verdict.evidence.fact == Died(detail="gave no answer within 1 s, and was waiting")


def test_an_engine_that_does_not_survive_a_fork_is_started_anew() -> None:
    """A program that waits for a process that only the first one has: in a fork it hangs, and is not to blame."""
    setup = (
        f"import os\nstarted = os.getpid()\n{SETUP.format(body='    while os.getpid() != started: time.sleep(0.1)')}"
    )
    adapter = tiny_adapter(setup=setup, operators=OPERATORS)
    runner = ProcessRunner(adapter, limits=Limits(program=LIMIT))
    (check,) = (each for each in all_checks() if each.id == "operators/exp")
    assert Bench(Engine(adapter, runner), settings=Settings("smoke")).grade(check).verdict == "passed"
    assert runner.forks is False
    runner.stop()


def test_an_engine_with_threads_of_its_own_is_not_forked() -> None:
    waiting = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    for setup, forks in (("", None), (waiting, False)):
        runner = ProcessRunner(tiny_adapter(setup=setup + SETUP.format(body="    pass")))
        assert runner.forks is forks
        runner.stop()
