"""How do tensors come to require grad, to have hooks, and to keep their gradients?"""

from __future__ import annotations

from refgrad.lifecycle.predictions import Fails, Open, Prediction, Succeeds
from refgrad.lifecycle.state import State
from refgrad.lifecycle.tensors import Hook, Tensor
from refgrad.scenario import Hook as HookStep


class Marking(State):
    """The rules of steps that change what a tensor's gradient does, and not its value."""

    def require(self, tensor: Tensor) -> Prediction:
        """Let a constant require grad."""
        if self.unsure(tensor.node):
            self.absent.add(tensor.name)
            return Open()
        if tensor.node is not None:
            return Succeeds()
        if tensor.root is None:
            tensor.root = self.pure.root(tensor.name, self.shapes[tensor.name], tensor.dtype)
            self.graph.shapes[tensor.root] = self.shapes[tensor.name]
            self.graph.leaves.add(tensor.root)
            tensor.value = self.pure.rooted(tensor.name, tensor.value, tensor.root)
        else:
            tensor.value = self.pure.changed(tensor.root, tensor.value)
        tensor.node = tensor.root
        return Succeeds()

    def stop_requiring(self, tensor: Tensor) -> Prediction:
        """Make a constant of a leaf."""
        if self.unsure(tensor.node):
            self.absent.add(tensor.name)
            return Open()
        if not tensor.is_leaf:
            return Fails("requires-grad-of-non-leaf")
        if tensor.node is not None:
            tensor.value = self.pure.cut(self.pure.fresh(tensor.name), tensor.value)
            tensor.node = None
        return Succeeds()

    def hook(self, step: HookStep) -> Prediction:
        """Hook into the gradient of a tensor."""
        tensor = self.tensors[step.tensor]
        if tensor.node is None:
            return Fails("hook-on-constant")
        self.hooks[step.name] = Hook(step.name, step.tensor, tensor.node, step.factor)
        if self.unsure(tensor.node):
            self.hooks[step.name].unknown = True
            self.absent.add(tensor.name)
            return Open()
        return Succeeds()

    def retain(self, tensor: Tensor) -> Prediction:
        """Let a computed tensor keep its gradient."""
        if tensor.node is None:
            return Fails("retain-grad-on-constant")
        if self.unsure(tensor.node):
            self.absent.add(tensor.name)
            return Open()
        tensor.retains = tensor.retains or not tensor.is_leaf
        return Succeeds()
