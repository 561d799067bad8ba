"""Broken sweeps are found by small graphs alone, and the sweep that is right passes them."""

from __future__ import annotations

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import check_named
from refgrad.grading.checks.graphs import Usable, small_scenarios
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from refgrad.scenario import parse
from tests.effort import sampled
from tests.faulty_engines.fault import plain_adapter
from tests.faulty_engines.sweeps.order_faults import ORDER_FAULTS, HoldsResultsWeakly, PreOrder
from tests.faulty_engines.tapes.tape import Tape
from tests.grading.sparing import TrustingBench, one_fault_a_search

pytestmark = pytest.mark.turns(2)

CHECK = check_named("graphs/small")


def bench(engine: type[Tape]) -> Bench:
    """Return a bench for a tape with a sum, a product and a sine, each taken to be right by itself."""
    return TrustingBench(Engine(plain_adapter(engine, "add", "multiply", "sin")), Settings("smoke"))


def verdict(engine: type[Tape]) -> Verdict:
    with one_fault_a_search():
        return bench(engine).grade(CHECK)


def test_the_sweep_that_is_right_passes_each_of_them_on_scalars_and_on_vectors() -> None:
    found = verdict(Tape)
    assert (found.verdict, found.examples) == ("passed", 2 * 985)


@pytest.mark.parametrize("engine", sampled(ORDER_FAULTS, 4, turns=3), ids=lambda engine: engine.__name__)
def test_a_broken_sweep_fails_some_of_them(engine: type[Tape]) -> None:
    own = bench(engine)
    assert any(own.examine(scenario, CHECK).failed for scenario in small_scenarios(own, Usable.of(own)))


@pytest.mark.parametrize("engine", [PreOrder, HoldsResultsWeakly])
def test_the_smallest_graph_that_fails_is_shown(engine: type[Tape]) -> None:
    found = verdict(engine)
    assert found.verdict in {"wrong", "missing", "unexpected-error"}
    assert len(parse(found.scenario).applications) <= 3
