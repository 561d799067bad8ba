"""Tests of drawn scenarios: how small one that fails becomes, how it is shown, and how they compose."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, example, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from refgrad.generation import shrink
from refgrad.lifecycle import predict
from refgrad.scenario import Scenario, Write, parse
from refgrad.strategies import Profile, lifecycles, scenarios
from tests.generation.planted_faults import FAULTS
from tests.generation.scenario_audit import complaints

pytestmark = pytest.mark.turns(2)

SEARCHED = settings(
    max_examples=5000, database=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)

SOON = ("wrong tanh", "fan-out overwritten", "repeated index overwritten")
"""Faults that are shrunk within a few seconds."""


def smallest(strategy: st.SearchStrategy[Scenario], fails: Callable[[Scenario], bool], number: int = 0) -> Scenario:
    return find(strategy, fails, settings=SEARCHED, random=Random(number))  # noqa: S311 (no secret)


@pytest.mark.parametrize(
    "name", [*SOON, *(pytest.param(name, marks=pytest.mark.slow) for name in FAULTS if name not in SOON)]
)
def test_a_planted_fault_is_shrunk_until_the_shrinker_knows_nothing_simpler(name: str) -> None:
    found = smallest(scenarios(), FAULTS[name], number=1)  # with 0, Hypothesis stops before two of them are shrunk
    assert shrink(found, FAULTS[name]) == found


def test_the_simplest_scenario_is_one_operator_on_one_number() -> None:
    found = smallest(scenarios(), lambda _: True)
    assert len(found.applications) == 1
    assert [leaf.value.size for leaf in found.leaves] == [1] * len(found.leaves)


def test_a_lifecycle_is_shrunk_to_a_handful_of_steps() -> None:
    found = smallest(lifecycles(), lambda scenario: any(isinstance(step, Write) for step in scenario.steps))
    assert len(found.steps) <= 3


@seed(0)
@settings(max_examples=200, database=None, phases=[Phase.generate])
@given(scenarios())
def test_what_is_drawn_satisfies_the_profile_under_every_health_check(scenario: Scenario) -> None:
    assert complaints(scenario, Profile(length=(1, 8))) == []


def test_hardly_an_example_is_invalid_or_drawn_twice() -> None:
    made: list[str] = []

    @settings(max_examples=300, database=None, phases=[Phase.generate], derandomize=True)
    @given(scenarios())
    def draw(scenario: Scenario) -> None:
        made.append(scenario.text)

    draw()
    assert len(made) == 300
    assert len(set(made)) >= 298


def failing(scenario: Scenario) -> None:
    assert "tanh" not in scenario.operators


def message(test: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as caught:
        test()
    return "\n".join(getattr(caught.value, "__notes__", []))


@settings(database=None, derandomize=True, max_examples=1000)
@given(scenarios())
def fails_as_argument(scenario: Scenario) -> None:
    failing(scenario)


@settings(database=None, derandomize=True, max_examples=1000)
@given(st.data())
def fails_as_drawn(data: st.DataObject) -> None:
    failing(data.draw(scenarios()))


@settings(database=None, derandomize=True, max_examples=1000, suppress_health_check=list(HealthCheck))
@given(st.lists(scenarios(), max_size=3))
def fails_in_a_list(several: list[Scenario]) -> None:
    for scenario in several:
        failing(scenario)


@pytest.mark.parametrize("test", [fails_as_argument, fails_as_drawn, fails_in_a_list])
def test_a_failing_example_is_shown_as_its_text(test: Callable[[], None]) -> None:
    shown = message(test)
    start, end = shown.index('parse("""') + len('parse("""'), shown.index('""")')
    scenario = parse(shown[start:end])
    assert [step.operator for step in scenario.applications] == ["tanh"]
    assert len(scenario.steps) == 3
    assert "Codec" not in shown


def test_a_failing_example_is_found_again_at_once() -> None:
    database = InMemoryExampleDatabase()
    tried: list[Scenario] = []

    @settings(database=database, max_examples=1000, report_multiple_bugs=False)
    @seed(1)
    @given(scenarios())
    def fails(scenario: Scenario) -> None:
        tried.append(scenario)
        failing(scenario)

    message(fails)
    last = tried[-1]
    tried.clear()
    message(fails)
    assert tried[0] == last


def test_what_is_drawn_can_be_mapped_and_filtered() -> None:
    mapped = scenarios().filter(lambda scenario: "exp" in scenario.operators).map(lambda scenario: scenario.text)
    text = find(mapped, lambda _: True, settings=settings(SEARCHED, phases=[Phase.generate]))
    assert "exp" in parse(text).operators


@example(parse("a = leaf float64[] {0x1p+0} requires_grad\nb = tanh a\nbackward b\n"))
@settings(max_examples=5, database=None)
@given(lifecycles())
def test_a_text_can_be_an_example(scenario: Scenario) -> None:
    assert len(predict(scenario)) == len(scenario.steps)
