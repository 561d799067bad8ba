"""The lifecycle model of define-by-run differentiation: predictions of what every step of a scenario must show.

The rules are PyTorch's (its autograd mechanics note). Running operators records nodes on the way to leaves that require
grad. A backward sends seed · Jacobian to every such leaf, where it is added to the gradient. A backward without
``retain_graph`` frees the saved buffers of all nodes that it visits. A later backward that visits such a node is an
error, while nodes that saved nothing may be visited again. A backward that visits a node whose saved value was
overwritten is an error too. A :class:`Policy` states where an engine differs by design.

A recorded gradient keeps the graph, and is a node itself: it depends on what the rules between its output and its leaf
have saved. What an engine saves is not specified, so where only that decides whether something is recorded, freed or
overwritten, nothing is predicted; the numbers that are read in the end are.

The predictions refer to a lowered scenario, in which no tensor ever changes: see :mod:`refgrad.lifecycle.functional`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain

import numpy as np

from refgrad.interpreter import REMEMBERED
from refgrad.lifecycle.graph import AGREED, Extent, GraphNode, extent_of, may_share, vjps_of
from refgrad.lifecycle.predictions import ExpectedFlag, ExpectedValue, Fails, Open, Policy, Prediction, Seen, Succeeds
from refgrad.lifecycle.reverse_mode import ReverseMode
from refgrad.lifecycle.state import HookState, TensorState, has_changes
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, Step, kinds
from refgrad.scenario.rewrite import inlined_steps

OVERWRITING = "scattering"
"""Family of operators that write entries into an array. If they overwrite all of it, engines may not record it."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A scenario in which no tensor changes, and the prediction for each step of the original one in terms of it."""

    scenario: Scenario
    predictions: tuple[Prediction, ...]


def predict(scenario: Scenario, policy: Policy | None = None) -> tuple[Prediction, ...]:
    """Return what each step of the scenario must show under a policy (PyTorch's if None)."""
    return lower(scenario, policy or Policy()).predictions


def lower(scenario: Scenario, policy: Policy | None = None) -> Lowered:
    """Return the scenario without changes of tensors, and what each step of the original one must show in terms of it.

    A scenario without such changes is returned as it is. Raises ScenarioEvaluationError where an operator rejects its
    arguments.
    """
    policy = policy or Policy()
    if scenario.calls:
        groups = tuple(inlined_steps(scenario))
        lowered = lower(Scenario(tuple(chain.from_iterable(groups))), policy)
        ends = accumulate(map(len, groups))
        return Lowered(lowered.scenario, tuple(lowered.predictions[end - 1] for end in ends))
    # Without changes every view of what requires grad is recorded, and engines that differ in this share predictions.
    return _lowered(scenario, policy if has_changes(scenario) else replace(policy, unrecorded_views="constant"))


@lru_cache(maxsize=REMEMBERED)
def _lowered(scenario: Scenario, policy: Policy) -> Lowered:
    model = Model(scenario, policy)
    predictions = tuple(model.step(step) for step in scenario.steps)
    if not model.changes:
        return Lowered(scenario, predictions)
    return Lowered(Scenario(tuple(model.functional.steps)), predictions)


class Model(ReverseMode):
    """The rules of all steps: what each must show, and how it changes the state."""

    def step(self, step: Step) -> Prediction:
        """Process one step by the method that is named after its kind, and return what it must show."""
        if self.policy.unrecorded_views == "open":
            self.forget_unrecorded_views()
        # unknown are gradients that could not be recorded, and memory that may overlap
        if self.unknown and not self.unknown.isdisjoint(step.uses):
            return self.open_step(step)
        prediction: Prediction = getattr(self, step.form.tag)(step)
        return prediction

    def open_step(self, step: Step) -> Prediction:
        """Process a step that uses an unknown tensor, and predict nothing."""
        if step.defines is not None:
            self.unknown.add(step.defines)
        match step:
            case kinds.Backward():
                self.forget_gradients(self.graph.leaves | self.graph.nodes.keys(), frees=not step.retain_graph)
            case kinds.Grad():
                self.forget_gradients(self.graph.leaves | self.graph.nodes.keys(), frees=False, grad=True)
            case kinds.Write(name=name):
                self.forget(name)
            case kinds.Hook() if step.factor is not None:
                self.may_be_rescaled = True
        return Open()

    def leaf(self, step: kinds.Leaf) -> Prediction:
        """Create a leaf."""
        self.functional.steps.append(step)
        tensor = TensorState(step.name, step.name, self.graph.memory.new(), step.value.dtype)
        self.tensors[step.name] = tensor
        if step.requires_grad:
            tensor.node = tensor.root = step.name
            self.graph.leaves.add(step.name)
        return Succeeds()

    def apply(self, step: kinds.Apply) -> Prediction:
        """Apply an operator, and record it if gradients flow to an operand."""
        operands = [self.tensors[name] for name in step.arguments]
        may_overlap = [operand.memory for operand in operands] if may_share(step) else []
        dtypes = ("float32" if operand.dtype == "bfloat16" else operand.dtype for operand in operands)
        dtype = np.result_type(*dtypes).name
        tensor = TensorState(step.name, step.name, self.graph.memory.new(may_overlap), dtype, view=bool(may_overlap))
        recorded = self.recording and any(operand.node for operand in operands)
        cut = not self.recording and any(operand.node for operand in operands)
        marked = recorded and step.name in self.watched
        raw = self.functional.fresh(step.name) if cut or marked else step.name
        values = tuple(operand.value for operand in operands)
        is_same = (raw, values) == (step.name, step.arguments)
        self.functional.steps.append(step if is_same else replace(step, name=raw, arguments=values))
        if cut:
            self.functional.cut(step.name, raw)
        elif marked:
            self.functional.marked(step.name, raw, self.shapes[step.name], dtype)
        self.tensors[step.name] = tensor
        if recorded:
            tensor.node = step.name
            tensor.retains = step.name in self.kept
            self.record(step, [*operands, tensor])
            self.used(operands, by_view=tensor.view)
        return Succeeds()

    def used(self, tensors: Iterable[TensorState], *, by_view: bool = False) -> None:
        """Reset the gradients of tensors that a recorded operation uses, if the policy does so.

        If the operation makes a view, the gradients are unknown: engines may or may not count it as a use.
        """
        for tensor in tensors if self.policy.accumulates == "replaces" else ():
            tensor.reset(to_zeros=False)
            tensor.gradient_unknown = by_view

    def record(self, step: kinds.Apply, tensors: list[TensorState]) -> None:
        """Record an application. The last of the tensors is its result, the others are its operands."""
        nodes = {tensor.name: tensor.node or tensor.value for tensor in tensors}
        memories = {nodes[tensor.name]: self.graph.memory.now(tensor.memory) for tensor in tensors}
        vjps = tuple(vjp for vjp in vjps_of(step.renamed(nodes)) if self.graph.tracked(vjp.parent))
        parents = tuple(vjp.parent for vjp in vjps)
        sure = [vjp for vjp in vjps if not self.may_be_constant(vjp.parent)]
        needed = {name for vjp in sure for name in vjp.saved}
        agreed = step.operator in AGREED
        self.graph.nodes[step.name] = GraphNode(
            parents,
            any(vjp.saved for vjp in vjps),
            parents,
            vjps,
            composite=operator_table()[step.operator].composite is not None,
            overwrites=operator_table()[step.operator].family == OVERWRITING,
            must_need=tuple(memories[name] for name in needed) if agreed else (),
            may_need=() if agreed and sure == [*vjps] else tuple(memories.values()),
            operands=tuple((tensor.name, tensor.node is not None) for tensor in tensors[:-1]),
            may_be_constant=all(self.may_be_constant(parent) for parent in parents),
        )

    def detach(self, step: kinds.Detach) -> Prediction:
        """Create a constant that shares the memory of its source."""
        source = self.tensors[step.source]
        self.functional.cut(step.name, source.value)
        self.tensors[step.name] = TensorState(step.name, step.name, source.memory, source.dtype)
        return Succeeds()

    def grad(self, step: kinds.Grad) -> Prediction:
        """Record a gradient."""
        output, leaf = self.tensors[step.output], self.tensors[step.leaf]
        outcome = self.gradient(output, leaf, step)
        if not isinstance(outcome, GraphNode):
            self.unknown.add(step.name)
            return outcome
        self.graph.nodes[step.name] = outcome
        self.functional.steps.append(replace(step, output=output.value, leaf=leaf.root or leaf.name))
        others = [t.memory for t in self.tensors.values() if t.node is not None and self.graph.is_gradient(t.node)]
        memory = self.graph.memory.new(others)
        self.tensors[step.name] = TensorState(step.name, step.name, memory, leaf.dtype, node=step.name)
        return Succeeds()

    def jvp(self, step: kinds.Jvp) -> Prediction:
        """Create a tangent. Nothing is recorded or freed, and no gradient changes.

        Nothing is predicted for forward mode through recorded gradients, or in scenarios that change tensors.
        """
        output = self.tensors[step.output]
        if self.changes or any(
            self.graph.is_gradient(name) for name in self.graph.may_reach(output.node or output.value)
        ):
            self.unknown.add(step.name)
            return Open()
        self.functional.steps.append(step)
        self.tensors[step.name] = TensorState(step.name, step.name, self.graph.memory.new(), output.dtype)
        return Succeeds()

    def write(self, step: kinds.Write) -> Prediction:
        """Overwrite a tensor."""
        target, operand = self.tensors[step.name], self.tensors[step.operand]
        onto_itself = step.index is not None and target.memory == operand.memory
        if onto_itself or self.graph.memory.may_overlap(target.memory) or self.graph.is_gradient(target.node or ""):
            self.forget(step.name)
            return Open()
        extent = extent_of(self.shapes[step.name], self.shapes[step.operand], step)
        if self.recording and target.node is not None and target.node == target.root:
            return Fails("leaf-in-place", () if extent is not None and extent.fits else ("write-shape",))
        if extent is None or not extent.fits:
            if extent is not None and extent.refused:
                return Fails("write-shape")
            self.forget(step.name)
            return Open()
        self.overwrite(step, target, operand, extent)
        return Succeeds()

    def overwrite(self, step: kinds.Write, target: TensorState, operand: TensorState, extent: Extent) -> None:
        """Give a tensor its new value, and a new node if the write is recorded."""
        before, saved = target.node, self.graph.memory.now(operand.memory)
        new = self.functional.written(target.value, step.action, operand.value, step.index, extent.part)
        recorded = self.recording and (target.node is not None or operand.node is not None)
        if recorded:
            name, shape = self.functional.fresh(target.name), self.shapes[target.name]
            new = self.functional.marked(name, new, shape, target.dtype)
        self.graph.memory.write(target.memory)
        for alias in self.tensors.values():
            if alias.memory == target.memory and not (recorded and alias is target):
                alias.value = self.with_value(alias, new)
        if not recorded:
            return
        target.value = target.node = new
        target.retains = target.retains or target.name in self.kept
        self.used([target, operand])
        self.graph.shapes[new] = self.shapes[target.name]
        names = {"operand": operand.node or operand.value, "before": before or ""}
        if operand is target:
            names["operand"] = before or ""
        node = extent.node(step, names["before"], names["operand"], saved, self.graph)
        node.operands = ((operand.name, operand.node is not None),) if operand is not target else ()
        node.may_be_constant = all(self.may_be_constant(parent) for parent in node.parents)
        self.graph.nodes[new] = node

    def lost(self, tensor: TensorState) -> Prediction:
        """Mark a tensor as unknown, and predict nothing."""
        self.unknown.add(tensor.name)
        return Open()

    def require_grad(self, step: kinds.RequireGrad) -> Prediction:
        """Make a constant require grad."""
        tensor = self.tensors[step.name]
        if self.may_be_constant(tensor.node):
            return self.lost(tensor)
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

    def stop_requiring_grad(self, step: kinds.StopRequiringGrad) -> Prediction:
        """Make a leaf a constant."""
        tensor = self.tensors[step.name]
        if self.may_be_constant(tensor.node):
            return self.lost(tensor)
        if not tensor.is_leaf:
            return Fails("requires-grad-of-non-leaf")
        if tensor.node is not None:
            tensor.value = self.functional.cut(self.functional.fresh(tensor.name), tensor.value)
            tensor.node = None
        return Succeeds()

    def enter(self, step: kinds.EnterMode) -> Prediction:
        """Enter a region."""
        self.regions.append(step.mode == "enable_grad")
        return Succeeds()

    def leave(self, _step: kinds.LeaveMode) -> Prediction:
        """Leave the region that was entered last."""
        self.regions.pop()
        return Succeeds()

    def delete(self, _step: kinds.DeleteName) -> Prediction:
        """Delete a name, which changes nothing that can be observed."""
        return Succeeds()

    def zero_grad(self, step: kinds.ZeroGrad) -> Prediction:
        """Reset the gradient of a tensor."""
        self.tensors[step.name].reset(to_zeros=step.to_zeros)
        return Succeeds()

    def hook(self, step: kinds.Hook) -> Prediction:
        """Add a hook to the gradient of a tensor."""
        tensor = self.tensors[step.tensor]
        if tensor.node is None:
            return Fails("hook-on-constant")
        self.hooks[step.name] = HookState(step.name, step.tensor, tensor.node, step.factor)
        if self.may_be_constant(tensor.node):
            self.hooks[step.name].calls_unknown = True
            return self.lost(tensor)
        return Succeeds()

    def unhook(self, step: kinds.Unhook) -> Prediction:
        """Remove a hook."""
        hook = self.hooks.get(step.name)
        if hook is None:
            return Open()
        hook.active = False
        return Open() if hook.calls_unknown else Succeeds()

    def retain_grad(self, step: kinds.RetainGrad) -> Prediction:
        """Make a computed tensor retain its gradient."""
        tensor = self.tensors[step.name]
        if tensor.node is None:
            return Fails("retain-grad-on-constant")
        if self.may_be_constant(tensor.node):
            return self.lost(tensor)
        tensor.retains = tensor.retains or not tensor.is_leaf
        return Succeeds()

    def is_left_to_the_engine(self, tensor: TensorState) -> bool:
        """Return True if the policy leaves it to the engine which gradient a tensor has."""
        match self.policy.keeps:
            case "leaves":
                return False
            case "all":
                return tensor.node is None or tensor.view
            case "open":
                return tensor.node is None or not tensor.is_leaf

    def read(self, step: kinds.Read) -> Prediction:  # noqa: PLR0911 (one return for each kind of reading)
        """Return what reading a value, a gradient, a flag or the calls of a hook must show."""
        if step.what == "hook":
            hook = self.hooks.get(step.name)
            return Open() if hook is None or hook.calls_unknown else Seen(hook.name, hook.tensor, tuple(hook.calls))
        tensor = self.tensors[step.name]
        match step.what:
            case "value":
                return ExpectedValue(tensor.name, "" if tensor.value == tensor.name else tensor.value)
            case "grad":
                return Open() if self.is_left_to_the_engine(tensor) else tensor.gradient_prediction()
            case _ if self.may_be_constant(tensor.node):
                return Open()
            case "requires_grad":
                return ExpectedFlag(tensor.node is not None)
            case "is_leaf":
                return ExpectedFlag(tensor.is_leaf)
        return ExpectedFlag(not tensor.is_leaf)
