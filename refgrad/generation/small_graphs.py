"""All graphs of a few operators: a sum, a product and a smooth function, over one leaf and over two.

They are enumerated, not sampled: a backward pass that visits nodes in a wrong order, or keeps one contribution of two,
fails in some graph of three operators. Graphs that differ only in the names of their nodes count as one. The order of
operands is distinguished on request, since a backward pass may follow it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Final, Literal, TypeAlias

import numpy as np

from refgrad.scenario import Apply, Backward, Constant, Delete, Leaf, Read, Scenario, Step

Role: TypeAlias = Literal["sum", "product", "smooth"]
Node: TypeAlias = tuple[Role, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]
"""Role of each operator and indices of its operands. Leaves are numbered first, then results."""

PAIRED: Final[tuple[Role, Role]] = ("sum", "product")
"""Roles of operators with two operands."""

EQUAL: Final = (0.5, 0.5)
"""Equal numbers for the leaves. Some nodes are then equal too, and a backward pass must not confuse them."""

UNEQUAL: Final = ((0.75, 1.25), (1.5, 0.625))
"""Different numbers for the leaves, so that no gradient equals that of another leaf."""

SEED: Final = (1.25, -0.5)


@dataclass(frozen=True, slots=True)
class Form:
    """Form in which an engine gets a graph: of scalars or ``vectors``, with named results or ``nested`` expressions."""

    vectors: bool
    nested: bool


@cache
def small_graphs(leaves: int, operators: int, *, ordered: bool) -> tuple[Graph, ...]:
    """Return all different graphs in which every leaf, and every result but the last, is used."""
    made = _extended((), leaves, operators, ordered=ordered)
    return tuple(dict.fromkeys(_least(graph, leaves, ordered=ordered) for graph in made))


def _extended(graph: Graph, leaves: int, operators: int, *, ordered: bool) -> Iterator[Graph]:
    known = leaves + len(graph)
    if len(graph) == operators:
        if {operand for _, operands in graph for operand in operands} >= set(range(known - 1)):
            yield graph
        return
    for first in range(known):
        pairs: list[tuple[int, ...]] = [(first, second) for second in range(known if ordered else first + 1)]
        nodes: list[Node] = [("smooth", (first,)), *product(PAIRED, pairs)]
        for node in nodes:
            yield from _extended((*graph, node), leaves, operators, ordered=ordered)


def _least(graph: Graph, leaves: int, *, ordered: bool) -> Graph:
    """Return the smallest of the graphs that differ from this one in the order of leaves and operators only."""
    needs = [{operand - leaves for operand in operands if operand >= leaves} for _, operands in graph]
    orders = list(_orders(needs))
    return min(
        _relabelled(graph, of_leaves, order, ordered=ordered)
        for of_leaves in permutations(range(leaves))
        for order in orders
    )


def _orders(needs: Sequence[Collection[int]], placed: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the orders of operators in which none precedes those that it needs."""
    if len(placed) == len(needs):
        yield placed
    for each, needed in enumerate(needs):
        if each not in placed and all(other in placed for other in needed):
            yield from _orders(needs, (*placed, each))


def _relabelled(graph: Graph, of_leaves: tuple[int, ...], order: tuple[int, ...], *, ordered: bool) -> Graph:
    """Return the graph with leaves and operators in another order."""
    names = [*of_leaves, *(len(of_leaves) + order.index(old) for old in range(len(graph)))]
    rows: list[Node] = []
    for old in order:
        role, operands = graph[old]
        renamed = tuple(names[operand] for operand in operands)
        rows.append((role, renamed if ordered else tuple(sorted(renamed))))
    return tuple(rows)


def small_graph_scenario(graph: Graph, operators: Mapping[Role, str], form: Form) -> Scenario:
    """Return a backward through a graph, with reads of its value and of the gradients of its leaves.

    ``operators`` names the operator of each role. Vectors have leaves and a seed of shape (2,). Scalars have leaves of
    shape () and no seed.
    """
    leaves = max(operand for _, operands in graph for operand in operands) + 2 - len(graph)
    names = [*"xy"[:leaves], *(f"a{number}" for number in range(1, len(graph) + 1))]
    numbers = UNEQUAL if form.vectors else EQUAL if not form.nested else tuple(pair[0] for pair in UNEQUAL)
    given = zip(names[:leaves], numbers, strict=False)
    steps: list[Step] = [Leaf(name, Constant.of(np.array(number)), requires_grad=True) for name, number in given]
    for name, (role, operands) in zip(names[leaves:], graph, strict=True):
        steps.append(Apply(name, operators[role], tuple(names[operand] for operand in operands)))
    backward = Backward(names[-1], Constant.of(np.array(SEED)) if form.vectors else None)
    scenario = Scenario((*steps, backward, Read("value", names[-1]), *(Read("grad", name) for name in names[:leaves])))
    return as_expression(scenario) if form.nested else scenario


def as_expression(scenario: Scenario) -> Scenario:
    """Return the scenario with the name of each result deleted after the operator that uses it last.

    A program nests a result that is used once in the expression that uses it, so that nothing else holds a reference.
    """
    last: dict[str, Step] = {}
    for step in scenario.steps:
        last.update(dict.fromkeys(step.uses, step))
    results = {step.name for step in scenario.applications}
    steps: list[Step] = []
    for step in scenario.steps:
        steps.append(step)
        if isinstance(step, Apply):
            steps += [Delete(name) for name in dict.fromkeys(step.arguments) if name in results and last[name] is step]
    return Scenario(tuple(steps))
