"""Comparison of the nodes and edges of recorded graphs with those that the lifecycle model expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Died, Fact, Parents, Remark
from refgrad.generation import Profile, find_counterexample, lifecycle_profile, lifecycle_scenario, random_scenario
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.recorded import NoNodeError, Recorded, record, reproduction
from refgrad.grading.measurements.result import Reading
from refgrad.lifecycle import required_features
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.library import EndingError, Library
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Leaf, Scenario, parse

ONE_NODE_EACH: Final = frozenset({"add", "multiply"})
"""Operators that every library records as one node."""

REGIONS: Final = frozenset({"detach", "no_grad", "enable_grad"})
"""Features that random lifecycles use besides building: those that decide whether something is recorded."""


def _which(recorded: Recorded) -> Fact | None:
    return _differing(recorded, lambda nodes: sorted(set(nodes)))


def _past(recorded: Recorded) -> Fact | None:
    """Compare as ``which`` does, but ignore unknown nodes that lead nowhere: some libraries show constants."""
    known = set(recorded.nodes.values())
    return _differing(
        recorded, lambda nodes: sorted({node for node in nodes if node in known or recorded.graph.parents[node]})
    )


def _how_often(recorded: Recorded) -> Fact | None:
    return _differing(recorded, sorted)


def _in_order(recorded: Recorded) -> Fact | None:
    return _differing(recorded, list)


def _differing(recorded: Recorded, compared: Callable[[Sequence[int]], list[int]]) -> Fact | None:
    """Return the fact that a node does not lead to its operands' nodes; ``compared`` is applied to both lists."""
    for name, node in recorded.nodes.items():
        if recorded.judgeable(name):
            actual = recorded.graph.parents[node]
            expected = [recorded.nodes[operand] for operand in recorded.expected(name)]
            if compared(actual) != compared(expected):
                return Parents(node=name, seen=recorded.named(actual), expected=recorded.named(expected))
    return None


def _how_many(recorded: Recorded) -> Fact | None:
    """Return the fact that more or fewer nodes than expected are reached, or None."""
    expected = len(recorded.model.graph.may_reach(recorded.output))
    count = len(recorded.reached(recorded.nodes[recorded.output]))
    text = f"{count} nodes are reached from {recorded.output}, not {expected}"
    return None if count == expected else Remark(text=text)


def _leaves(recorded: Recorded) -> Fact | None:
    """Return the fact that a leaf is reached unexpectedly, or is not reached although it must be, or None."""
    graph = recorded.model.graph
    reached = recorded.reached(recorded.nodes[recorded.output])
    may, must = graph.may_reach(recorded.output), graph.must_reach(recorded.output)
    for name in graph.leaves & recorded.nodes.keys():
        is_reached = recorded.nodes[name] in reached
        if name in must and not is_reached:
            return Remark(text=f"the leaf {name} is not reached from {recorded.output}")
        if name not in may and is_reached:
            return Remark(text=f"the leaf {name} is reached from {recorded.output}, which does not depend on it")
    return None


@dataclass(frozen=True, slots=True)
class EdgeProperty:
    """A property that a row claims of the edges: ``contradiction`` returns the fact that contradicts it, if any.

    With ``only_output`` only the output's node is held while the graph is traversed.
    """

    contradiction: Callable[[Recorded], Fact | None]
    only_output: bool = False


CLAIMS: Final[Mapping[str, EdgeProperty]] = MappingProxyType({
    "which": EdgeProperty(_which),
    "past": EdgeProperty(_past),
    "how_often": EdgeProperty(_how_often),
    "in_order": EdgeProperty(_in_order),
    "how_many": EdgeProperty(_how_many, only_output=True),
    "leaves": EdgeProperty(_leaves),
})
"""Claims about edges by the name that rows use."""

Maker = Callable[[int, Engine, frozenset[str]], Scenario]


def _random_graph(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a random graph without constants: its leaves and applications only."""
    profile = Profile(
        operators=operators, scalars_only=engine.adapter.scalars_only, constants=0.0, max_backwards=1, empty=0.0
    )
    scenario = random_scenario(seed, profile)
    return Scenario(tuple(step for step in scenario.steps if isinstance(step, Leaf | Apply)))


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
        return Reading("unsupported", "the engine has no graph")
    tried = [parse(text) for text in parameters["graphs"]]
    lacking = [Library(engine).lacks(s.operators, sorted(required_features(s) - OF_VALUES)) for s in tried]
    scenarios = [s for s, lack in zip(tried, lacking, strict=True) if not lack]
    if not scenarios:
        return Reading("unsupported", f"the engine has no {lacking[0]}")
    claim = CLAIMS[parameters["claim"]]
    failure = next(filter(None, (_first_failure(s, engine, claim) for s in scenarios)), None)
    return failure or _random(engine, parameters["random"], claim, settings, len(scenarios))


OF_VALUES: Final = frozenset({"accumulate", "arrays"})
"""Features that affect the values of gradients, but not what is recorded."""


TRIES: Final = 8
"""Number of times that a graph of the row is recorded.

Each is at another address in memory, on which the order of a set depends.
"""


def _first_failure(scenario: Scenario, engine: Engine, claim: EdgeProperty) -> Reading | None:
    """Record a graph of the row several times, and return the first failure, or None."""
    return next(filter(None, (_failure_of(scenario, engine, claim, 1, keep=True) for _ in range(TRIES))), None)


def _failure_of(scenario: Scenario, engine: Engine, claim: EdgeProperty, tried: int, *, keep: bool) -> Reading | None:
    """Return the failure of a graph with the program that shows it, or None."""
    outcome: Outcome = "wrong"
    fact: Fact | None
    try:
        recorded = record(scenario, engine, only_output=claim.only_output, keep=keep)
        fact = claim.contradiction(recorded) if recorded is not None and recorded.output in recorded.nodes else None
    except NoNodeError as error:
        fact = Remark(text=str(error))
    except EndingError as error:
        outcome, fact = error.ending.outcome, Died(detail=error.ending.detail, stderr=error.ending.stderr)
    if fact is None:
        return None
    return Reading(outcome, fact.message(), reproduction(scenario, engine), scenario, tried, fact=fact)


def _random(engine: Engine, random: str, claim: EdgeProperty, settings: Settings, tried: int) -> Reading:
    maker = MAKERS[random]
    operators = _operators(engine, random)
    if maker is None or not operators:
        return Reading("passed", examples=tried)
    search = find_counterexample(
        lambda seed: maker(seed, engine, operators),
        lambda scenario: _failure_of(scenario, engine, claim, 1, keep=False) is not None,
        seed=settings.seed,
        max_examples=settings.effort.per_graph_check // 2,
    )
    examples = tried + search.examples
    if search.counterexample is None:
        return Reading("passed", examples=examples)
    small, scenario = search.counterexample.shrunk, search.counterexample.scenario
    again = (_failure_of(each, engine, claim, examples, keep=False) for each in (small, scenario))
    return next(filter(None, again), Reading("wrong", NOT_AGAIN, reproduction(scenario, engine), scenario, examples))


NOT_AGAIN: Final = "a graph was wrong once, and right when it was recorded again"


def _operators(engine: Engine, random: str) -> frozenset[str]:
    """Return the operators that random graphs are made of."""
    if random != "operators":
        return ONE_NODE_EACH.intersection(engine.operators)
    rows = (operator_table()[name] for name in engine.operators)
    if engine.adapter.scalars_only:
        rows = (row for row in rows if row.elementwise)
    return frozenset(row.name for row in rows if not any(map(row.vanishes, row.differentiable_arguments)))
