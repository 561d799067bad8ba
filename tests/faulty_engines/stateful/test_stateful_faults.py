"""Random lifecycles show every rule of the life of a graph that an engine breaks, soon and in a few steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import mean, median

import pytest

from refgrad.engine.graph.node import LAST_WRITE, Node
from refgrad.engine.graph.sweep import RECORDING, BackwardPass
from refgrad.engine.graph.tensor import Tensor
from refgrad.grading.bench import Bench
from refgrad.grading.judging.verdict import Verdict
from tests.effort import sampled
from tests.faulty_engines.remembering import remembered_scenarios
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault, broken_engine
from tests.faulty_engines.stateful.stateful_faults import STATEFUL_FAULTS
from tests.faulty_engines.stateful.stateful_verdicts import STANDARD, stateful_verdict, step_count
from tests.grading.sparing import one_fault_a_search

pytestmark = pytest.mark.turns(2)

EXAMPLES_AT_MOST = 300
RUNS = 3
SHARE_OF_ONE_RUN = 0.95
EXAMPLES_IN_THE_MIDDLE = 20
STEPS_AT_MOST = 12
STEPS_ON_AVERAGE = 8

NO_FAULT = StatefulFault("is right", "the engine as it stands")
IN_PIECES = StatefulFault("is right, in pieces", "the sweep that faults replace pieces of", sweeping(OpenSweep))

Judged = Callable[..., Verdict]

each_fault = pytest.mark.parametrize("fault", STATEFUL_FAULTS, ids=[fault.name for fault in STATEFUL_FAULTS])


@pytest.fixture(scope="module")
def judged() -> Iterator[Judged]:
    """Return what judges a fault, once only."""
    with remembered_scenarios(), one_fault_a_search():
        yield cache(stateful_verdict)


def test_faults_have_names_and_sources_of_their_own() -> None:
    assert len(STATEFUL_FAULTS) >= 100
    assert len({fault.name for fault in STATEFUL_FAULTS}) == len(STATEFUL_FAULTS)
    assert all(fault.source for fault in STATEFUL_FAULTS)


@pytest.mark.parametrize("sound", [NO_FAULT, IN_PIECES], ids=lambda fault: fault.name)
def test_the_engine_without_a_fault_passes(sound: StatefulFault, judged: Judged) -> None:
    verdict = judged(sound)
    assert (verdict.verdict, verdict.examples) == ("passed", STANDARD.effort["graphs"])


def is_seen_soon(verdict: Verdict) -> bool:
    return verdict.failed and verdict.examples <= EXAMPLES_AT_MOST


@pytest.mark.parametrize("fault", sampled(STATEFUL_FAULTS, 12, turns=3), ids=[fault.name for fault in STATEFUL_FAULTS])
def test_a_broken_rule_is_seen_soon_and_shown_in_a_few_steps(fault: StatefulFault, judged: Judged) -> None:
    """Lifecycles are random: a run of one seed may miss a fault that the next run finds."""
    verdicts = (judged(fault, seed=seed) for seed in range(RUNS))
    verdict = next(filter(is_seen_soon, verdicts), None)
    assert verdict is not None
    assert step_count(verdict) <= STEPS_AT_MOST, verdict.scenario


@pytest.mark.whole
@pytest.mark.parametrize(
    "faults", [STATEFUL_FAULTS[1::4], pytest.param(STATEFUL_FAULTS, marks=pytest.mark.slow)], ids=["a quarter", "all"]
)
def test_most_are_seen_at_once_and_their_counterexamples_are_short(
    faults: Sequence[StatefulFault], judged: Judged
) -> None:
    verdicts = [judged(fault, seed=0) for fault in faults]
    assert sum(map(is_seen_soon, verdicts)) >= SHARE_OF_ONE_RUN * len(faults)
    assert median(verdict.examples for verdict in verdicts) <= EXAMPLES_IN_THE_MIDDLE
    assert mean(map(step_count, filter(is_seen_soon, verdicts))) <= STEPS_ON_AVERAGE


@pytest.mark.slow
@pytest.mark.usefixtures("judged")
@each_fault
def test_a_grader_that_takes_no_operator_for_granted_sees_it_too(fault: StatefulFault) -> None:
    assert any(is_seen_soon(stateful_verdict(fault, Bench, seed)) for seed in range(RUNS))


@each_fault
def test_nothing_of_a_fault_outlasts_it(fault: StatefulFault) -> None:
    def state() -> list[object]:
        return [RECORDING.get(), LAST_WRITE.number, *({**vars(kind)} for kind in (Tensor, Node, BackwardPass))]

    before = state()
    with broken_engine(fault):
        pass
    assert state() == before
