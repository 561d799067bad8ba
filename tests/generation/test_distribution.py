"""Tests that everything occurs that scenarios may contain, and often enough."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from refgrad.generation import Profile, operator_scenario, random_scenario
from refgrad.generation.profile import GRAPH_FAMILIES, PROBABILITIES
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, Slice
from tests.generation.drawn import drawn
from tests.generation.scenario_audit import entries_on_edges, entries_on_kinks, reached, recorded, uses

pytestmark = pytest.mark.turns(2)

COUNT = 600


@cache
def sample() -> tuple[Scenario, ...]:
    return tuple(map(drawn, range(COUNT)))


def share(scenarios: tuple[Scenario, ...], feature: str) -> float:
    return sum(FEATURES[feature](scenario) for scenario in scenarios) / len(scenarios)


def shapes(scenario: Scenario) -> set[tuple[int, ...]]:
    return {value.shape for value in evaluate(scenario, Float64()).values()}


def sinks(scenario: Scenario) -> int:
    used = uses(scenario)
    return len({step.output for _, step in scenario.backwards if not used[step.output]})


def rebuilt(scenario: Scenario) -> bool:
    first, _ = scenario.backwards[0]
    return any(step in scenario.applications for step in scenario.steps[first:])


FEATURES: Mapping[str, Callable[[Scenario], bool]] = {
    "fan-out of three": lambda s: max(uses(s).values()) >= 3,
    "one tensor twice": lambda s: any(len(set(a.arguments)) < len(a.arguments) for a in s.applications),
    "no entries": lambda s: any(0 in shape for shape in shapes(s)),
    "0-d": lambda s: () in shapes(s),
    "length one": lambda s: any(1 in shape for shape in shapes(s)),
    "rank three": lambda s: any(len(shape) == 3 for shape in shapes(s)),
    "several backwards": lambda s: len(s.backwards) > 1,
    "several sinks": lambda s: sinks(s) > 1,
    "retained graph": lambda s: any(step.retain_graph for _, step in s.backwards),
    "rebuilt graph": rebuilt,
    "same output again": lambda s: len({step.output for _, step in s.backwards}) < len(s.backwards),
    "negative seed": lambda s: any("-0x" in step.to_text() for _, step in s.backwards),
    "scalar without a seed": lambda s: any(step.seed is None for _, step in s.backwards),
    "scalar with a seed": lambda s: any(step.seed is not None and step.seed.shape == () for _, step in s.backwards),
    "unused leaf": lambda s: any(uses(s)[leaf.name] == 0 for leaf in s.leaves),
    "constant leaf": lambda s: any(not leaf.requires_grad and leaf.value.dtype != "bool" for leaf in s.leaves),
    "result without grad": lambda s: any(step.name not in recorded(s) for step in s.applications),
    "result off every path": lambda s: (
        not recorded(s) <= frozenset().union(*(reached(s, b.output) for _, b in s.backwards))
    ),
}


@pytest.mark.parametrize(
    ("feature", "least"),
    {
        "fan-out of three": 0.35,
        "one tensor twice": 0.35,
        "no entries": 0.06,
        "0-d": 0.5,
        "length one": 0.5,
        "rank three": 0.3,
        "several backwards": 0.5,
        "several sinks": 0.2,
        "retained graph": 0.3,
        "rebuilt graph": 0.1,
        "same output again": 0.1,
        "negative seed": 0.4,
        "scalar without a seed": 0.2,
        "scalar with a seed": 0.1,
        "unused leaf": 0.05,
        "constant leaf": 0.2,
        "result without grad": 0.1,
        "result off every path": 0.3,
    }.items(),
)
def test_a_feature_occurs(feature: str, least: float) -> None:
    assert share(sample(), feature) >= least


def test_every_operator_occurs_and_those_that_graphs_need_often() -> None:
    """The others are tried on their own: here they meet what is around them, now and then."""
    seen = Counter(step.operator for scenario in sample() for step in scenario.applications)
    often = [seen[name] for name, row in operator_table().items() if row.family in GRAPH_FAMILIES]
    assert min(often) >= COUNT / 20
    assert sum(often) / seen.total() == pytest.approx(PROBABILITIES["graph_share"], abs=0.05)
    rest = operator_table().keys() - seen.keys()
    more = iter(range(COUNT, 4 * COUNT))
    while rest:
        rest -= drawn(next(more)).operators


def test_scenarios_without_entries_are_few() -> None:
    assert share(sample(), "no entries") <= 0.2


def test_attributes_are_spelled_in_every_way() -> None:
    values = [
        (operator_table()[step.operator], dict(step.attributes))
        for scenario in sample()
        for step in scenario.applications
    ]
    by_type: set[tuple[str, Any]] = {
        (attribute.type, given[attribute.name])
        for row, given in values
        for attribute in row.attributes
        if attribute.name in given
    }
    of = {kind: [value for other, value in by_type if other == kind] for kind, _ in by_type}
    assert {None, -1, 1} <= set(of["axes"])
    assert {(0, 1), (1, 0), (-1,), (0, 2), (0, -1, 1)} & set(of["axes"])
    assert {(1, 2, 0), (2, 0, 1)} & {tuple(a % 3 for a in axes) for axes in of["permutation"] if len(axes or ()) == 3}
    assert any(-1 in shape for shape in of["shape"])
    assert () in of["shape"]
    assert {True} <= set(of["bool"])
    assert any(isinstance(item, Slice) and item.step == -1 for index in of["index"] for item in index)
    assert any(isinstance(item, tuple) and len(set(item)) < len(item) for index in of["index"] for item in index)
    assert any(isinstance(item, int) and item < 0 for index in of["index"] for item in index)
    assert any(isinstance(value, int) for value in of["indices"])
    assert any(isinstance(value, tuple) and value and isinstance(value[0], tuple) for value in of["indices"])


def test_an_omitted_attribute_and_a_default_both_occur() -> None:
    sums = [step for scenario in sample() for step in scenario.applications if step.operator == "sum"]
    assert {"axis" in dict(step.attributes) for step in sums} == {True, False}


def test_products_meet_every_pair_of_ranks() -> None:
    ranks = set()
    for scenario in sample():
        values = evaluate(scenario, Float64())
        ranks |= {
            tuple(values[name].ndim for name in step.arguments)
            for step in scenario.applications
            if step.operator == "matmul"
        }
    usual = {pair for pair in ranks if max(pair) <= Profile().max_rank}  # what windows slide over has four axes
    assert usual == {(left, right) for left in (1, 2, 3) for right in (1, 2, 3)}


def test_edges_are_met_on_purpose_only() -> None:
    assert not any(entries_on_kinks(scenario) for scenario in sample()[:200])
    on_purpose = [random_scenario(seed, Profile(edges=0.5)) for seed in range(200)]
    assert sum(map(entries_on_edges, on_purpose)) >= 30


def test_shapes_come_from_a_small_pool() -> None:
    shapes_of_leaves = [leaf.value.shape for scenario in sample() for leaf in scenario.leaves]
    usual = [shape for shape in shapes_of_leaves if set(shape) <= {0, 1, 2, 3}]
    assert len(usual) >= 0.95 * len(shapes_of_leaves)
    commonest = [count for _, count in Counter(shapes_of_leaves).most_common(30)]
    assert sum(commonest) >= 0.9 * len(shapes_of_leaves), "engines that compile each shape meet few"


@pytest.mark.parametrize("name", ["add", "multiply", "tanh", "arctan2", "sum", "roll", "scatter_add"])
def test_an_operator_on_its_own_meets_hard_numbers(name: str) -> None:
    arrays = [leaf.value.to_numpy() for seed in range(200) for leaf in operator_scenario(seed, name).leaves]
    entries = np.concatenate([array.ravel() for array in arrays])
    smallest = np.finfo(float).tiny if operator_table()[name].elementwise else 1e-15
    assert np.any((entries == 0) & ~np.signbit(entries))
    assert np.any((entries == 0) & np.signbit(entries))
    assert np.any((entries != 0) & (np.abs(entries) < smallest))
    assert any(len(np.unique(array)) < array.size for array in arrays)
    low, high = operator_table()[name].samples.get("x", (-3.0, 3.0))
    assert {low, high} <= set(entries)
