"""What did an engine record of a scenario, and what should it have?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from refgrad.harness.adapter import TapeAdapter
from refgrad.harness.execution import Engine
from refgrad.harness.life import Life
from refgrad.lifecycle import Fails
from refgrad.lifecycle.model import Model
from refgrad.scenario import Apply, Backward, Leaf, Read, RequireGrad, Scenario, Step, Write, ZeroGrad


class NoNodeError(Exception):
    """An engine has no node for what it must have recorded."""


@dataclass(slots=True)
class Recorded:
    """The nodes of an engine by the names that the lifecycle model gives them, and the operands' that it expects.

    ``output`` is the name of the last one. Where engines may differ, there is nothing here.
    """

    engine: Engine
    adapter: TapeAdapter
    model: Model
    nodes: dict[str, Any] = field(default_factory=dict)
    operands: dict[str, list[str | None]] = field(default_factory=dict)
    tensors: dict[str, Any] = field(default_factory=dict)
    output: str = ""

    def parents(self, node: Any) -> list[Any]:
        """Ask the engine where a node leads."""
        assert self.adapter.parents is not None
        return [parent for parent in self.engine.run(self.adapter.parents, node=node) if parent is not None]

    def reached(self, start: Any) -> dict[int, Any]:
        """Return all that a node leads to, itself included, by identity."""
        found = {id(start): start}
        waiting = [start]
        while waiting:
            for parent in self.parents(waiting.pop()):
                if id(parent) not in found:
                    found[id(parent)] = parent
                    waiting.append(parent)
        return found

    def expected(self, name: str) -> list[str]:
        """Return the nodes that a node's operands have, in their order."""
        return [operand for operand in self.operands.get(name, ()) if operand is not None]

    def judgeable(self, name: str) -> bool:
        """Whether all that a node leads to is known."""
        return all(operand in self.nodes for operand in self.expected(name))

    def named(self, nodes: Iterable[Any]) -> str:
        """Say which nodes these are."""
        names = {id(node): name for name, node in self.nodes.items()}
        return "[" + ", ".join(names.get(id(node), "something else") for node in nodes) + "]"


def record(scenario: Scenario, engine: Engine) -> Recorded | None:
    """Run a scenario and collect nodes; None where a step fails that should not, which is not for this to tell.

    Raises NoNodeError where there must be a node and is none.
    """
    adapter = engine.adapter
    assert isinstance(adapter, TapeAdapter)
    recorded = Recorded(engine, adapter, Model(scenario, adapter.policy))
    take = _taker(recorded)
    for step in scenario.steps:
        before = {name: tensor.node for name, tensor in recorded.model.tensors.items()}
        prediction = recorded.model.step(step)
        try:
            take(step)
        except Exception:  # noqa: BLE001 (whatever an engine raises is an observation)
            if isinstance(prediction, Fails):
                continue
            return None
        if not isinstance(prediction, Fails):
            _note(recorded, step, before)
    return recorded


def _taker(recorded: Recorded) -> Callable[[Step], None]:
    """Return a function that has the engine take a step."""
    engine, adapter, tensors = recorded.engine, recorded.adapter, recorded.tensors
    life = Life(engine, adapter, tensors)

    def take(step: Step) -> None:
        match step:
            case Leaf(name=name):
                tensors[name] = engine.make(step.value, requires_grad=step.requires_grad)
            case Apply(name=name):
                tensors[name] = engine.apply(step, [tensors[argument] for argument in step.arguments])
            case Backward(output=output):
                engine.run(adapter.backward, output=tensors[output], seed=None, retain_graph=step.retain_graph)
            case Read() | ZeroGrad():
                pass
            case _:
                life.step(step)

    return take


def _note(recorded: Recorded, step: Step, before: dict[str, str | None]) -> None:
    """Note the node that a step made, if it made one."""
    match step:
        case Leaf(name=name) | RequireGrad(name=name):
            operands: list[str | None] = []
        case Apply(name=name):
            operands = [before[argument] for argument in step.arguments]
        case Write(name=name, action="add" | "multiply", index=None):
            operands = [before[name], before[step.operand]]
        case _:
            return
    model = recorded.model
    node = model.tensors[name].node if name in model.tensors else None
    if node is None or name in model.absent or model.unsure(node) or node in recorded.nodes:
        return
    assert recorded.adapter.node is not None
    try:
        found = recorded.engine.run(recorded.adapter.node, x=recorded.tensors[name])
    except Exception as error:
        raise NoNodeError(f"{name} has no node: {type(error).__name__}: {error}") from error
    if found is None:
        raise NoNodeError(f"{name} has no node")
    if found is recorded.tensors[name]:  # tensors are nodes: a write has made another one of it, and the old is unknown
        recorded.nodes = {old: known for old, known in recorded.nodes.items() if known is not found}
    recorded.nodes[node] = found
    recorded.operands[node] = operands
    recorded.output = node
