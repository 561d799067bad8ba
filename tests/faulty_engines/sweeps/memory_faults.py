"""Mistakes that share memory that should be apart, or write where others read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import GRAPHS, SEVERAL, Fault
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape, Tensor


class OneArrayForBothOperands(Tape):
    """Addition hands on the very array that it received."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        if node.operator.name == "add":
            return [cotangent if needed else None for needed in node.needs]
        return super().pull(node, cotangent)


class JoinsInPlace(OneArrayForBothOperands):
    """And what arrives later is added to that array, before leaves take it."""

    def order(self, root: Node) -> Iterable[Node]:
        return sorted(super().order(root), key=lambda node: node.operator is None)

    def join(self, total: Array, contribution: Array) -> Array:
        total = np.require(total, requirements="W")
        total += contribution
        return total


class LeavesKeepTheArray(OneArrayForBothOperands):
    """And leaves keep that array, and add to it."""

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        if leaf.grad is None:
            leaf.grad = np.require(cotangent, requirements="W")
        else:
            leaf.grad += cotangent


class ReusesTheBuffer(Tape):
    """The first cotangent of a leaf becomes its gradient, and the buffer for the next one."""

    def __init__(self) -> None:
        self.buffers: dict[Node, Array] = {}

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        buffer = self.buffers.setdefault(leaf, np.empty_like(cotangent))
        np.copyto(buffer, cotangent)
        leaf.grad = buffer if leaf.grad is None else np.asarray(leaf.grad + buffer)


class OneScratchBuffer(Tape):
    """What a node sends to its operands lies in one buffer a shape."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[int, ...], Array] = {}

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        buffer = self.buffers.setdefault(contribution.shape, np.empty_like(contribution))
        np.copyto(buffer, contribution)
        super().send(pending, parent, buffer)


class ForwardInPlace(Tape):
    """Negates in the memory of the operand."""

    def forward(self, operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> Array:
        right = super().forward(operator, arrays, attributes)
        if operator.name == "negative" and arrays[0].flags.writeable:
            arrays[0][...] = right
        return right


class RuleInPlace(Tape):
    """The rule of cos computes in the memory of its operand."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        right = super().pull(node, cotangent)
        if node.operator.name == "cos":
            x = node.saved("x")
            np.sin(x, out=np.require(x, requirements="W"))
        return right


class RightOnce(Tape):
    """The rule of exp leaves its saved result multiplied with the cotangent."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        right = super().pull(node, cotangent)
        if node.operator.name == "exp" and right[0] is not None:
            node.values = {"out": right[0]}
        return right


class OverwritesLeaves(Tape):
    """Gradients land on the leaf's value as well."""

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        super().deposit(leaf, cotangent)
        leaf.array[...] = cotangent


class ClearsTheGraph(Tape):
    """Freeing a graph wipes what lies between leaves and output, though others look at it."""

    def backward(self, output: Tensor, seed: Array | None = None, *, retain_graph: bool = False) -> None:
        super().backward(output, seed, retain_graph=retain_graph)
        for node in [] if retain_graph else self.order(self.root(output)):
            if node.operator is not None and node.array is not output.array and node.array.base is None:
                node.array.fill(0)


MEMORY_FAULTS: tuple[Fault, ...] = (
    Fault(
        "adds in place to the array that an addition handed to both operands",
        "rsokl/MyGrad 407b2764",
        JoinsInPlace,
        frozenset({"contracts/seeds_stay_as_they_are", "sharing/operands_of_one_sum"}),
        may_break=GRAPHS,
    ),
    Fault(
        "keeps in leaves the array that an addition handed to both operands",
        "Oneflow-Inc/oneflow#9497",
        LeavesKeepTheArray,
        frozenset({
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "accumulation/leaves_do_not_share_memory",
        }),
        may_break=GRAPHS,
    ),
    Fault(
        "writes a later gradient into the buffer that a leaf has kept",
        "pytorch/pytorch#119334",
        ReusesTheBuffer,
        frozenset({
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "accumulation/adds_across_calls",
            "accumulation/chunks_equal_the_batch",
            "accumulation/losses_in_either_order",
            "accumulation/leaves_do_not_share_memory",
        })
        | SEVERAL,
    ),
    Fault(
        "has one scratch buffer for all cotangents of a shape",
        "pytorch/pytorch#119334",
        OneScratchBuffer,
        frozenset({
            "rewrites/rewritten_expressions",
            "accumulation/zeroing_one_leaves_the_others",
            "leaves/conditions_get_no_gradient",
            "contracts/gradients_of_leaves_are_apart",
            "dtypes/gradients_keep_the_dtype_of_their_leaf",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "leaves/every_leaf_is_served",
            "sharing/diamond",
            "sharing/same_operand_twice",
            "sharing/fan_out_of_three",
            "sharing/uneven_paths",
            "sharing/operands_of_one_sum",
        })
        | GRAPHS,
    ),
    Fault(
        "negates in the memory of the operand",
        "pytorch/pytorch#7763",
        ForwardInPlace,
        frozenset({"operators/negative"}),
    ),
    Fault(
        "computes the rule of cos in the memory of its operand",
        "chainer/chainer#2062",
        RuleInPlace,
        frozenset({"operators/cos"}),
    ),
    Fault(
        "spoils the saved result of exp in its first backward",
        "chainer/chainer#2062",
        RightOnce,
        frozenset({
            "accumulation/five_calls",
            "accumulation/chunks_equal_the_batch",
            "accumulation/losses_in_either_order",
            "retain_graph/retained_graph_works_again",
            "seeds/seeds_differ_between_calls",
        }),
        may_break=SEVERAL,
    ),
    Fault(
        "overwrites leaves with their gradients",
        "generic: an update in place of a gradient",
        OverwritesLeaves,
        frozenset({
            "accumulation/leaves_do_not_share_memory",
            "accumulation/zeroing_may_come_after_the_forward",
            "errors/a_new_graph_works_after_a_failure",
            "errors/failures_leave_values_alone",
            "retain_graph/keeping_is_said_each_time",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "accumulation/zeroing_forgets",
            "retain_graph/rebuilding_works",
            "values/values_survive_backward",
        })
        | SEVERAL,
        frozenset({"graphs/one_backward"}),
    ),
    Fault(
        "wipes what lies between leaves and output when it frees a graph",
        "tracel-ai/burn#3957",
        ClearsTheGraph,
        frozenset({
            "errors/failures_leave_values_alone",
            "dtypes/gradients_keep_the_dtype_of_their_leaf",
            "retain_graph/values_stay_usable",
            "values/values_survive_backward",
        })
        | GRAPHS,
    ),
)
