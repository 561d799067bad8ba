"""The recorded graph: what a backward may and must reach, what it frees, and which errors are due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle import Fails, Open
from refgrad.lifecycle.graph import GraphModel, GraphNode, MemoryPieces, Vjp

LEAVES = ("x", "y")


def vjp(parent: str, *saved: str, always_zero: bool = False) -> Vjp:
    return Vjp(parent, frozenset(saved), frozenset(saved), always_zero)


@st.composite
def graphs(draw: st.DrawFn) -> GraphModel:
    """Up to seven nodes over two leaves; some parents only may be recorded."""
    graph = GraphModel(MemoryPieces(), leaves=set(LEAVES))
    for i in range(draw(st.integers(1, 7))):
        parents = draw(st.lists(st.sampled_from([*LEAVES, *graph.nodes]), min_size=1, max_size=3, unique=True))
        must = tuple(parent for parent in parents if draw(st.booleans()))
        vjps = tuple(vjp(parent) for parent in parents)
        graph.nodes[f"n{i}"] = GraphNode(tuple(parents), draw(st.booleans()), must, vjps)
    return graph


def descends(graph: GraphModel, name: str, from_: str) -> bool:
    """Whether a path of parents leads from a name to another, found by following every path."""
    node = graph.nodes.get(name)
    return name == from_ or (node is not None and any(descends(graph, parent, from_) for parent in node.parents))


def last(graph: GraphModel) -> str:
    return list(graph.nodes)[-1]


@given(graphs())
def test_a_backward_may_reach_whatever_a_path_leads_to(graph: GraphModel) -> None:
    for name in graph.nodes:
        everything = [*graph.nodes, *LEAVES]
        assert graph.may_reach(name) == {other for other in everything if descends(graph, name, other)}


@given(graphs())
def test_what_a_backward_must_reach_is_what_it_may_reach_once_only_sure_parents_are_left(graph: GraphModel) -> None:
    must = {name: graph.must_reach(name) for name in graph.nodes}
    assert all(must[name] <= graph.may_reach(name) for name in graph.nodes)
    for node in graph.nodes.values():
        node.parents = node.must_parents
    assert must == {name: graph.may_reach(name) for name in graph.nodes}


@given(graphs(), st.sampled_from(LEAVES))
def test_what_leads_to_a_leaf_reaches_it(graph: GraphModel, leaf: str) -> None:
    names = graph.may_reach(last(graph))
    assert graph.leading_to(leaf, names) == {name for name in names if descends(graph, name, leaf)}


@given(graphs())
def test_without_recorded_gradients_no_name_is_reached_through_one(graph: GraphModel) -> None:
    assert graph.before_gradients(last(graph)) == graph.may_reach(last(graph))
    assert graph.through_gradients(graph.nodes) == set()


def test_a_recorded_gradient_separates_the_names_before_and_after_it() -> None:
    graph = GraphModel(MemoryPieces(), leaves={"x"})
    graph.nodes = {
        "a": GraphNode(("x",), saved=True, must_parents=("x",), vjps=(vjp("x"),)),
        "h": GraphNode(("a",), saved=True, must_parents=("a",)),
        "b": GraphNode(("h",), saved=False, must_parents=("h",), vjps=(vjp("h"),)),
    }
    assert [graph.nodes[name].is_gradient for name in "ahb"] == [False, True, False]
    assert graph.before_gradients("b") == {"b", "h"}
    assert graph.through_gradients({"b", "h"}) == {"a", "x"}


@given(graphs())
def test_a_fresh_graph_refuses_no_backward(graph: GraphModel) -> None:
    assert graph.failure(graph.may_reach(last(graph)), graph.must_reach(last(graph))) is None


@given(graphs(), st.data())
def test_a_freed_node_is_an_error_where_it_must_be_met_and_open_where_it_may_be(
    graph: GraphModel, data: st.DataObject
) -> None:
    output, freed = last(graph), data.draw(st.sampled_from(list(graph.nodes)))
    graph.nodes[freed].freed = True
    may, must = graph.may_reach(output), graph.must_reach(output)
    expected = Fails("freed-graph") if freed in must else Open() if freed in may else None
    assert graph.failure(may, must) == expected
    graph.nodes[freed].freed = None
    assert graph.failure(may, must) == (Open() if freed in may else None)


def test_a_write_to_what_a_node_needs_is_an_error_and_to_what_it_may_need_is_open() -> None:
    memory = MemoryPieces()
    needed, near = memory.new(), memory.new()
    graph = GraphModel(memory, leaves={"x"})
    node = GraphNode(
        ("x",),
        saved=True,
        must_parents=("x",),
        vjps=(vjp("x"),),
        must_need=(memory.now(needed),),
        may_need=(memory.now(near),),
    )
    graph.nodes["a"] = node
    memory.write(near)
    assert graph.failure({"a", "x"}, {"a", "x"}) == Open()
    memory.write(needed)
    assert graph.failure({"a", "x"}, {"x"}) == Open()
    assert graph.failure({"a", "x"}, {"a", "x"}) == Fails("modified-in-place")
    node.freed = None
    assert graph.failure({"a", "x"}, {"a", "x"}) == Fails("modified-in-place", ("freed-graph",))
    node.freed = True
    assert graph.failure({"a", "x"}, {"a", "x"}) == Fails("freed-graph")


@given(graphs(), st.sampled_from(["saved", "never", "always"]))
def test_a_backward_frees_what_it_must_visit_and_may_free_what_it_may_visit(graph: GraphModel, frees: str) -> None:
    may, must = graph.may_reach(last(graph)), graph.must_reach(last(graph))
    graph.free(may, must, frees)
    for name, node in graph.nodes.items():
        gives_up = frees == "always" or (frees == "saved" and node.saved)
        assert node.freed is (False if not gives_up or name not in may else True if name in must else None)


@given(graphs())
def test_what_is_freed_once_stays_so(graph: GraphModel) -> None:
    graph.free(graph.nodes, graph.nodes, "always")
    graph.free(graph.nodes, (), "always")
    assert all(node.freed is True for node in graph.nodes.values())


def test_all_that_is_connected_is_freed_up_to_one_application_above_what_was_visited() -> None:
    graph = GraphModel(MemoryPieces(), leaves={"x", "y"})
    for name, parent in (("a", "x"), ("b", "x"), ("c", "b"), ("d", "y")):
        graph.nodes[name] = GraphNode((parent,), saved=False, must_parents=(parent,), vjps=(vjp(parent),))
    graph.free({"a", "x"}, {"a", "x"}, "connected")
    assert {name for name, node in graph.nodes.items() if node.freed} == {"a", "b"}


@pytest.mark.parametrize("change", [{"composite": True}, {"may_be_constant": True}])
def test_nobody_knows_whether_a_node_is_freed_that_engines_record_differently(change: dict[str, bool]) -> None:
    graph = GraphModel(MemoryPieces(), leaves={"x"})
    graph.nodes["a"] = GraphNode(("x",), saved=True, must_parents=("x",), vjps=(vjp("x"),), **change)  # type: ignore[arg-type]
    graph.free({"a"}, {"a"}, "saved")
    assert graph.nodes["a"].freed is None


def product() -> GraphModel:
    graph = GraphModel(MemoryPieces(), shapes={"x": (), "y": (), "a": ()}, leaves={"x", "y"})
    graph.nodes["a"] = GraphNode(("x", "y"), saved=True, must_parents=("x", "y"), vjps=(vjp("x", "y"), vjp("y", "x")))
    return graph


def test_a_recorded_gradient_depends_on_what_the_rules_on_its_way_have_saved() -> None:
    node = product().derivative({"a", "x"}, "x")
    assert (node.parents, node.must_parents, node.is_gradient, node.may_be_constant) == (("y",), ("y",), True, False)


def test_a_recorded_gradient_may_be_constant_by_way_of_empty_arrays_zeros_and_overwriting() -> None:
    empty = product()
    empty.shapes["a"] = (0,)
    overwriting = product()
    overwriting.nodes["y"] = GraphNode(("x",), saved=False, must_parents=("x",), vjps=(vjp("x"),), overwrites=True)
    zero = product()
    zero.nodes["x"] = GraphNode(("w",), saved=False, must_parents=("w",), vjps=(vjp("w", always_zero=True),))
    zero.leaves, zero.shapes["w"] = {"w", "y"}, ()
    for graph, between, leaf in (
        (empty, {"a", "x"}, "x"),
        (overwriting, {"a", "x"}, "x"),
        (zero, {"a", "x", "w"}, "w"),
    ):
        node = graph.derivative(between, leaf)
        assert (node.parents, node.must_parents, node.may_be_constant) == (("y",), (), True)
