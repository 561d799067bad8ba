"""How does a graph live? A model of define-by-run differentiation that predicts every step of a scenario.

The rules are PyTorch's (its autograd mechanics note): running operators records nodes on the way to leaves that require
grad; a backward sends seed · Jacobian to every such leaf, where it is added to what is there; a backward without
``retain_graph`` frees the saved buffers of all nodes that it visits; a later backward that meets such a node is an
error, while nodes that saved nothing may be walked again. A :class:`Policy` states where an engine differs by design.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, ZeroGrad

ErrorKind = Literal["freed-graph", "implicit-seed", "seed-shape", "no-graph"]
Contribution = tuple[str, Constant | None]


@dataclass(frozen=True, slots=True)
class Policy:
    """What an engine promises about the life of its graphs.

    ``frees``: what a backward without retain_graph frees: the ``saved`` buffers of visited nodes, ``never`` anything,
    or ``always`` every visited node (a second backward from the very same output is then the engine's own affair).
    ``implicit_seed``: whether a backward from a non-scalar without a seed is an ``error`` or means a seed of ``ones``.
    """

    frees: Literal["saved", "never", "always"] = "saved"
    implicit_seed: Literal["error", "ones"] = "error"


@dataclass(frozen=True, slots=True)
class Succeeds:
    """The step must not fail."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing is promised here, e.g. for gradients after a backward that failed half-way."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The step must fail with an error of this kind; carrying on silently is a fault."""

    kind: ErrorKind


@dataclass(frozen=True, slots=True)
class Value:
    """The step shows the value of ``name``."""

    name: str


@dataclass(frozen=True, slots=True)
class NoGradient:
    """The step shows that ``leaf`` has no gradient: none at all, or zeros where an engine has no notion of none."""

    leaf: str


@dataclass(frozen=True, slots=True)
class Gradient:
    """The step shows the sum over ``contributions`` (output, seed) of seed · ∂output/∂leaf."""

    leaf: str
    contributions: tuple[Contribution, ...]


Prediction = Succeeds | Open | Fails | Value | NoGradient | Gradient


def predict(scenario: Scenario, policy: Policy | None = None) -> tuple[Prediction, ...]:
    """Return what each step of the scenario must show under a policy (PyTorch's, if none is given)."""
    model = _Model(policy or Policy(), {name: value.shape for name, value in evaluate(scenario, Float64()).items()})
    return tuple(model.step(step) for step in scenario.steps)


@dataclass(slots=True)
class _Node:
    """A recorded application: what it depends on, and whether it saved anything that is still there."""

    parents: tuple[str, ...]
    saved: bool
    freed: bool = False


@dataclass(slots=True)
class _Model:
    policy: Policy
    shapes: dict[str, tuple[int, ...]]
    leaves: set[str] = field(default_factory=set)
    nodes: dict[str, _Node] = field(default_factory=dict)
    gradients: dict[str, tuple[Contribution, ...]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def step(self, step: object) -> Prediction:
        match step:
            case Leaf():
                if step.requires_grad:
                    self.leaves.add(step.name)
                return Succeeds()
            case Apply():
                self.record(step)
                return Succeeds()
            case Backward():
                return self.backward(step)
            case ZeroGrad():
                self.gradients.pop(step.name, None)
                self.unknown.discard(step.name)
                return Succeeds()
            case Read(what="value"):
                return Value(step.name)
            case Read():
                return self.gradient(step.name)
        message = f"the lifecycle model has no rule for {type(step).__name__}"
        raise TypeError(message)

    def record(self, step: Apply) -> None:
        operator = operator_table()[step.operator]
        names = [a.name for a in operator.arguments for _ in (step.arguments if a.variadic else (0,))]
        tracked = [(p, name) for p, name in zip(step.arguments, names, strict=True) if self.tracked(p)]
        if tracked:
            saved = any(operator.saves(name) for _, name in tracked)
            self.nodes[step.name] = _Node(tuple(parent for parent, _ in tracked), saved)

    def tracked(self, name: str) -> bool:
        return name in self.leaves or name in self.nodes

    def backward(self, step: Backward) -> Prediction:
        shape = self.shapes[step.output]
        if not self.tracked(step.output):
            return Fails("no-graph")
        if step.seed is None and int(np.prod(shape)) != 1 and self.policy.implicit_seed == "error":
            return Fails("implicit-seed")
        if step.seed is not None and step.seed.shape != shape:
            return Fails("seed-shape")
        visited = self.ancestors(step.output)
        reached = [name for name in visited if name in self.leaves]
        if any(self.nodes[name].freed for name in visited if name in self.nodes):
            self.unknown.update(reached)
            cleared = self.policy.frees == "always" and self.nodes[step.output].freed
            return Open() if cleared else Fails("freed-graph")
        for name in reached:
            self.gradients[name] = (*self.gradients.get(name, ()), (step.output, step.seed))
        if not step.retain_graph:
            self.free(visited)
        return Succeeds()

    def ancestors(self, output: str) -> set[str]:
        """All tracked names that ``output`` depends on, itself included."""
        found: set[str] = set()
        waiting = [output]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.nodes[name].parents if name in self.nodes else ())
        return found

    def free(self, visited: set[str]) -> None:
        for name in visited & self.nodes.keys():
            node = self.nodes[name]
            node.freed = self.policy.frees == "always" or (self.policy.frees == "saved" and node.saved)

    def gradient(self, leaf: str) -> Prediction:
        if leaf in self.unknown:
            return Open()
        contributions = self.gradients.get(leaf)
        return NoGradient(leaf) if contributions is None else Gradient(leaf, contributions)
