"""How does a graph live? A model of define-by-run differentiation that predicts every step of a scenario.

The rules are PyTorch's (its autograd mechanics note): running operators records nodes on the way to leaves that require
grad; a backward sends seed · Jacobian to every such leaf, where it is added to what is there; a backward without
``retain_graph`` frees the saved buffers of all nodes that it visits; a later backward that meets such a node is an
error, while nodes that saved nothing may be walked again. A :class:`Policy` states where an engine differs by design.

A recorded gradient keeps the graph, and is a node itself: it depends on what the rules on the way from its output to
its leaf have saved. What an engine saves is its own affair, so where only that decides whether something is recorded or
freed, nothing is promised; the numbers that are read in the end are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from refgrad.interpreter import Float64, evaluate
from refgrad.lifecycle.dependence import Slope, slopes_of
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario, Step, ZeroGrad

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
    """The step shows the sum over ``contributions`` (output, seed) of seed · ∂output/∂leaf.

    Unless it is ``certain`` that the outputs were recorded as depending on the leaf, none at all stands for zeros.
    """

    leaf: str
    contributions: tuple[Contribution, ...]
    certain: bool = True


Prediction = Succeeds | Open | Fails | Value | NoGradient | Gradient


def predict(scenario: Scenario, policy: Policy | None = None) -> tuple[Prediction, ...]:
    """Return what each step of the scenario must show under a policy (PyTorch's, if none is given)."""
    model = _Model(policy or Policy(), {name: value.shape for name, value in evaluate(scenario, Float64()).items()})
    return tuple(model.step(step) for step in scenario.steps)


@dataclass(slots=True)
class _Node:
    """A recorded application or gradient: what it depends on, and whether it saved anything that is still there.

    ``slopes`` say, for every parent that it sends a cotangent to, what that depends on. Of ``parents`` only the
    ``firm`` ones are recorded by every engine. ``freed`` is None where an engine may have freed it.
    """

    parents: tuple[str, ...]
    saved: bool
    firm: tuple[str, ...]
    slopes: tuple[Slope, ...] = ()
    freed: bool | None = False


@dataclass(slots=True)
class _Model:
    policy: Policy
    shapes: dict[str, tuple[int, ...]]
    leaves: set[str] = field(default_factory=set)
    nodes: dict[str, _Node] = field(default_factory=dict)
    gradients: dict[str, tuple[Contribution, ...]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)

    def step(self, step: Step) -> Prediction:  # noqa: PLR0911 (one return for each kind of step)
        if not self.absent.isdisjoint(step.uses):  # of a gradient that could not be recorded
            return self.without(step)
        match step:
            case Leaf():
                if step.requires_grad:
                    self.leaves.add(step.name)
                return Succeeds()
            case Apply():
                self.record(step)
                return Succeeds()
            case Grad():
                return self.differentiate(step)
            case Backward():
                return self.backward(step)
            case ZeroGrad():
                self.gradients.pop(step.name, None)
                self.unknown.discard(step.name)
                self.uncertain.discard(step.name)
                return Succeeds()
            case Read(what="value"):
                return Value(step.name)
            case Read():
                return self.gradient(step.name)
        message = f"the lifecycle model has no rule for {type(step).__name__}"
        raise TypeError(message)

    def record(self, step: Apply) -> None:
        slopes = tuple(slope for slope in slopes_of(step) if self.tracked(slope.parent))
        if slopes:
            parents = tuple(slope.parent for slope in slopes)
            self.nodes[step.name] = _Node(parents, any(slope.saved for slope in slopes), parents, slopes)

    def tracked(self, name: str) -> bool:
        return name in self.leaves or name in self.nodes

    def without(self, step: Step) -> Prediction:
        if step.defines is not None:
            self.absent.add(step.defines)
        return Open()

    def differentiate(self, step: Grad) -> Prediction:
        refusal = self.refused(step.output, step.seed)
        between = self.leading_to(step.leaf, self.ancestors(step.output))
        nodes = [self.nodes[name] for name in between if name in self.nodes]
        if refusal is None and any(node.freed for node in nodes):
            refusal = Fails("freed-graph")
        if refusal is None and (step.leaf not in between or any(node.freed is None for node in nodes)):
            refusal = Open()
        if refusal is not None:
            self.absent.add(step.name)
            return refusal
        self.nodes[step.name] = self.derivative(between)
        return Succeeds()

    def derivative(self, between: set[str]) -> _Node:
        """The node of a recorded gradient, which came about by the rules of these nodes.

        Nothing is firm by way of arrays without entries: torch.cat leaves them out, and records nothing for them.
        """
        nodes = [self.nodes[name] for name in between if name in self.nodes]
        slopes = [slope for node in nodes for slope in node.slopes if slope.parent in between]
        saved = {name for slope in slopes for name in slope.saved if self.tracked(name)}
        empty = any(0 in self.shapes[name] for name in between)
        firm = {name for slope in slopes for name in slope.bends if self.tracked(name) and not empty}
        inherited = {name for node in nodes if not node.slopes for name in node.parents}
        return _Node(tuple(sorted(saved | inherited)), bool(saved | inherited), tuple(sorted(firm)))

    def leading_to(self, leaf: str, names: set[str]) -> set[str]:
        """Those of these names, with all their ancestors, that depend on a leaf."""
        return {name for name in names if leaf in self.ancestors(name)}

    def refused(self, output: str, seed: Constant | None) -> Prediction | None:
        shape = self.shapes[output]
        if not self.tracked(output):
            return Fails("no-graph")
        if seed is None and int(np.prod(shape)) != 1 and self.policy.implicit_seed == "error":
            return Fails("implicit-seed")
        if seed is not None and seed.shape != shape:
            return Fails("seed-shape")
        return None

    def backward(self, step: Backward) -> Prediction:
        refusal = self.refused(step.output, step.seed)
        if refusal is not None:
            return refusal
        visited = self.ancestors(step.output)
        reached = {name for name in visited if name in self.leaves}
        nodes = [self.nodes[name] for name in visited if name in self.nodes]
        if any(node.freed is not False for node in nodes):
            self.unknown.update(reached)
            cleared = self.policy.frees == "always" and self.nodes[step.output].freed
            return Fails("freed-graph") if not cleared and any(node.freed for node in nodes) else Open()
        surely = self.ancestors(step.output, firm=True) & self.leaves
        for name in reached:
            if name in surely:
                self.uncertain.discard(name)
            elif name not in self.gradients:
                self.uncertain.add(name)
            self.gradients[name] = (*self.gradients.get(name, ()), (step.output, step.seed))
        if not step.retain_graph:
            self.free(step.output, visited)
        return Succeeds() if surely else Open()

    def ancestors(self, output: str, *, firm: bool = False) -> set[str]:
        """All tracked names that ``output`` depends on, itself included; by what every engine records, if ``firm``."""
        found: set[str] = set()
        waiting = [output]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                node = self.nodes.get(name)
                waiting.extend(() if node is None else node.firm if firm else node.parents)
        return found

    def free(self, output: str, visited: set[str]) -> None:
        """Free what a backward visits; of what it visits by way of a gradient, nobody knows."""
        surely = self.outside_gradients(output)
        for name in visited & self.nodes.keys():
            node = self.nodes[name]
            if self.policy.frees == "always" or (self.policy.frees == "saved" and node.saved):
                node.freed = True if name in surely and (node.slopes or node.firm) else None

    def outside_gradients(self, output: str) -> set[str]:
        """The names that a backward meets before, or at, a recorded gradient."""
        found: set[str] = set()
        waiting = [output]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.nodes[name].parents if name in self.nodes and self.nodes[name].slopes else ())
        return found

    def gradient(self, leaf: str) -> Prediction:
        if leaf in self.unknown:
            return Open()
        contributions = self.gradients.get(leaf)
        if contributions is None:
            return NoGradient(leaf)
        return Gradient(leaf, contributions, certain=leaf not in self.uncertain)
