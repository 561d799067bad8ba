"""The tape engine where a composite operator is one node with a rule of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from refgrad.operators import Operator, operator_table
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Steps, Tape, Tensor, floating


class FusedTape(Tape):
    """The tape, where each operator of ``fused`` is recorded as one node; its rule is that of its steps."""

    fused: ClassVar[frozenset[str]] = frozenset()

    def is_one_node(self, operator: Operator) -> bool:
        return operator.name in self.fused or super().is_one_node(operator)

    def record(
        self, operator: Operator, tensors: Sequence[Tensor], result: Array, attributes: Mapping[str, Any]
    ) -> Node:
        node = super().record(operator, tensors, result, attributes)
        if operator.name in self.fused:
            node.values = {name: t.array for name, t in zip(operator.argument_names, tensors, strict=True)}
        return node

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        if node.operator.name in self.fused:
            return rule_of_steps(node, cotangent)
        return super().pull(node, cotangent)


def rule_of_steps(node: Node, cotangent: Array, **changed: Any) -> list[Array | None]:
    """Return what the steps of a composite send to its operands, as if some attributes were ``changed``."""
    assert node.operator is not None
    operands = [node.saved(name) for name in node.operator.argument_names]
    return pulled(node.operator.name, operands, node.needs, cotangent, {**node.attributes, **changed})


def pulled(
    name: str, operands: Sequence[Array], needs: Sequence[bool], cotangent: Array, attributes: Mapping[str, Any]
) -> list[Array | None]:
    """Return what an operator sends to its operands, by the right rules of what it is made of."""
    tape = Tape()
    leaves = [tape.tensor(array, requires_grad=needed) for array, needed in zip(operands, needs, strict=True)]
    output = getattr(Steps(tape, floating(leaves)), name)(*leaves, **attributes)
    if output.node is not None:
        tape.backward(output, np.broadcast_to(cotangent, output.shape))
    return [
        None if leaf.node is None else np.zeros_like(leaf.array) if leaf.grad is None else leaf.grad for leaf in leaves
    ]


def entry_by_entry(node: Node, cotangent: Array) -> list[list[Array | None]]:
    """Return what the operands receive from each entry of the result by itself."""
    alone = []
    for place in np.ndindex(cotangent.shape):
        single = np.zeros_like(cotangent)
        single[place] = cotangent[place]
        alone.append(rule_of_steps(node, single))
    return alone


def fused(*names: str) -> type[FusedTape]:
    """Return the engine that has some operators in one piece."""
    assert all(operator_table()[name].composite is not None for name in names)
    return type("Fused", (FusedTape,), {"fused": frozenset(names)})
