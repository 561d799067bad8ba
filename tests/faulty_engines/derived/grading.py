"""Grading an engine with a derived fault: the one check that is to find it, and what that check builds on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.generation import find_counterexample
from refgrad.grading import reliance, search
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding, Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter, spell
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario
from tests.faulty_engines.derived.faults import DerivedFault, ForwardMode, derived_faults
from tests.grading.sparing import TrustingBench

PLANT = """
from tests.faulty_engines.derived.grading import plant
spoiled, jvp = plant({name!r}, jvp)
"""


def plant(name: str, jvp: Callable[..., Any]) -> tuple[Any, Callable[..., Any]]:
    """Return the operator that has the fault of this name, by its name, and a forward mode that it notes."""
    fault, mode = FAULTS[name], ForwardMode()
    return SimpleNamespace(**{fault.row.name: fault.function(mode)}), mode.watched(jvp)


FAULTS = {fault.name: fault for fault in derived_faults()}


def engine_with(fault: DerivedFault) -> Engine:
    """Return the reference engine, started anew, with the fault; its other operators are right."""
    adapter, name = find_adapter("refgrad"), fault.row.name
    return Engine(
        replace(
            adapter,
            name=f"an engine with {fault.name}",
            setup=adapter.setup + PLANT.format(name=fault.name),
            operators={**adapter.operators, **spell("spoiled", [name])},
            aliases={other: texts for other, texts in adapter.aliases.items() if other != name},
        )
    )


def verdicts(fault: DerivedFault, profile: str) -> dict[str, Verdict]:
    """Return the verdict of the check that is to find a fault, and of those of the operator that it builds on."""
    bench = TrustingBench(engine_with(fault), Settings(profile), doubted=frozenset({fault.row.name}))
    bench.grade(fault.check)
    return dict(bench.graded)


@contextmanager
def brief_grading() -> Iterator[None]:
    """End every search at the first failure inside of the block, and show what has nothing to do with a fault once.

    Nothing is shrunk, and no second fault looked for. What behaviours show without the operator that has a fault is
    what they show on the reference engine.
    """
    with pytest.MonkeyPatch.context() as patch, searches_kept_brief():
        patch.setattr(reliance, "examine", Examined())
        yield


@contextmanager
def searches_kept_brief() -> Iterator[None]:
    """End every search at the first failure inside of the block, which is not shrunk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "find_counterexample", partial(find_counterexample, shrink_limit=0))
        patch.setattr(search, "shrink", lambda scenario, _fails: scenario)
        patch.setattr(search.CheckSearch, "_all", _first)
        yield


@dataclass(frozen=True, slots=True)
class Examined:
    """What scenarios show, remembered from one engine to the next where no operator in them has a fault."""

    known: dict[tuple[Scenario, bool], Finding] = field(default_factory=dict)

    def __call__(self, scenario: Scenario, engine: Engine, *, seeds: bool = False) -> Finding:
        """Return what a scenario shows on an engine."""
        if any(engine.operators[name].startswith("spoiled.") for name in scenario.operators):
            return examine(scenario, engine, seeds=seeds)
        if (scenario, seeds) not in self.known:
            self.known[scenario, seeds] = examine(scenario, engine, seeds=seeds)
        return self.known[scenario, seeds]


def _first(found: search.CheckSearch, counterexample: Any, _rest: object = ()) -> list[search.Demonstration]:
    scenario = counterexample.scenario
    return [search.Demonstration(scenario, found.failed[scenario])]
