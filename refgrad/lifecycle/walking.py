"""What does a walk back over the graph change, and what must it show?"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from refgrad.lifecycle.graph import Graph, Node
from refgrad.lifecycle.policy import Policy
from refgrad.lifecycle.predictions import ErrorKind, Fails, Open, Prediction, Succeeds
from refgrad.lifecycle.tensors import Hook, Tensor, scales_of, seen_by
from refgrad.operators.structure import Shape
from refgrad.scenario import Backward, Constant, Grad


class Walker:
    """Walks over the graph of some tensors, and lets their gradients and hooks know."""

    def __init__(
        self,
        graph: Graph,
        tensors: dict[str, Tensor],
        hooks: dict[str, Hook],
        policy: Policy,
        shapes: dict[str, Shape],
    ) -> None:
        """Share the state of the scenario."""
        self.graph = graph
        self.tensors = tensors
        self.hooks = hooks
        self.policy = policy
        self.shapes = shapes
        self.meddled = False
        """Whether a hook of which nothing is known may change gradients."""

    def backward(self, output: Tensor, step: Backward) -> Prediction:
        """Send the seed to the leaves."""
        refusal: Fails | Open | None = self.refused(output, step.seed)
        if refusal is not None:
            return refusal
        assert output.node is not None
        visited = self.graph.ancestors(output.node)
        surely = self.graph.ancestors(output.node, firm=True)
        refusal = self.graph.refusal(visited, surely)
        if refusal is not None:
            cleared = self.policy.frees in {"always", "connected"} and bool(self.graph.nodes[output.node].freed)
            self.doubt(visited, frees=not step.retain_graph)
            return Open() if cleared or self.moved(visited) else refusal
        if self.changed_behind_gradients(visited) or self.moved(visited):
            self.doubt(visited, frees=not step.retain_graph)
            return Open()
        self.tell(output, step.seed, visited, surely, leaves=True)
        if not step.retain_graph:
            known = self.graph.before_gradients(output.node) & surely
            self.graph.free(visited, known, self.policy.frees)
        return Succeeds() if surely & self.graph.leaves else Open()

    def gradient(self, output: Tensor, leaf: Tensor, step: Grad) -> Node | Fails | Open:
        """Return the node of a recorded gradient, or what happens in its place."""
        refusal = self.refused(output, step.seed)
        if refusal is not None:
            return refusal
        assert output.node is not None
        root = leaf.root if leaf.node == leaf.root else None
        visited = self.graph.ancestors(output.node)
        if root is None:
            self.doubt(visited, frees=False, grad=True)
            return Open()
        between = self.graph.leading_to(root, visited)
        surely = self.graph.ancestors(output.node, firm=True)
        outcome = self.graph.refusal(between, surely & between)
        unsure = root not in surely or self.meddled or self.toggled(between)
        if self.moved(visited) or (outcome is None and (unsure or scales_of(self.hooks.values(), between))):
            outcome = Open()
        if outcome is not None:
            self.doubt(visited, frees=False, grad=True)
            return outcome
        self.tell(output, step.seed, between, surely & between, leaves=False)
        return self.graph.derivative(between, root)

    def refused(self, output: Tensor, seed: Constant | None) -> Fails | None:
        """The error that is due whatever the graph is, if any."""
        shape = self.shapes[output.name]
        misfit = seed is not None and seed.shape != shape
        if output.node is None:
            return Fails("no-graph", ("seed-shape",) if misfit else ())
        node = self.graph.nodes.get(output.node)
        others: tuple[ErrorKind, ...] = ("no-graph",) if node is not None and node.unsure else ()
        if seed is None and int(np.prod(shape)) != 1 and self.policy.implicit_seed == "error":
            return Fails("implicit-seed", others)
        return Fails("seed-shape", others) if misfit else None

    def moved(self, visited: set[str]) -> bool:
        """Whether a leaf among these has been overwritten since by something that was computed."""
        return any(
            tensor.root in visited and (tensor.adrift or tensor.node not in {None, tensor.root})
            for tensor in self.tensors.values()
        )

    def toggled(self, names: set[str]) -> bool:
        """Whether something that nodes were made of has begun or ceased to require grad since.

        What was saved of it may do so too, when the rules are recorded.
        """
        nodes = [self.graph.nodes[name] for name in names if name in self.graph.nodes]
        return any((self.tensors[name].node is not None) is not flag for node in nodes for name, flag in node.origins)

    def changed_behind_gradients(self, visited: set[str]) -> bool:
        """Whether hooks may change what arrives by way of a recorded gradient, where nobody knows what arrives."""
        through = any(name in self.graph.nodes and self.graph.nodes[name].is_gradient for name in visited)
        return self.meddled or (through and bool(scales_of(self.hooks.values(), visited)))

    def tell(self, output: Tensor, seed: Constant | None, visited: set[str], surely: set[str], *, leaves: bool) -> None:
        """Let all tensors and hooks know what they receive."""
        hidden = self.graph.behind_gradients(visited)
        hooks = list(self.hooks.values())
        scales = scales_of(hooks, visited)
        for tensor in self.tensors.values():
            if leaves and tensor.root in visited and tensor.root is not None:
                if tensor.node == tensor.root:
                    plain = not scales and tensor.root == tensor.name
                    where = (output.value, seed) if plain else (output.value, seed, scales, tensor.root)
                    tensor.receive(where, surely=tensor.root in surely, alone=self.policy.accumulates == "replaces")
                else:
                    tensor.unknown = tensor.unknown or tensor.node is not None
            elif tensor.retains and tensor.node in visited and tensor.node is not None:
                tensor.unknown = tensor.unknown or tensor.node in hidden or tensor.node not in surely
                where = (output.value, seed, scales, tensor.node)
                tensor.receive(where, surely=True, alone=self.policy.accumulates == "replaces")
        for hook in hooks:
            if hook.active and hook.node in visited:
                hook.unknown = hook.unknown or hook.node in hidden or hook.node not in surely or self.asleep(hook)
                hook.calls.append(seen_by(hook, hooks, visited, output.value, seed))

    def asleep(self, hook: Hook) -> bool:
        """Whether the hook is on a leaf that does not require grad at the moment."""
        return hook.node in self.graph.leaves and all(tensor.node != hook.node for tensor in self.tensors.values())

    def doubt(self, names: Collection[str], *, frees: bool, grad: bool = False) -> None:
        """Know nothing more of what a walk over these names may have changed."""
        for tensor in self.tensors.values():
            met = tensor.root in names and not grad
            tensor.unknown = tensor.unknown or met or (tensor.retains and tensor.node in names)
        for hook in self.hooks.values():
            met = hook.node in names or self.tensors[hook.tensor].root in names
            hook.unknown = hook.unknown or (hook.active and met)
        if frees:
            self.graph.free(names, (), self.policy.frees)
