"""Fixed graphs: all graphs of a few operators, and some that random draws rarely contain.

Small graphs consist of a sum, a product and a smooth function, over one leaf and over two. They are enumerated, not
sampled: a backward pass that visits nodes in a wrong order, or keeps one contribution of two, fails in some graph of
three operators. Graphs that differ only in the names of their nodes count as one. The order of operands is
distinguished on request, since a backward pass may follow it.

Structured graphs use a result very often, or again much later, or consist of diamonds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Final, Literal, TypeAlias

import numpy as np

from refgrad.scenario import Apply, Backward, Constant, Delete, Leaf, Read, Scenario, Step
from refgrad.scenario.rewrite import replaced

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

FAN_OUTS: Final = (2, 3, 5, 9, 17, 33, 257)
"""Numbers of uses of one result. Some exceed the size of a growing buffer, or the range of a counter of one byte."""

SKIPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of levels between two uses of one result."""

DEPTHS: Final = (2, 4, 8)
"""Numbers of chained diamonds, few enough to traverse every path. `scale/sixty_diamonds` is about the time."""

SMALL: Final = frozenset({"sin", "cos", "tanh", "sigmoid"})
"""Smooth functions whose values stay small if they are applied repeatedly."""

LEAF: Final = Leaf("x", Constant.of(np.array(0.5)), requires_grad=True)


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
    last = {name: step for step in scenario.steps for name in step.uses}
    results = {step.name for step in scenario.applications}

    def with_deletions(step: Apply) -> tuple[Step, ...]:
        gone = (name for name in dict.fromkeys(step.arguments) if name in results and last[name] is step)
        return (step, *map(Delete, gone))

    return Scenario(replaced(scenario.steps, Apply, with_deletions))


def structured_graphs(operators: Mapping[Role, str]) -> Iterator[Scenario]:
    """Yield graphs of one leaf of shape (), or none if the operator of a sum or of a product is missing.

    The smooth function is used if its values stay small, else a product with the leaf.
    """
    if not operators.keys() >= {"sum", "product"}:
        return
    for maker, counts in ((_fan_out, FAN_OUTS), (_skip, SKIPS), (_diamonds, DEPTHS)):
        for count in counts:
            yield maker(_Steps(operators), count)


class _Steps:
    """Builder of a graph; its methods apply an operator and return the name of the result."""

    def __init__(self, operators: Mapping[Role, str]) -> None:
        self.operators = operators
        self.made: list[Apply] = []

    def apply(self, role: Role, *names: str) -> str:
        self.made.append(Apply(f"a{len(self.made) + 1}", self.operators[role], names))
        return self.made[-1].name

    def of(self, name: str) -> str:
        is_small = self.operators.get("smooth") in SMALL
        return self.apply("smooth", name) if is_small else self.apply("product", name, LEAF.name)

    @property
    def scenario(self) -> Scenario:
        last = self.made[-1].name
        return Scenario((LEAF, *self.made, Backward(last), Read("value", last), Read("grad", LEAF.name)))


def _fan_out(steps: _Steps, count: int) -> Scenario:
    """Return a graph that sums ``count`` products of one result pairwise, so that no path is long."""
    shared = steps.of(LEAF.name)
    terms = [steps.apply("product", shared, LEAF.name) for _ in range(count)]
    while len(terms) > 1:
        terms = [*terms[2:], steps.apply("sum", terms[0], terms[1])]
    return steps.scenario


def _skip(steps: _Steps, count: int) -> Scenario:
    """Return a graph that uses an early result again ``count`` levels later."""
    early = later = steps.of(LEAF.name)
    for _ in range(count):
        later = steps.of(later)
    steps.apply("sum", later, early)
    return steps.scenario


def _diamonds(steps: _Steps, count: int) -> Scenario:
    """Return a chain of ``count`` diamonds, one side of which is a product with the leaf."""
    top = steps.of(LEAF.name)
    for _ in range(count):
        top = steps.apply("sum", steps.apply("product", top, LEAF.name), steps.of(top))
    return steps.scenario
