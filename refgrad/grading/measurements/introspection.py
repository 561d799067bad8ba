"""Comparison of the graph that an engine recorded with the nodes and edges that the lifecycle model expects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Comment, Died, Fact, Parents
from refgrad.generation import Profile, find_counterexample, lifecycle_profile, lifecycle_scenario, random_scenario
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.programs import Reading, unsupported
from refgrad.grading.settings import NUMBERS, Settings
from refgrad.lifecycle import Fails, required_features
from refgrad.lifecycle.model import Model
from refgrad.native.adapter import TapeAdapter
from refgrad.native.calls import call
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError
from refgrad.native.observation import Graph, Observation
from refgrad.native.process import EndingError
from refgrad.native.program import Group, Program, program_of
from refgrad.native.statements import Argument, Attempt, Call, Delete, Name, Show, Statement, Traversal
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Leaf, Read, RequireGrad, Scenario, Step, Write, ZeroGrad, parse
from refgrad.scenario import DeleteName as DeleteStep


class NoNodeError(Exception):
    """Raised if an engine has no node for something that it must have recorded."""


@dataclass(frozen=True, slots=True)
class ExpectedNode:
    """A node that must be recorded after step ``at``: its name in the model, its tensor, and its operands' nodes."""

    at: int
    node: str
    tensor: str
    operands: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The nodes of an engine by their names in the lifecycle model, and the operands' nodes that the model expects.

    ``output`` is the name of the last one. Nodes that engines need not record are left out.
    """

    model: Model
    graph: Graph
    nodes: Mapping[str, int]
    operands: Mapping[str, tuple[str | None, ...]]
    output: str

    def reached(self) -> set[int]:
        """Return all nodes that the output leads to, itself included."""
        reached, waiting = set[int](), {self.nodes[self.output]}
        while waiting:
            reached |= waiting
            waiting = {parent for node in waiting for parent in self.graph.parents[node]} - reached
        return reached

    def named(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """Return the names of nodes, with an empty string for an unknown node."""
        names = {number: name for name, number in self.nodes.items()}
        return tuple(names.get(number, "") for number in nodes)


def record(scenario: Scenario, engine: Engine, *, only_output: bool = False, keep: bool = False) -> Recorded | None:
    """Run a scenario and collect its nodes. Return None if it has none, or if a step fails, which other checks report.

    With ``only_output`` only the node of the output is held while its graph is traversed. With ``keep`` the objects of
    the program are held until another scenario is run.

    Raises NoNodeError if an expected node is missing, and EndingError if the engine's runner ends.
    """
    laid = GraphProgram.of(scenario, engine, only_output=only_output)
    seen = engine.run(replace(laid.program, keep=keep))
    for each in seen:
        if each.ending is not None:
            raise EndingError(each.ending)
    failed = any(seen[index].error is not None and at not in laid.failing for at, index in enumerate(laid.steps))
    if failed or not laid.expected:
        return None
    return recorded(laid.model, laid.expected, [*(seen[at] for at in laid.nodes), *seen[-1:]])


def reproduction(scenario: Scenario, engine: Engine) -> tuple[Statement, ...]:
    """Return the statements that run a scenario and traverse the graph of its tensors."""
    laid = GraphProgram.of(scenario, engine)
    groups = [tuple(each for each in group if not isinstance(each, Show)) for group in laid.program.groups]
    caught = frozenset(laid.steps[at] for at in laid.failing)
    parts = ((Attempt(group),) if at in caught else group for at, group in enumerate(groups))
    return tuple(chain.from_iterable(parts))


@dataclass(frozen=True, slots=True)
class GraphProgram:
    """A program that takes a scenario's steps, binds each node once it is made, and then traverses the graph.

    ``steps`` and ``nodes`` are the indices of the groups that take steps and of those that show new nodes. The last
    group traverses the graph, if there are ``expected`` nodes. The steps at ``failing`` must fail.
    """

    model: Model
    expected: tuple[ExpectedNode, ...]
    failing: frozenset[int]
    program: Program
    steps: tuple[int, ...]
    nodes: tuple[int, ...]

    @classmethod
    def of(cls, scenario: Scenario, engine: Engine, *, only_output: bool = False) -> GraphProgram:
        """Return the program of a scenario; with ``only_output`` it holds only the node of the output."""
        adapter = engine.adapter
        assert isinstance(adapter, TapeAdapter)
        model = Model(scenario, adapter.policy)
        expected, failing = _expected_nodes(scenario, model)
        plain = program_of(scenario, adapter, lambda step, _: engine.operators[step.operator], nests=False)
        variables = {node.node: f"node_{number}" for number, node in enumerate(expected, 1)}
        groups: list[Group] = []
        steps, nodes = [], []
        for at, group in enumerate(plain.groups):
            steps.append(len(groups))
            groups.append(() if isinstance(scenario.steps[at], Read | ZeroGrad) else group)
            for node in (each for each in expected if each.at == at):
                nodes.append(len(groups))
                groups.append(_noted(adapter, node, variables[node.node]))
        if expected:
            output = expected[-1].node
            groups.append(_let_go(scenario, failing, variables, output) if only_output else ())
            walked = {output: variables[output]} if only_output else variables
            groups.append((Traversal(adapter.parents or "", walked),))
        return cls(model, expected, failing, Program(tuple(groups), plain.around), tuple(steps), tuple(nodes))


def _expected_nodes(scenario: Scenario, model: Model) -> tuple[tuple[ExpectedNode, ...], frozenset[int]]:
    """Return the nodes that must be recorded, by their names, and the steps that must fail."""
    expected: dict[str, ExpectedNode] = {}
    failing = set()
    for at, step in enumerate(scenario.steps):
        before = {name: tensor.node for name, tensor in model.tensors.items()}
        if isinstance(model.step(step), Fails):
            failing.add(at)
        elif (node := _new_node(at, step, model, before)) is not None:
            expected.setdefault(node.node, node)
    return tuple(expected.values()), frozenset(failing)


def _new_node(at: int, step: Step, model: Model, before: Mapping[str, str | None]) -> ExpectedNode | None:
    """Return the node that a step makes in every engine, or None."""
    match step:
        case Leaf(name=name) | RequireGrad(name=name):
            operands: tuple[str | None, ...] = ()
        case Apply(name=name):
            operands = tuple(before[argument] for argument in step.arguments)
        case Write(name=name, action="add" | "multiply", index=None):
            operands = (before[name], before[step.operand])
        case _:
            return None
    node = model.tensors[name].node if name in model.tensors else None
    if node is None or name in model.unknown or model.may_be_constant(node):
        return None
    return ExpectedNode(at, node, name, operands)


def _noted(adapter: TapeAdapter, node: ExpectedNode, variable: str) -> Group:
    """Return the statements that bind a node and show whether it exists and whether it is the tensor itself."""
    names: dict[str, Argument] = {"node": Name(variable), "x": Name(node.tensor)}
    status = Show("node", Call("[{node} is not None, {node} is {x}]", names), "data")
    return (call(adapter.node, variable, x=Name(node.tensor)), status)


def _let_go(scenario: Scenario, failing: Collection[int], variables: Mapping[str, str], output: str) -> Group:
    """Return the statements that delete every tensor and every node but the output's."""
    gone = {step.name for step in scenario.steps if isinstance(step, DeleteStep)}
    gone |= {getattr(scenario.steps[at], "name", "") for at in failing}
    tensors = [name for name in scenario.definitions if name not in gone]
    return tuple(Delete(name) for name in [*tensors, *(v for node, v in variables.items() if node != output)])


def recorded(model: Model, expected: Sequence[ExpectedNode], seen: Sequence[Observation]) -> Recorded:
    """Return the recorded graph from the observations of each node and of the traversal.

    Raises NoNodeError if a node is missing, and RaisedError if the traversal raises an exception.
    """
    *observed, traversal = seen
    for node, observation in zip(expected, observed, strict=True):
        if observation.error is not None or not observation.data[0]:
            why = "" if observation.error is None else f": {observation.error_text}"
            raise NoNodeError(f"{node.tensor} has no node{why}")
    if traversal.error is not None:
        raise RaisedError(traversal.error)
    assert traversal.graph is not None
    nodes: dict[str, int] = {}
    for node, observation in zip(expected, observed, strict=True):
        number = traversal.graph.named.get(node.node)
        if observation.data[1]:  # tensors are nodes: a write has made a new node of the tensor, and the old is unknown
            nodes = {old: known for old, known in nodes.items() if known != number}
        if number is not None:
            nodes[node.node] = number
    return Recorded(model, traversal.graph, nodes, {each.node: each.operands for each in expected}, expected[-1].node)


UNKNOWN: Final = -1
"""Number that stands for a node that is not known."""

ONE_NODE_EACH: Final = frozenset({"add", "multiply"})
"""Operators that every library records as one node."""

REGIONS: Final = frozenset({"detach", "no_grad", "enable_grad"})
"""Features that random lifecycles use besides building: those that decide whether something is recorded."""


def _differing(recorded: Recorded, compared: Callable[[Sequence[int]], object]) -> Fact | None:
    """Return the fact that a node does not lead to its operands' nodes; ``compared`` is applied to both lists."""
    for name, node in recorded.nodes.items():
        actual = recorded.graph.parents[node]
        expected = [recorded.nodes.get(operand, UNKNOWN) for operand in filter(None, recorded.operands[name])]
        if UNKNOWN not in expected and compared(actual) != compared(expected):
            return Parents(node=name, seen=recorded.named(actual), expected=recorded.named(expected))
    return None


def _past(recorded: Recorded) -> Fact | None:
    """Compare as ``which`` does, but ignore unknown nodes that lead nowhere: some libraries show constants."""
    known = {*recorded.nodes.values(), *(node for node, parents in enumerate(recorded.graph.parents) if parents)}
    return _differing(recorded, known.intersection)


def _how_many(recorded: Recorded) -> Fact | None:
    """Return the fact that more or fewer nodes than expected are reached, or None."""
    expected, count = len(recorded.model.graph.may_reach(recorded.output)), len(recorded.reached())
    text = f"{count} nodes are reached from {recorded.output}, not {expected}"
    return None if count == expected else Comment(text=text)


def _leaves(recorded: Recorded) -> Fact | None:
    """Return the fact that a leaf is reached unexpectedly, or is not reached although it must be, or None."""
    graph, reached = recorded.model.graph, recorded.reached()
    may, must = graph.may_reach(recorded.output), graph.must_reach(recorded.output)
    for name in graph.leaves & recorded.nodes.keys():
        is_reached = recorded.nodes[name] in reached
        if name in must and not is_reached:
            return Comment(text=f"the leaf {name} is not reached from {recorded.output}")
        if name not in may and is_reached:
            return Comment(text=f"the leaf {name} is reached from {recorded.output}, which does not depend on it")
    return None


Contradiction = Callable[[Recorded], Fact | None]

CLAIMS: Final[Mapping[str, Contradiction]] = MappingProxyType({
    "which": partial(_differing, compared=frozenset),
    "past": _past,
    "how_often": partial(_differing, compared=sorted),
    "in_order": partial(_differing, compared=list),
    "how_many": _how_many,
    "leaves": _leaves,
})
"""Functions that return the fact that contradicts a claim about edges, if any, by the name that rows use."""

OF_THE_OUTPUT: Final = frozenset({"how_many"})
"""Claims for which only the node of the output is held while the graph is traversed."""

Maker = Callable[[int, Engine, frozenset[str]], Scenario]


def _random_graph(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a random graph without constants: its leaves and applications only."""
    profile = Profile(
        operators=operators, scalars_only=engine.adapter.scalars_only, constants=0.0, max_backwards=1, empty=0.0
    )
    return Scenario(tuple(step for step in random_scenario(seed, profile).steps if isinstance(step, Leaf | Apply)))


def _random_lifecycle(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a random lifecycle in which some results are not recorded."""
    features = engine.adapter.features & REGIONS
    return lifecycle_scenario(seed, lifecycle_profile(features=features, operators=operators & ONE_NODE_EACH))


MAKERS: Final[Mapping[str, Maker | None]] = MappingProxyType({
    "none": None,
    "graphs": _random_graph,
    "lives": _random_lifecycle,
    "operators": _random_graph,
})
"""Generators of the graphs that are tried besides those of the row.

``operators`` uses all operators without derivatives that are always zero.
"""


def measure_graphs(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Reading:
    """Compare what an engine records of the row's graphs, and of random ones, with the lifecycle model."""
    adapter = engine.adapter
    if not isinstance(adapter, TapeAdapter) or adapter.node is None or adapter.parents is None:
        return unsupported("graph")
    tried = [parse(text) for text in parameters["graphs"]]
    lacking = [Library(engine).lacks(s.operators, sorted(required_features(s) - OF_VALUES)) for s in tried]
    scenarios = [s for s, lack in zip(tried, lacking, strict=True) if not lack]
    if not scenarios:
        return unsupported(lacking[0])
    failing = partial(_failure_of, engine=engine, claim=parameters["claim"])
    # each time at another address in memory, on which the order of a set depends
    failures = (failing(s, keep=True) for s in scenarios for _ in range(NUMBERS["release"]["recorded"]))
    failure = next(filter(None, failures), None)
    return failure or _random(engine, parameters["random"], failing, settings, len(scenarios))


OF_VALUES: Final = frozenset({"accumulate", "arrays"})
"""Features that affect the values of gradients, but not what is recorded."""


def _failure_of(scenario: Scenario, engine: Engine, claim: str, *, keep: bool = False) -> Reading | None:
    """Record the graph of a scenario, and return the failure with the program that shows it, or None."""
    outcome: Outcome = "wrong"
    fact: Fact | None
    try:
        seen = record(scenario, engine, only_output=claim in OF_THE_OUTPUT, keep=keep)
        fact = CLAIMS[claim](seen) if seen is not None and seen.output in seen.nodes else None
    except NoNodeError as error:
        fact = Comment(text=str(error))
    except EndingError as error:
        outcome, fact = error.ending.outcome, Died(detail=error.ending.detail, stderr=error.ending.stderr)
    if fact is None:
        return None
    return Reading(outcome, fact.message(), reproduction(scenario, engine), scenario, fact=fact)


def _random(
    engine: Engine, random: str, failing: Callable[[Scenario], Reading | None], settings: Settings, tried: int
) -> Reading:
    """Return the result of random graphs, after so many graphs of the row that were tried."""
    maker, operators = MAKERS[random], _operators(engine, random)
    if maker is None or not operators:
        return Reading("passed", examples=tried)
    search = find_counterexample(
        lambda seed: maker(seed, engine, operators),
        lambda scenario: failing(scenario) is not None,
        seed=settings.seed,
        max_examples=settings.effort["graphs"] // 2,
    )
    example, result = search.counterexample, Reading("passed")
    if example is not None:
        again = filter(None, map(failing, (example.shrunk, example.scenario)))
        result = next(again, Reading("wrong", NOT_AGAIN, reproduction(example.scenario, engine), example.scenario))
    return replace(result, examples=tried + search.examples)


NOT_AGAIN: Final = "a graph was wrong once, and right when it was recorded again"


def _operators(engine: Engine, random: str) -> frozenset[str]:
    """Return the operators that random graphs are made of."""
    if random != "operators":
        return ONE_NODE_EACH.intersection(engine.operators)
    rows = (operator_table()[name] for name in engine.operators)
    if engine.adapter.scalars_only:
        rows = (row for row in rows if row.elementwise)
    return frozenset(row.name for row in rows if not any(map(row.vanishes, row.differentiable_arguments)))
