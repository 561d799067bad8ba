"""Small graphs are each there once, and mean what they say."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import GraphForm, Role, as_expression, small_graph_scenario, small_graphs
from refgrad.generation.graphs import Graph
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import observe, start
from refgrad.native.statements import Call
from refgrad.scenario import Apply, DeleteName, Scenario

OPERATORS: dict[Role, str] = {"sum": "add", "product": "multiply", "smooth": "sin"}


@pytest.mark.parametrize(
    ("operators", "ordered", "counts"),
    [(1, True, (3, 2)), (2, True, (21, 34)), (3, True, (249, 676)), (3, False, (117, 192)), (4, False, (1221, 2762))],
)
def test_there_are_as_many_as_were_counted_by_hand_or_by_another_program(
    *, operators: int, ordered: bool, counts: tuple[int, int]
) -> None:
    assert tuple(len(small_graphs(leaves, operators, ordered=ordered)) for leaves in (1, 2)) == counts


def test_the_smallest_are_these() -> None:
    assert set(small_graphs(1, 1, ordered=True)) == {(("smooth", (0,)),), (("sum", (0, 0)),), (("product", (0, 0)),)}
    assert set(small_graphs(2, 1, ordered=True)) == {(("sum", (0, 1)),), (("product", (0, 1)),)}


def relabelled(graph: Graph, order: tuple[int, ...]) -> Graph | None:
    """Return a graph of one leaf with its operators in another order, if operands come first in it."""
    places = {0: 0} | {old + 1: new + 1 for new, old in enumerate(order)}
    moved = tuple((graph[old][0], tuple(places[operand] for operand in graph[old][1])) for old in order)
    return moved if all(max(operands) <= place for place, (_, operands) in enumerate(moved)) else None


def test_no_two_of_them_are_the_same_in_another_order() -> None:
    graphs = small_graphs(1, 3, ordered=True)
    for graph in graphs:
        others = {relabelled(graph, order) for order in permutations(range(3))} - {None, graph}
        assert not others & set(graphs)


@given(graph=st.sampled_from(small_graphs(2, 3, ordered=True)), nested=st.booleans())
def test_a_graph_is_read_back_from_its_scenario(graph: Graph, *, nested: bool) -> None:
    scenario = small_graph_scenario(graph, OPERATORS, GraphForm(vectors=False, nested=nested))
    names = ["x", "y", "a1", "a2", "a3"]
    roles = {operator: role for role, operator in OPERATORS.items()}
    read = tuple((roles[each.operator], tuple(map(names.index, each.arguments))) for each in scenario.applications)
    assert read == graph


@given(graph=st.sampled_from(small_graphs(2, 3, ordered=True)), vectors=st.booleans())
def test_an_expression_shows_what_the_same_scenario_with_names_shows(graph: Graph, *, vectors: bool) -> None:
    engine = start(find_adapter("refgrad"))
    named = small_graph_scenario(graph, OPERATORS, GraphForm(vectors=vectors, nested=False))
    shown = [[seen.array.tolist() for seen in observe(each, engine) if seen.array is not None] for each in both(named)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 1 + len(named.leaves)


def both(scenario: Scenario) -> tuple[Scenario, Scenario]:
    """Return a scenario and the same as an expression."""
    return scenario, as_expression(scenario)


@given(st.sampled_from(small_graphs(1, 3, ordered=True)))
def test_in_an_expression_only_what_is_used_again_has_a_name(graph: Graph) -> None:
    scenario = small_graph_scenario(graph, OPERATORS, GraphForm(vectors=True, nested=True))
    program = start(find_adapter("refgrad")).program(scenario)
    bound = {target for group in program.groups for each in group if isinstance(each, Call) for target in each.targets}
    uses = [name for step in scenario.applications for name in step.arguments]
    results = {step.name for step in scenario.applications}
    assert bound & results == {name for name in results if uses.count(name) != 1}
    assert {step.name for step in scenario.steps if isinstance(step, DeleteName)} == results - {"a3"}
    assert all(isinstance(step, Apply | DeleteName) for step in scenario.steps[1:-3])
