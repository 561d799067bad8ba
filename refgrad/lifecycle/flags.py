"""The rules of steps that set requires_grad, add hooks, and retain gradients."""

from __future__ import annotations

from refgrad.lifecycle.predictions import Fails, Open, Prediction, Succeeds
from refgrad.lifecycle.state import State
from refgrad.lifecycle.tensors import HookState, TensorState
from refgrad.scenario import Hook as HookStep


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
