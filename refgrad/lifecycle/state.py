"""The state of a scenario at its current step: its tensors, hooks and modes, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from refgrad.interpreter import float64_values
from refgrad.lifecycle.functional import FunctionalSteps
from refgrad.lifecycle.graph import GraphModel, MemoryPieces
from refgrad.lifecycle.predictions import Contribution, Gradient, NoGradient, Open, Policy, Prediction, Scales
from refgrad.scenario import Constant, Scenario, kinds


@dataclass(slots=True)
class TensorState:
    """State of a tensor: the name of its value in the lowered scenario, and the node that receives its cotangents.

    ``node`` is the name of its node or, if it is a leaf that requires grad, of its ``root``; None for a constant. A
    root is never dropped, since a leaf that stops requiring grad may start again.
    """

    name: str
    value: str
    memory: int
    dtype: str
    node: str | None = None
    root: str | None = None
    retains: bool = False
    view: bool = False
    may_be_computed: bool = False
    """True if a write of unknown effect may have made it a computed tensor."""
    gradient: tuple[Contribution, ...] | None = None
    certain: bool = True
    gradient_unknown: bool = False

    @property
    def is_leaf(self) -> bool:
        """Return True if the tensor is not the result of a recorded operation."""
        return self.node is None or self.node == self.root

    def receive(self, contribution: Contribution, *, must: bool, replace: bool = False) -> None:
        """Add a contribution to the gradient, or ``replace`` the gradient; ``must`` is True if every engine does so."""
        if replace:
            self.reset(to_zeros=False)
        if must:
            self.certain = True
        elif self.gradient is None:
            self.certain = False
        self.gradient = (*(self.gradient or ()), contribution)

    def reset(self, *, to_zeros: bool) -> None:
        """Remove the gradient, or set it to zeros if there is one."""
        if not to_zeros:
            self.gradient, self.certain, self.gradient_unknown = None, True, False
        elif self.gradient is not None:
            self.gradient = ()

    def gradient_prediction(self) -> Prediction:
        """Return what reading the gradient must show."""
        if self.gradient_unknown:
            return Open()
        if self.gradient is None:
            return NoGradient(self.name)
        return Gradient(self.name, self.gradient, certain=self.certain)


@dataclass(slots=True)
class HookState:
    """A hook on the node of a tensor: its factor, if any, and the contributions that it has received."""

    name: str
    tensor: str
    node: str
    factor: float | None
    active: bool = True
    calls: list[Contribution] = field(default_factory=list)
    calls_unknown: bool = False


def scales_of(hooks: Iterable[HookState], may_visit: set[str]) -> Scales:
    """Return the factors by which hooks multiply the cotangents of the visited names."""
    scales: dict[str, float] = {}
    for hook in hooks:
        if hook.active and hook.factor is not None and hook.node in may_visit:
            scales[hook.node] = scales.get(hook.node, 1.0) * hook.factor
    return tuple(sorted(scales.items()))


def seen_by(
    hook: HookState, hooks: Iterable[HookState], may_visit: set[str], output: str, seed: Constant | None
) -> Contribution:
    """Return the contribution that a hook receives.

    It is scaled by the hooks before it on the same name, and by all hooks on other names.
    """
    earlier = takewhile(lambda other: other is not hook, hooks)
    elsewhere = [other for other in hooks if other.node != hook.node]
    return output, seed, scales_of([*(h for h in earlier if h.node == hook.node), *elsewhere], may_visit), hook.node


def has_changes(scenario: Scenario) -> bool:
    """Return True if a scenario changes tensors or flags, or how operators are recorded; deleting names does not."""
    return any(step.stateful and not isinstance(step, kinds.DeleteName) for step in scenario.steps)


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
        read = {step.name for step in scenario.steps if isinstance(step, kinds.Read) and step.what == "grad"}
        self.kept = read - leaves if policy.keeps == "all" else set()
        """Names of computed tensors that keep their gradients by default and whose gradients the scenario reads."""
        self.changes = bool(self.kept) or has_changes(scenario)
        hooked = {step.tensor for step in scenario.steps if isinstance(step, kinds.Hook)}
        self.watched = hooked | {s.name for s in scenario.steps if isinstance(s, kinds.RetainGrad)} | self.kept
        self.may_be_rescaled = False
        """True if a hook on an unknown tensor may change gradients."""

    @property
    def recording(self) -> bool:
        """Return True if operators are recorded."""
        return self.regions[-1]

    def may_be_constant(self, node: str | None) -> bool:
        """Return True if an engine may treat the result of a node as a constant."""
        return self.graph.may_be_constant(node)

    def forget_unrecorded_views(self) -> None:
        """Mark each unrecorded view that may share memory with a tensor that requires grad as unknown."""
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
