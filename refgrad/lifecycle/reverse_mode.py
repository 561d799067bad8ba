"""Backward passes over the recorded graph: what each must show, and what each changes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from refgrad.lifecycle.graph import GraphNode
from refgrad.lifecycle.predictions import ErrorKind, Fails, Open, Prediction, Succeeds
from refgrad.lifecycle.state import HookState, State, TensorState, scales_of, seen_by
from refgrad.scenario import Backward, Constant, Grad


class ReverseMode(State):
    """The rules of backward passes over the graph. They change the gradients of tensors and the calls of hooks."""

    def backward(self, step: Backward) -> Prediction:
        """Send the seed to the leaves, and return what the step must show."""
        output = self.tensors[step.output]
        failure: Fails | Open | None = self.refused(output, step.seed)
        if failure is not None:
            return failure
        assert output.node is not None
        may_visit = self.graph.may_reach(output.node)
        must_visit = self.graph.must_reach(output.node)
        failure = self.graph.failure(may_visit, must_visit)
        if failure is not None:
            cleared = self.policy.frees in {"always", "connected"} and bool(self.graph.nodes[output.node].freed)
            self.forget_gradients(may_visit, frees=not step.retain_graph)
            return Open() if cleared or self.leaf_may_be_computed(may_visit) else failure
        if self.recorded_gradient_may_be_rescaled(may_visit) or self.leaf_may_be_computed(may_visit):
            self.forget_gradients(may_visit, frees=not step.retain_graph)
            return Open()
        self.deliver(output, step.seed, may_visit, must_visit, leaves=True)
        if not step.retain_graph:
            known = self.graph.before_gradients(output.node) & must_visit
            self.graph.free(may_visit, known, self.policy.frees)
        return Succeeds() if must_visit & self.graph.leaves else Open()

    def gradient(self, output: TensorState, leaf: TensorState, step: Grad) -> GraphNode | Fails | Open:
        """Return the node of a recorded gradient, or the prediction where it fails or is not predicted."""
        failure = self.refused(output, step.seed)
        if failure is not None:
            return failure
        assert output.node is not None
        root = leaf.root if leaf.node == leaf.root else None
        may_visit = self.graph.may_reach(output.node)
        if root is None:
            self.forget_gradients(may_visit, frees=False, grad=True)
            return Open()
        between = self.graph.leading_to(root, may_visit)
        must_visit = self.graph.must_reach(output.node)
        outcome = self.graph.failure(between, must_visit & between)
        may_be_other = root not in must_visit or self.may_be_rescaled or self.requires_grad_changed(between)
        may_be_other = may_be_other or bool(scales_of(self.hooks.values(), between))
        if self.leaf_may_be_computed(may_visit) or (outcome is None and may_be_other):
            outcome = Open()
        if outcome is not None:
            self.forget_gradients(may_visit, frees=False, grad=True)
            return outcome
        self.deliver(output, step.seed, between, must_visit & between, leaves=False)
        return self.graph.derivative(between, root)

    def refused(self, output: TensorState, seed: Constant | None) -> Fails | None:
        """Return the error that is expected whatever the graph is, or None."""
        shape = self.shapes[output.name]
        misfit = seed is not None and seed.shape != shape
        if output.node is None:
            return Fails("no-graph", ("seed-shape",) if misfit else ())
        node = self.graph.nodes.get(output.node)
        others: tuple[ErrorKind, ...] = ("no-graph",) if node is not None and node.may_be_constant else ()
        if seed is None and int(np.prod(shape)) != 1 and self.policy.implicit_seed == "error":
            return Fails("implicit-seed", others)
        return Fails("seed-shape", others) if misfit else None

    def leaf_may_be_computed(self, may_visit: set[str]) -> bool:
        """Return True if one of these leaves has been, or may have been, overwritten by a computed value."""
        return any(
            tensor.root in may_visit and (tensor.may_be_computed or tensor.node not in {None, tensor.root})
            for tensor in self.tensors.values()
        )

    def requires_grad_changed(self, names: set[str]) -> bool:
        """Return True if an operand of one of these nodes has started or stopped requiring grad since.

        A tensor that was saved of it may have done so too, when the rules are recorded.
        """
        nodes = [self.graph.nodes[name] for name in names if name in self.graph.nodes]
        return any((self.tensors[name].node is not None) is not flag for node in nodes for name, flag in node.operands)

    def recorded_gradient_may_be_rescaled(self, may_visit: set[str]) -> bool:
        """Return True if hooks may change gradients by unknown factors.

        That is so for a hook on an unknown tensor, and for hooks in a backward through a recorded gradient.
        """
        through = any(map(self.graph.is_gradient, may_visit))
        return self.may_be_rescaled or (through and bool(scales_of(self.hooks.values(), may_visit)))

    def deliver(
        self, output: TensorState, seed: Constant | None, may_visit: set[str], must_visit: set[str], *, leaves: bool
    ) -> None:
        """Add the contribution of a backward to the gradients of tensors, and to the calls of hooks.

        ``leaves`` is True if leaves receive gradients, and not only tensors that retain theirs.
        """
        hidden = self.graph.through_gradients(may_visit)
        hooks = list(self.hooks.values())
        scales = scales_of(hooks, may_visit)
        replace = self.policy.accumulates != "adds"
        for tensor in self.tensors.values():
            if leaves and tensor.root in may_visit and tensor.root is not None:
                if tensor.node == tensor.root:
                    plain = not scales and tensor.root == tensor.name
                    where = (output.value, seed) if plain else (output.value, seed, scales, tensor.root)
                    tensor.receive(where, must=tensor.root in must_visit, replace=replace)
                else:
                    tensor.gradient_unknown |= tensor.node is not None
            elif tensor.retains and tensor.node in may_visit and tensor.node is not None:
                tensor.gradient_unknown |= tensor.node in hidden or tensor.node not in must_visit
                where = (output.value, seed, scales, tensor.node)
                tensor.receive(where, must=True, replace=replace)
        for hook in hooks:
            if hook.active and hook.node in may_visit:
                hook.calls_unknown |= hook.node in hidden or hook.node not in must_visit or self.is_frozen(hook)
                hook.calls.append(seen_by(hook, hooks, may_visit, output.value, seed))

    def is_frozen(self, hook: HookState) -> bool:
        """Return True if the hook is on a leaf that does not currently require grad."""
        return hook.node in self.graph.leaves and all(tensor.node != hook.node for tensor in self.tensors.values())

    def forget_gradients(self, names: Collection[str], *, frees: bool, grad: bool = False) -> None:
        """Mark as unknown what a backward over these names may have changed."""
        for tensor in self.tensors.values():
            met = tensor.root in names and not grad
            tensor.gradient_unknown |= met or (tensor.retains and tensor.node in names)
        for hook in self.hooks.values():
            met = hook.node in names or self.tensors[hook.tensor].root in names
            hook.calls_unknown |= hook.active and met
        if frees:
            self.graph.free(names, (), self.policy.frees)
