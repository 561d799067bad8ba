"""Random graphs with their coverage, and small graphs that every run tries.

Small graphs consist of a sum, a product and a smooth function, over one leaf and over two. They are enumerated, not
sampled: a backward pass that visits nodes in a wrong order, or keeps one contribution of two, fails in some graph of
three operators. Graphs that differ only in the names of their nodes count as one. The order of operands is
distinguished on request, since a backward pass may follow it.

Structured graphs use a result very often, or again much later, or consist of diamonds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from typing import Final, Literal, TypeAlias

import numpy as np

from refgrad.generation.application import apply_operator, fresh_leaf
from refgrad.generation.backward_calls import completed
from refgrad.generation.builder import Builder
from refgrad.generation.profile import (
    COUNTS,
    INTEGERS,
    NUMBERS,
    STANDARD,
    Choices,
    GenerationError,
    Profile,
    weighted_operators,
)
from refgrad.interpreter import float64_values
from refgrad.operators import Argument, Operator
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Backward, Constant, DeleteName, Leaf, Read, Scenario, Step
from refgrad.scenario.rewrite import replaced

UNUSED: Final = Argument("unused")
"""Argument that stands for a leaf that no operator takes."""


def random_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario generated from a seed, which is the same on every machine.

    Raises :class:`GenerationError` if the profile admits no scenario.
    """
    choices = Choices(seed)
    for _ in range(COUNTS["attempts_at_a_graph"] - 1):
        with suppress(GenerationError):
            return generate(choices, profile)
    return generate(choices, profile)


def generate(choices: Choices, profile: Profile) -> Scenario:
    """Return a scenario generated from these choices. Raises :class:`GenerationError` if they lead to none."""
    with np.errstate(all="ignore"):
        builder = Builder(profile, base_shape(choices, profile), choices)
        operators = weighted_operators(profile)
        joining = tuple(operator for operator in operators if len(operator.arguments) > 1) if profile.joining else ()
        for _ in range(choices.integer(*profile.length)):
            joins = joining and choices.boolean(profile.joining)
            apply_operator(builder, choices.choice(joining if joins else operators))
        _reach_least(builder, operators)
        if choices.boolean(profile.unused_leaves):
            builder.add_leaf(fresh_leaf(choices, profile, operators[0], UNUSED, builder.base))
        scenario = completed(builder)
    if scenario is None:
        raise GenerationError("no result is a scalar that requires grad, nor can one be reduced to such")
    return scenario


def _reach_least(builder: Builder, operators: tuple[Operator, ...]) -> None:
    """Apply operators until there are as many results as the profile requires, and one of them requires grad."""
    for _ in range(COUNTS["attempts_at_a_graph"]):
        if len(builder.results) >= builder.profile.length[0] and any(value.requires_grad for value in builder.results):
            return
        apply_operator(builder, builder.choices.choice(operators))
    raise GenerationError("the profile's operators could not be applied")


def base_shape(choices: Choices, profile: Profile) -> Shape:
    """Return the shape that a scenario's leaves are derived from: lengths of the profile, and rarely one of zero."""
    rank = choices.choice([rank for rank in INTEGERS["ranks"] if rank <= profile.rank] or [0])
    shape = [choices.choice(profile.dimensions) for _ in range(rank)]
    if shape and choices.boolean(profile.empty):
        shape[choices.integer(0, rank - 1)] = 0
    return tuple(shape)


@dataclass(slots=True)
class Reach:
    """Coverage of all graphs that were added.

    ``pairs`` holds (producer, consumer) for each result that is an operand, and ``shapes`` the shapes of all tensors.
    ``uses`` is the largest number of uses of one tensor as an operand, ``levels`` the length of the longest path.
    """

    operators: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    shapes: set[Shape] = field(default_factory=set)
    uses: int = 0
    levels: int = 0

    def add(self, scenario: Scenario) -> None:
        """Add a graph."""
        producers, levels, uses = dict[str, str](), Counter[str](), Counter[str]()
        for step in scenario.applications:
            self.pairs |= {(producers[name], step.operator) for name in step.arguments if name in producers}
            producers[step.name] = step.operator
            levels[step.name] = 1 + max(levels[name] for name in step.arguments)
            uses.update(step.arguments)
        self.operators.update(producers.values())
        self.shapes.update(value.shape for value in float64_values(scenario).values())
        self.uses = max(self.uses, *uses.values())
        self.levels = max(self.levels, *levels.values())

    def __str__(self) -> str:
        """Return the counts in one line."""
        operators, pairs = len(self.operators), len(self.pairs)
        return (
            f"{operators} operators in {pairs:,} of {operators**2:,} ordered pairs, on {len(self.shapes)} shapes, "
            f"up to {self.uses} uses of one tensor and {self.levels} levels"
        )


Role: TypeAlias = Literal["sum", "product", "smooth"]
Node: TypeAlias = tuple[Role, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]
"""Role of each operator and indices of its operands. Leaves are numbered first, then results."""

PAIRED: Final[tuple[Role, Role]] = ("sum", "product")
"""Roles of operators with two operands."""

SMALL: Final = frozenset({"sin", "cos", "tanh", "sigmoid"})
"""Smooth functions whose values stay small if they are applied repeatedly."""

LEAF: Final = Leaf("x", Constant.of(np.array(0.5)), requires_grad=True)


@dataclass(frozen=True, slots=True)
class GraphForm:
    """Form in which an engine gets a graph: of scalars or ``vectors``, with named results or ``nested`` expressions."""

    vectors: bool
    nested: bool


@cache
def small_graphs(leaves: int, operators: int, *, ordered: bool) -> tuple[Graph, ...]:
    """Return all different graphs in which every leaf, and every result but the last, is used."""
    graphs = _extended((), leaves, operators, ordered=ordered)
    return tuple(dict.fromkeys(_least(graph, leaves, ordered=ordered) for graph in graphs))


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


def small_graph_scenario(graph: Graph, operators: Mapping[Role, str], form: GraphForm) -> Scenario:
    """Return a backward through a graph, with reads of its value and of the gradients of its leaves.

    ``operators`` names the operator of each role. Vectors have leaves and a seed of shape (2,). Scalars have leaves of
    shape () and no seed.
    """
    leaves = max(operand for _, operands in graph for operand in operands) + 2 - len(graph)
    names = [*"xy"[:leaves], *(f"a{number}" for number in range(1, len(graph) + 1))]
    numbers = np.array(NUMBERS["unequal_leaves" if form.vectors or form.nested else "equal_leaves"])
    entries = np.stack([numbers, NUMBERS["second_entries"]], axis=1) if form.vectors else numbers
    numbered = zip(names[:leaves], entries, strict=False)
    steps: list[Step] = [Leaf(name, Constant.of(np.array(each)), requires_grad=True) for name, each in numbered]
    for name, (role, operands) in zip(names[leaves:], graph, strict=True):
        steps.append(Apply(name, operators[role], tuple(names[operand] for operand in operands)))
    backward = Backward(names[-1], Constant.of(np.array(NUMBERS["seed"])) if form.vectors else None)
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
        return (step, *map(DeleteName, gone))

    return Scenario(replaced(scenario.steps, Apply, with_deletions))


def structured_graphs(operators: Mapping[Role, str]) -> Iterator[Scenario]:
    """Yield graphs of one leaf of shape (), or none if the operator of a sum or of a product is missing.

    The smooth function is used if its values stay small, else a product with the leaf.
    """
    if not operators.keys() >= {"sum", "product"}:
        return
    for maker, counts in ((_fan_out, "fan_outs"), (_skip, "skips"), (_diamonds, "depths")):
        for count in INTEGERS[counts]:
            yield maker(_Steps(operators), count)


class _Steps:
    """Builder of a graph; its methods apply an operator and return the name of the result."""

    def __init__(self, operators: Mapping[Role, str]) -> None:
        self.operators = operators
        self.applications: list[Apply] = []

    def apply(self, role: Role, *names: str) -> str:
        self.applications.append(Apply(f"a{len(self.applications) + 1}", self.operators[role], names))
        return self.applications[-1].name

    def of(self, name: str) -> str:
        is_small = self.operators.get("smooth") in SMALL
        return self.apply("smooth", name) if is_small else self.apply("product", name, LEAF.name)

    @property
    def scenario(self) -> Scenario:
        last = self.applications[-1].name
        return Scenario((LEAF, *self.applications, Backward(last), Read("value", last), Read("grad", LEAF.name)))


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
