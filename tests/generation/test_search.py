"""Tests that a search finds what fails, the same every time."""

from itertools import islice

import pytest

from refgrad.generation import Counterexample, find_counterexample, random_scenario
from refgrad.scenario import Scenario
from tests.generation.planted_faults import FAULTS, wrong_tanh

pytestmark = pytest.mark.turns(2)


def never(_scenario: Scenario) -> bool:
    return False


def test_a_search_finds_and_shrinks() -> None:
    found = find_counterexample(random_scenario, wrong_tanh, seed=1, max_examples=200)
    assert found.counterexample is not None
    assert found.counterexample.scenario == random_scenario(found.counterexample.seed)
    assert wrong_tanh(found.counterexample.scenario)
    assert len(found.counterexample.shrunk.applications) == 1
    assert 1 <= found.examples <= 200


@pytest.mark.parametrize(
    ("name", "examples"), [("wrong tanh", 40), ("fan-out overwritten", 25), ("maximum over two axes", 120)]
)
def test_a_planted_fault_is_found_within_so_many_examples(name: str, examples: int) -> None:
    """More than half of 13 searches find it."""
    searches = (
        find_counterexample(random_scenario, FAULTS[name], seed=seed, max_examples=examples, shrink_limit=0)
        for seed in range(13)
    )
    found = (search for search in searches if search.counterexample is not None)
    assert len(list(islice(found, 7))) == 7


def test_a_search_without_success_tries_as_many_as_it_may() -> None:
    search = find_counterexample(random_scenario, never, seed=1, max_examples=50)
    assert (search.examples, search.counterexample) == (50, None)


def test_the_same_seed_searches_the_same_way() -> None:
    searches = [find_counterexample(random_scenario, wrong_tanh, seed=7, max_examples=200) for _ in range(2)]
    assert searches[0] == searches[1]


def seeds_of(seed: int, key: str) -> list[int]:
    """The seeds that a search tries."""
    tried: list[int] = []

    def make(number: int) -> Scenario:
        tried.append(number)
        return random_scenario(0)

    find_counterexample(make, never, seed=seed, max_examples=100, key=key)
    return tried


@pytest.mark.parametrize("other", [(2, "tanh"), (1, "exp")], ids=["another seed", "another check"])
def test_another_search_tries_other_scenarios(other: tuple[int, str]) -> None:
    first = set(seeds_of(1, "tanh"))
    assert len(first) == 100
    assert not first & set(seeds_of(*other))
    assert max(first).bit_length() == 64


@pytest.mark.parametrize("seed", [0, 1, 2**32])
def test_small_seeds_are_as_rare_as_others(seed: int) -> None:
    assert sum(number < 2**56 for number in seeds_of(seed, "tanh")) < 5


def test_the_failing_scenario_is_judged_once() -> None:
    asked: list[str] = []

    def fails(scenario: Scenario) -> bool:
        asked.append(scenario.id)
        return wrong_tanh(scenario)

    search = find_counterexample(random_scenario, fails, seed=3, max_examples=200, shrink_limit=0)
    assert isinstance(search.counterexample, Counterexample)
    assert asked.count(search.counterexample.scenario.id) == 1


def test_exceptions_are_passed_on() -> None:
    def fails(_scenario: Scenario) -> bool:
        raise KeyError

    with pytest.raises(KeyError):
        find_counterexample(random_scenario, fails, seed=0, max_examples=10)
