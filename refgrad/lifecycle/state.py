"""The state of a scenario at its current step: tensors, hooks, modes, and the steps that change flags."""

from __future__ import annotations

from refgrad.interpreter import float64_values
from refgrad.lifecycle.functional import FunctionalSteps
from refgrad.lifecycle.graph import GraphModel, MemoryPieces
from refgrad.lifecycle.predictions import Fails, Open, Policy, Prediction, Succeeds
from refgrad.lifecycle.reverse_mode import ReverseMode
from refgrad.lifecycle.tensors import HookState, TensorState
from refgrad.scenario import Detach, EnterMode, Read, RequireGrad, RetainGrad, Scenario, StopRequiringGrad, Write
from refgrad.scenario import Hook as HookStep

CHANGES = Detach | EnterMode | RequireGrad | StopRequiringGrad | Write | HookStep | RetainGrad


def has_changes(scenario: Scenario) -> bool:
    """Return True if a scenario changes tensors or flags, or how operators are recorded."""
    return any(isinstance(step, CHANGES) for step in scenario.steps)


class State:
    """The state of a scenario at its current step."""

    def __init__(self, scenario: Scenario, policy: Policy) -> None:
        """Start before the first step. Shapes are known from the start, since no step changes them."""
        self.policy = policy
        self.shapes = {name: value.shape for name, value in float64_values(scenario).items()}
        self.functional = FunctionalSteps(scenario)
        self.graph = GraphModel(MemoryPieces(), dict(self.shapes))
        self.tensors: dict[str, TensorState] = {}
        self.hooks: dict[str, HookState] = {}
        self.unknown: set[str] = set()
        self.regions: list[bool] = [True]
        leaves = {step.name for step in scenario.leaves}
        read = {step.name for step in scenario.steps if isinstance(step, Read) and step.what == "grad"}
        self.kept = read - leaves if policy.keeps == "all" else set()
        """Names of computed tensors that keep their gradients by default and whose gradients the scenario reads."""
        self.changes = bool(self.kept) or has_changes(scenario)
        hooked = {step.tensor for step in scenario.steps if isinstance(step, HookStep)}
        self.watched = hooked | {s.name for s in scenario.steps if isinstance(s, RetainGrad)} | self.kept
        self.reverse_mode = ReverseMode(self.graph, self.tensors, self.hooks, policy, self.shapes)

    @property
    def recording(self) -> bool:
        """Return True if operators are recorded."""
        return self.regions[-1]

    def may_be_constant(self, node: str | None) -> bool:
        """Return True if an engine may treat the result of a node as a constant."""
        return node in self.graph.nodes and self.graph.nodes[node].may_be_constant

    def is_gradient(self, node: str) -> bool:
        """Return True if a node is a recorded gradient."""
        return node in self.graph.nodes and self.graph.nodes[node].is_gradient

    def forget_unrecorded_views(self) -> None:
        """Mark unrecorded views as unknown that may share memory with a tensor that requires grad."""
        tracked = {tensor.memory for tensor in self.tensors.values() if tensor.node is not None}
        for tensor in self.tensors.values():
            if tensor.view and tensor.node is None and tracked & self.graph.memory.may_overlap(tensor.memory):
                self.unknown.add(tensor.name)

    def forget(self, name: str) -> None:
        """Mark a tensor as unknown, with those that may share its memory and the nodes that saved any of them."""
        if name not in self.tensors:
            return
        memory = self.tensors[name].memory
        lost = {memory, *self.graph.memory.may_overlap(memory)}
        for other in self.tensors.values():
            if other.memory in lost:
                self.unknown.add(other.name)
                other.may_be_computed = True
        for node in self.graph.nodes.values():
            node.may_be_stale |= not lost.isdisjoint(piece for piece, _ in (*node.must_need, *node.may_need))

    def with_value(self, tensor: TensorState, new: str) -> str:
        """Add a value with the derivative that the tensor has, and return its name."""
        if tensor.node is None:
            return self.functional.cut(self.functional.fresh(tensor.name), new)
        return self.functional.changed(tensor.value, new)


class FlagRules(State):
    """The rules of steps that affect the gradient of a tensor, but not its value."""

    def require(self, tensor: TensorState) -> Prediction:
        """Make a constant require grad."""
        if self.may_be_constant(tensor.node):
            self.unknown.add(tensor.name)
            return Open()
        if tensor.node is not None:
            return Succeeds()
        if tensor.root is None:
            tensor.root = self.functional.root(tensor.name, self.shapes[tensor.name], tensor.dtype)
            self.graph.shapes[tensor.root] = self.shapes[tensor.name]
            self.graph.leaves.add(tensor.root)
            tensor.value = self.functional.rooted(tensor.name, tensor.value, tensor.root)
        else:
            tensor.value = self.functional.changed(tensor.root, tensor.value)
        tensor.node = tensor.root
        return Succeeds()

    def stop_requiring(self, tensor: TensorState) -> Prediction:
        """Make a leaf a constant."""
        if self.may_be_constant(tensor.node):
            self.unknown.add(tensor.name)
            return Open()
        if not tensor.is_leaf:
            return Fails("requires-grad-of-non-leaf")
        if tensor.node is not None:
            tensor.value = self.functional.cut(self.functional.fresh(tensor.name), tensor.value)
            tensor.node = None
        return Succeeds()

    def hook(self, step: HookStep) -> Prediction:
        """Add a hook to the gradient of a tensor."""
        tensor = self.tensors[step.tensor]
        if tensor.node is None:
            return Fails("hook-on-constant")
        self.hooks[step.name] = HookState(step.name, step.tensor, tensor.node, step.factor)
        if self.may_be_constant(tensor.node):
            self.hooks[step.name].calls_unknown = True
            self.unknown.add(tensor.name)
            return Open()
        return Succeeds()

    def retain(self, tensor: TensorState) -> Prediction:
        """Make a computed tensor retain its gradient."""
        if tensor.node is None:
            return Fails("retain-grad-on-constant")
        if self.may_be_constant(tensor.node):
            self.unknown.add(tensor.name)
            return Open()
        tensor.retains = tensor.retains or not tensor.is_leaf
        return Succeeds()
