"""Has the graph that an engine shows the right nodes and edges?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from refgrad.harness.adapter import TapeAdapter
from refgrad.harness.execution import Engine
from refgrad.harness.probes.program import Words, recording
from refgrad.harness.probes.recorded import NoNodeError, Recorded, record
from refgrad.harness.probes.shown import Shown
from refgrad.harness.reproduction import reproduce
from refgrad.harness.settings import Settings
from refgrad.harness.template import Template
from refgrad.lifecycle import required_features
from refgrad.lifecycle.model import Model
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Delete, Leaf, Scenario, ScenarioError, parse
from refgrad.strategies import (
    LifecycleProfile,
    Profile,
    find_counterexample,
    lifecycle_scenario,
    random_scenario,
)

ONE_NODE_EACH: Final = frozenset({"add", "multiply"})
"""Operators that every library records as one node."""

REGIONS: Final = frozenset({"detach", "no_grad", "enable_grad"})
"""What random lifecycles contain besides building: what decides whether something is recorded."""


def _which(recorded: Recorded) -> str:
    return _differing(recorded, lambda nodes: sorted({id(node) for node in nodes}))


def _past(recorded: Recorded) -> str:
    """As ``which``, but nodes of something unknown do no harm if they lead nowhere: some libraries show constants."""
    known = {id(node) for node in recorded.nodes.values()}
    return _differing(
        recorded, lambda nodes: sorted({id(node) for node in nodes if id(node) in known or recorded.parents(node)})
    )


def _how_often(recorded: Recorded) -> str:
    return _differing(recorded, _told_apart)


def _in_order(recorded: Recorded) -> str:
    return _differing(recorded, lambda nodes: list(map(id, nodes)))


def _differing(recorded: Recorded, told: Callable[[Sequence[Any]], list[int]]) -> str:
    """Say which node leads elsewhere than to its operands' nodes, as far as ``told`` tells."""
    for name, node in recorded.nodes.items():
        if recorded.judgeable(name):
            found = recorded.parents(node)
            due = [recorded.nodes[operand] for operand in recorded.expected(name)]
            if told(found) != told(due):
                return f"the node of {name} leads to {recorded.named(found)}, not to {recorded.named(due)}"
    return ""


def _told_apart(nodes: Sequence[Any]) -> list[int]:
    return sorted(map(id, nodes))


def _how_many(recorded: Recorded) -> str:
    """Say how many nodes are reached, if they are more or fewer than there should be, holding no tensor meanwhile."""
    start = recorded.nodes[recorded.output]
    due = len(recorded.model.graph.ancestors(recorded.output))
    recorded.nodes.clear()
    recorded.tensors.clear()
    found = len(recorded.reached(start))
    return "" if found == due else f"{found} nodes are reached from {recorded.output}, not {due}"


def _leaves(recorded: Recorded) -> str:
    """Say which leaf is reached that should not be, or is not that should be."""
    graph = recorded.model.graph
    reached = recorded.reached(recorded.nodes[recorded.output])
    may, must = (graph.ancestors(recorded.output, firm=firm) for firm in (False, True))
    for name in graph.leaves & recorded.nodes.keys():
        is_reached = id(recorded.nodes[name]) in reached
        if name in must and not is_reached:
            return f"the leaf {name} is not reached from {recorded.output}"
        if name not in may and is_reached:
            return f"the leaf {name} is reached from {recorded.output}, which does not depend on it"
    return ""


CLAIMS: Final[Mapping[str, Callable[[Recorded], str]]] = MappingProxyType({
    "which": _which,
    "past": _past,
    "how_often": _how_often,
    "in_order": _in_order,
    "how_many": _how_many,
    "leaves": _leaves,
})
"""What a row can claim of the edges, by the name that it calls it by: each says what is odd, if anything."""

Maker = Callable[[int, Engine, frozenset[str]], Scenario]


def _random_graph(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a graph without constants, and without what is done with it."""
    profile = Profile(
        operators=operators, scalars_only=engine.adapter.scalars_only, constants=0.0, max_backwards=1, empty=0.0
    )
    made = random_scenario(seed, profile)
    return Scenario(tuple(step for step in made.steps if isinstance(step, Leaf | Apply)))


def _random_life(seed: int, engine: Engine, operators: frozenset[str]) -> Scenario:
    """Return a graph some parts of which are not recorded."""
    features = engine.adapter.features & REGIONS
    return lifecycle_scenario(seed, LifecycleProfile(features=features, operators=operators & ONE_NODE_EACH))


MAKERS: Final[Mapping[str, Maker | None]] = MappingProxyType({
    "none": None,
    "graphs": _random_graph,
    "lives": _random_life,
    "operators": _random_graph,
})
"""What is tried besides the graphs of the row: the last one is made of all operators that have a slope."""


def check_graphs(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError where a row claims what cannot be told, or gives no graph."""
    for key, known in (("claim", CLAIMS), ("random", MAKERS)):
        if parameters[key] not in known:
            raise ValueError(f"has the unknown {key} {parameters[key]!r}; there are {sorted(known)}")
    if not parameters["graphs"]:
        raise ValueError("has no graph")
    try:
        for text in parameters["graphs"]:
            parse(text)
    except ScenarioError as error:
        raise ValueError(f"a graph is malformed: {error}") from error


def probe_graphs(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Shown:
    """Hold what an engine records of the row's graphs, and of random ones, against what the lifecycle model says."""
    adapter = engine.adapter
    if not isinstance(adapter, TapeAdapter) or adapter.node is None or adapter.parents is None:
        return Shown("unsupported", "the engine has no graph")
    given = [parse(text) for text in parameters["graphs"]]
    lacking = [Words(engine).lacks(s.operators, sorted(required_features(s) - OF_VALUES)) for s in given]
    scenarios = [s for s, lack in zip(given, lacking, strict=True) if not lack]
    if not scenarios:
        return Shown("unsupported", f"the engine has no {lacking[0]}")
    claim = CLAIMS[parameters["claim"]]
    odd = next(filter(None, (_odd(s, engine, claim) for s in scenarios)), None)
    return odd or _random(engine, parameters["random"], claim, settings, len(scenarios))


DIED: Final = "the engine's process died while it ran this scenario"

OF_VALUES: Final = frozenset({"accumulate", "arrays"})
"""Features that decide what a gradient is, not what is recorded."""


TRIES: Final = 8
"""How often a given graph is recorded, each time elsewhere in memory: the order of a set depends on that."""


def _odd(scenario: Scenario, engine: Engine, claim: Callable[[Recorded], str]) -> Shown | None:
    kept: list[Recorded] = []
    said = next(filter(None, (_said(scenario, engine, claim, kept) for _ in range(TRIES))), "")
    return _shown(said, scenario, engine, 1) if said else None


def _shown(said: str, scenario: Scenario, engine: Engine, examples: int) -> Shown:
    return Shown("crashed" if said == DIED else "wrong", said, _program(scenario, engine), scenario, examples)


def _said(
    scenario: Scenario, engine: Engine, claim: Callable[[Recorded], str], kept: list[Recorded] | None = None
) -> str:
    if scenario.id in engine.lethal:
        return DIED
    engine.watch(scenario)
    try:
        with recording(engine):
            recorded = record(scenario, engine)
    except NoNodeError as error:
        return str(error)
    if recorded is None or recorded.output not in recorded.nodes:
        return ""
    if kept is not None:
        kept.append(recorded)
    return claim(recorded)


def _random(engine: Engine, random: str, claim: Callable[[Recorded], str], settings: Settings, tried: int) -> Shown:
    maker = MAKERS[random]
    operators = _operators(engine, random)
    if maker is None or not operators:
        return Shown("passed", examples=tried)
    search = find_counterexample(
        lambda seed: maker(seed, engine, operators),
        lambda scenario: bool(_said(scenario, engine, claim)),
        seed=settings.seed,
        max_examples=settings.effort.per_graph_check // 2,
    )
    examples = tried + search.examples
    if search.counterexample is None:
        return Shown("passed", examples=examples)
    shrunk = search.counterexample.shrunk
    return _shown(_said(shrunk, engine, claim), shrunk, engine, examples)


def _operators(engine: Engine, random: str) -> frozenset[str]:
    """Return the operators that random graphs are made of."""
    if random != "operators":
        return ONE_NODE_EACH.intersection(engine.operators)
    rows = (operator_table()[name] for name in engine.operators)
    if engine.adapter.scalars_only:
        rows = (row for row in rows if row.elementwise)
    return frozenset(row.name for row in rows if not any(map(row.vanishes, row.differentiable_arguments)))


def _program(scenario: Scenario, engine: Engine) -> str:
    """Return the scenario as a program that prints where the nodes of its tensors lead."""
    return reproduce(scenario, engine).rstrip() + "\n\n" + "\n".join(_printing(scenario, engine)) + "\n"


def _printing(scenario: Scenario, engine: Engine) -> Iterator[str]:
    adapter = engine.adapter
    assert isinstance(adapter, TapeAdapter)
    model = Model(scenario, adapter.policy)
    for step in scenario.steps:
        model.step(step)
    deleted = {step.name for step in scenario.steps if isinstance(step, Delete)}
    shown = [name for name, tensor in model.tensors.items() if tensor.node is not None and name not in deleted]
    spelled = (f"{name!r}: {Template(adapter.node or '').render({'x': name})}" for name in shown)
    yield f"nodes = {{{', '.join(spelled)}}}"
    yield "names = {id(node): name for name, node in nodes.items()}"
    yield "for name, node in nodes.items():"
    yield f"    parents = {Template(adapter.parents or '').render({'node': 'node'})}"
    yield "    print(name, [names.get(id(parent), parent) for parent in parents])"
