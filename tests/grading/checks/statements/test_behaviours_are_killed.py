"""Does every behaviour fail as soon as its rule is taken out of the reference engine, and not before?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviours import Behaviour, all_behaviours
from refgrad.grading.settings import Settings
from refgrad.lifecycle import required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from tests.effort import each
from tests.faulty_engines.removals.removals import STATEFUL_REMOVALS
from tests.faulty_engines.stateful.accumulation_faults import STATEFUL_ACCUMULATION_FAULTS
from tests.faulty_engines.stateful.gradient_faults import STATEFUL_GRADIENT_FAULTS
from tests.faulty_engines.stateful.hook_faults import STATEFUL_HOOK_FAULTS
from tests.faulty_engines.stateful.mode_faults import STATEFUL_MODE_FAULTS
from tests.faulty_engines.stateful.release_faults import STATEFUL_RELEASE_FAULTS
from tests.faulty_engines.stateful.stateful_fault import StatefulFault, broken_engine
from tests.faulty_engines.stateful.writing_faults import STATEFUL_WRITING_FAULTS
from tests.grading.rules_removed import REMOVED

BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType({b.id: b for b in all_behaviours() if b.scenarios})
ALL_FAULTS = (
    *STATEFUL_ACCUMULATION_FAULTS,
    *STATEFUL_GRADIENT_FAULTS,
    *STATEFUL_HOOK_FAULTS,
    *STATEFUL_MODE_FAULTS,
    *STATEFUL_RELEASE_FAULTS,
    *STATEFUL_WRITING_FAULTS,
    *STATEFUL_REMOVALS,
)
FAULTS: Mapping[str, StatefulFault] = MappingProxyType({fault.name: fault for fault in ALL_FAULTS})


def test_every_behaviour_with_scenarios_has_a_fault_that_takes_its_rule_away() -> None:
    assert REMOVED.keys() == BEHAVIOURS.keys()
    assert set(REMOVED.values()) <= FAULTS.keys()


def test_faults_have_names_of_their_own_and_each_removal_is_of_use() -> None:
    assert len(FAULTS) == len(ALL_FAULTS)
    assert {fault.name for fault in STATEFUL_REMOVALS} <= set(REMOVED.values())


@each("behaviour", BEHAVIOURS.values())
def test_the_reference_engine_as_it_is_shows_every_behaviour(behaviour: Behaviour) -> None:
    assert fails(behaviour, start(find_adapter("refgrad"))) == []


@pytest.mark.parametrize(("name", "fault"), REMOVED.items(), ids=REMOVED)
def test_a_behaviour_fails_without_its_rule(name: str, fault: str) -> None:
    with broken_engine(FAULTS[fault]) as engine:
        assert fails(BEHAVIOURS[name], engine)


def fails(behaviour: Behaviour, engine: Engine) -> list[str]:
    """What is wrong in each scenario that fails; all features of the engine are there."""
    bench = Bench(engine, Settings("smoke"))
    assert all(required_features(scenario) <= engine.adapter.features for scenario in behaviour.scenarios)
    findings = [bench.reliance.examined(scenario, behaviour.id) for scenario in behaviour.scenarios]
    return [finding.message for finding in findings if finding.failed]
