"""The state at some point of a scenario: the graph, tensors, hooks and modes."""

from __future__ import annotations

from refgrad.interpreter import float64_values
from refgrad.lifecycle.functional import FunctionalSteps
from refgrad.lifecycle.graph import Graph
from refgrad.lifecycle.memory import Memory
from refgrad.lifecycle.policy import Policy
from refgrad.lifecycle.reverse_mode import ReverseMode
from refgrad.lifecycle.tensors import Hook, Tensor
from refgrad.scenario import Detach, Enter, Read, RequireGrad, RetainGrad, Scenario, StopRequiringGrad, Write
from refgrad.scenario import Hook as HookStep

CHANGES = Detach | Enter | RequireGrad | StopRequiringGrad | Write | HookStep | RetainGrad


class State:
    """What there is at some point of a scenario."""

    def __init__(self, scenario: Scenario, policy: Policy) -> None:
        """Begin before the first step; shapes are known from the start, since no step changes them."""
        self.policy = policy
        self.shapes = {name: value.shape for name, value in float64_values(scenario).items()}
        self.functional = FunctionalSteps(scenario)
        self.graph = Graph(Memory(), dict(self.shapes))
        self.tensors: dict[str, Tensor] = {}
        self.hooks: dict[str, Hook] = {}
        self.unknown: set[str] = set()
        self.regions: list[bool] = [True]
        made = {step.name for step in scenario.leaves}
        read = {step.name for step in scenario.steps if isinstance(step, Read) and step.what == "grad"}
        self.kept = read - made if policy.keeps == "all" else set()
        """The computed tensors that keep their gradients without being told to, as far as these are looked at."""
        self.changes = bool(self.kept) or any(isinstance(step, CHANGES) for step in scenario.steps)
        hooked = {step.tensor for step in scenario.steps if isinstance(step, HookStep)}
        self.watched = hooked | {s.name for s in scenario.steps if isinstance(s, RetainGrad)} | self.kept
        self.reverse_mode = ReverseMode(self.graph, self.tensors, self.hooks, policy, self.shapes)

    @property
    def recording(self) -> bool:
        """Whether operators are recorded."""
        return self.regions[-1]

    def may_be_constant(self, node: str | None) -> bool:
        """Whether an engine may treat what a node computed as a constant."""
        return node in self.graph.nodes and self.graph.nodes[node].may_be_constant

    def is_gradient(self, node: str) -> bool:
        """Whether a node is a recorded gradient."""
        return node in self.graph.nodes and self.graph.nodes[node].is_gradient

    def forget_unrecorded_views(self) -> None:
        """Know nothing more of unrecorded views of something that requires grad."""
        tracked = {tensor.memory for tensor in self.tensors.values() if tensor.node is not None}
        for tensor in self.tensors.values():
            if tensor.view and tensor.node is None and tracked & self.graph.memory.may_overlap(tensor.memory):
                self.unknown.add(tensor.name)

    def forget(self, name: str) -> None:
        """Know nothing more of a tensor, of those that may share its memory, and of what was saved of them."""
        if name not in self.tensors:
            return
        memory = self.tensors[name].memory
        lost = {memory, *self.graph.memory.may_overlap(memory)}
        for other in self.tensors.values():
            if other.memory in lost:
                self.unknown.add(other.name)
                other.may_be_computed = True
        for node in self.graph.nodes.values():
            node.may_be_stale |= not lost.isdisjoint(place for place, _ in (*node.must_need, *node.may_need))

    def with_value(self, tensor: Tensor, new: str) -> str:
        """Return the name of a value with the derivative that the tensor has."""
        if tensor.node is None:
            return self.functional.cut(self.functional.fresh(tensor.name), new)
        return self.functional.changed(tensor.value, new)
