"""The tape engine with a forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.faulty_engines.tapes.tape import ON_ARRAYS, Array, Node, Tape, Tensor, slope

Tangents = Sequence[Array | None]


class ForwardTape(Tape):
    """The tape, which can be walked in the order in which it was recorded too."""

    def jvp(
        self, function: Callable[..., Tensor], primals: Sequence[Tensor], tangents: Sequence[Array]
    ) -> tuple[Tensor, Tensor]:
        """Return a function's output and its tangent."""
        moving = [self.tensor(primal.array, requires_grad=True) for primal in primals]
        output = function(*moving)
        found = {leaf.node: tangent for leaf, tangent in zip(moving, tangents, strict=True)}
        nodes = [] if output.node is None else reversed(list(self.order(output.node)))
        for node in nodes:
            arrived = [found.get(parent) for parent in node.parents]
            if any(tangent is not None for tangent in arrived):
                found[node] = self.push(node, arrived)
        return output, Tensor(found.get(output.node, np.zeros_like(output.array)))

    def push(self, node: Node, tangents: Tangents) -> Array:
        """Return the tangent of an operator's result, given those of its operands; None stands still."""
        assert node.operator is not None
        if node.operator.structure is not None:
            return self.push_entries(node, tangents)
        shares = [
            slope(node.operator, name)(**(node.values or {}), **node.attributes) * tangent
            for name, tangent in zip(node.operator.argument_names, tangents, strict=True)
            if tangent is not None
        ]
        return np.asarray(np.broadcast_to(sum(shares), node.array.shape))

    def push_entries(self, node: Node, tangents: Tangents) -> Array:
        """Return the tangent, entry by entry, by the rule for cotangents: one that is one at an entry alone."""
        result = np.zeros_like(node.array)
        for index in np.ndindex(result.shape):
            cotangent = np.zeros_like(result)
            cotangent[index] = 1
            assert node.operator is not None
            assert node.operator.structure is not None
            shares = node.operator.structure.vjp(ON_ARRAYS, cotangent, node)
            pairs = zip(node.parents, shares, tangents, strict=True)
            result[index] = sum(
                np.vdot(self.unbroadcast(np.asarray(share), parent.array.shape), tangent)
                for parent, share, tangent in pairs
                if tangent is not None and parent is not None
            )
        return result
