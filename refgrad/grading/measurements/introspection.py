"""Comparison of the nodes and edges of recorded graphs with those that the lifecycle model expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.generation import Profile, find_counterexample, lifecycle_profile, lifecycle_scenario, random_scenario
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.evidence import Died, Fact, Parents, Remark
from refgrad.grading.judging.narration import said
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.recorded import NoNodeError, Recorded, record, reproduction
from refgrad.grading.measurements.shown import Shown
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


def _differing(recorded: Recorded, told: Callable[[Sequence[int]], list[int]]) -> Fact | None:
    """Return the fact that a node does not lead to its operands' nodes, compared after ``told`` is applied to both."""
    for name, node in recorded.nodes.items():
        if recorded.judgeable(name):
            found = recorded.graph.parents[node]
            due = [recorded.nodes[operand] for operand in recorded.expected(name)]
            if told(found) != told(due):
                return Parents(node=name, seen=recorded.named(found), expected=recorded.named(due))
    return None


def _how_many(recorded: Recorded) -> Fact | None:
    """Return the fact that more or fewer nodes than expected are reached, or None."""
    due = len(recorded.model.graph.may_reach(recorded.output))
    found = len(recorded.reached(recorded.nodes[recorded.output]))
    return None if found == due else Remark(text=f"{found} nodes are reached from {recorded.output}, not {due}")


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
class Claim:
    """A property that a row claims of the edges: ``odd`` returns the fact that contradicts it, if any.

    With ``output_alone`` only the output's node is held while the graph is traversed.
    """

    odd: Callable[[Recorded], Fact | None]
    output_alone: bool = False


CLAIMS: Final[Mapping[str, Claim]] = MappingProxyType({
    "which": Claim(_which),
    "past": Claim(_past),
    "how_often": Claim(_how_often),
    "in_order": Claim(_in_order),
    "how_many": Claim(_how_many, output_alone=True),
    "leaves": Claim(_leaves),
})
"""Claims about edges by the name that rows use."""

Maker = Callable[[int, Engine, frozenset[str]], Scenario]


def _random_graph(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a random graph without constants: its leaves and applications only."""
    profile = Profile(
        operators=operators, scalars_only=engine.adapter.scalars_only, constants=0.0, max_backwards=1, empty=0.0
    )
    made = random_scenario(seed, profile)
    return Scenario(tuple(step for step in made.steps if isinstance(step, Leaf | Apply)))


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


def measure_graphs(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Shown:
    """Compare what an engine records of the row's graphs, and of random ones, with the lifecycle model."""
    adapter = engine.adapter
    if not isinstance(adapter, TapeAdapter) or adapter.node is None or adapter.parents is None:
        return Shown("unsupported", "the engine has no graph")
    given = [parse(text) for text in parameters["graphs"]]
    lacking = [Library(engine).lacks(s.operators, sorted(required_features(s) - OF_VALUES)) for s in given]
    scenarios = [s for s, lack in zip(given, lacking, strict=True) if not lack]
    if not scenarios:
        return Shown("unsupported", f"the engine has no {lacking[0]}")
    claim = CLAIMS[parameters["claim"]]
    odd = next(filter(None, (_odd(s, engine, claim) for s in scenarios)), None)
    return odd or _random(engine, parameters["random"], claim, settings, len(scenarios))


OF_VALUES: Final = frozenset({"accumulate", "arrays"})
"""Features that affect the values of gradients, but not what is recorded."""


TRIES: Final = 8
"""Number of times that a graph of the row is recorded.

Each is at another address in memory, on which the order of a set depends.
"""


def _odd(scenario: Scenario, engine: Engine, claim: Claim) -> Shown | None:
    """Record a graph of the row several times, and return the first failure, or None."""
    return next(filter(None, (_shown(scenario, engine, claim, 1, keep=True) for _ in range(TRIES))), None)


def _shown(scenario: Scenario, engine: Engine, claim: Claim, examples: int, *, keep: bool = False) -> Shown | None:
    """Return the failure of a graph with the program that shows it, or None."""
    outcome: Outcome = "wrong"
    fact: Fact | None
    try:
        recorded = record(scenario, engine, output_alone=claim.output_alone, keep=keep)
        fact = claim.odd(recorded) if recorded is not None and recorded.output in recorded.nodes else None
    except NoNodeError as error:
        fact = Remark(text=str(error))
    except EndingError as error:
        outcome, fact = error.ending.outcome, Died(detail=error.ending.detail, stderr=error.ending.stderr)
    if fact is None:
        return None
    return Shown(outcome, said(fact), reproduction(scenario, engine), scenario, examples, fact=fact)


def _random(engine: Engine, random: str, claim: Claim, settings: Settings, tried: int) -> Shown:
    maker = MAKERS[random]
    operators = _operators(engine, random)
    if maker is None or not operators:
        return Shown("passed", examples=tried)
    search = find_counterexample(
        lambda seed: maker(seed, engine, operators),
        lambda scenario: _shown(scenario, engine, claim, 1) is not None,
        seed=settings.seed,
        max_examples=settings.effort.per_graph_check // 2,
    )
    examples = tried + search.examples
    if search.counterexample is None:
        return Shown("passed", examples=examples)
    found = search.counterexample
    shown = _shown(found.shrunk, engine, claim, examples) or _shown(found.scenario, engine, claim, examples)
    return shown or Shown("wrong", NOT_AGAIN, reproduction(found.scenario, engine), found.scenario, examples)


NOT_AGAIN: Final = "a graph was wrong once, and right when it was recorded again"


def _operators(engine: Engine, random: str) -> frozenset[str]:
    """Return the operators that random graphs are made of."""
    if random != "operators":
        return ONE_NODE_EACH.intersection(engine.operators)
    rows = (operator_table()[name] for name in engine.operators)
    if engine.adapter.scalars_only:
        rows = (row for row in rows if row.elementwise)
    return frozenset(row.name for row in rows if not any(map(row.vanishes, row.differentiable_arguments)))
