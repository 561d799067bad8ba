"""An engine remembers which scenarios ended its process, until they may run again, and describes changed seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from refgrad.native import engine as engines
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, Isolation, _changes, launch
from refgrad.native.observation import Observation
from refgrad.scenario import Constant, parse
from tests.native.reference import ADAPTER

EXP = parse("x = leaf float64[] {0x1p+0}\ny = exp x\n")
LOG = parse("x = leaf float64[] {0x1p+0}\ny = log x\n")


@pytest.fixture
def engine() -> Engine:
    runner: Any = object()
    return Engine(ADAPTER, runner)


def test_an_operator_that_hangs_does_so_among_others(engine: Engine) -> None:
    engine.hung = {frozenset({"exp"}), frozenset({"sin", "log"})}
    tried: list[list[str]] = [["exp"], ["exp", "sin"], ["sin"], []]
    assert [engine.hangs(frozenset(names)) for names in tried] == [True, True, False, False]
    engine.forget(EXP)
    assert engine.hung == {frozenset({"sin", "log"})}


def test_a_scenario_that_ended_a_process_is_known_until_it_may_run_again(engine: Engine) -> None:
    engine.fatal = {EXP.id: (), LOG.id: ()}
    assert engine.has_run(EXP)
    engine.forget(EXP)
    assert [engine.has_run(each) for each in (EXP, LOG)] == [False, True]
    engine.prepared = {(EXP, False): (Observation(),)}
    assert engine.has_run(EXP)


@pytest.mark.parametrize(
    ("now", "change"),
    [
        ([np.nan, 1.0, 2.0], []),
        ([np.nan, 1.0, 3.0], ["seed 1 is entry (2,): 3.0, and was 2.0"]),
        ([0.0, 1.0, 2.0], ["seed 1 is entry (0,): 0.0, and was nan"]),
        ([np.nan, np.nan, 2.0], ["seed 1 is entry (1,): nan, and was 1.0"]),
        ([1.0], ["seed 1 is of the shape (1,), and was of (3,)"]),
    ],
)
def test_the_first_entry_of_a_seed_that_has_changed_is_described(now: list[float], change: list[str]) -> None:
    seed = Constant.of(np.array([np.nan, 1.0, 2.0]))
    assert list(_changes([np.array(now)], [seed])) == change


@pytest.mark.parametrize(
    ("isolation", "local"),
    [(Isolation(), True), (Isolation(python="other"), False), (Isolation(python="other", in_process=True), True)],
)
def test_the_reference_engine_runs_in_this_process_unless_another_python_is_asked_for(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch, *, local: bool
) -> None:
    others: list[str] = []
    monkeypatch.setattr(engines, "ProcessRunner", lambda *_: others.append("another process"))
    for adapter, here in ((find_adapter("refgrad"), local), (replace(find_adapter("refgrad")), isolation.in_process)):
        launch(adapter, isolation)
        assert bool(others) is not here
        others.clear()
