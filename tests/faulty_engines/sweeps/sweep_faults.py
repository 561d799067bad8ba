"""Mistakes in how the sweep orders nodes, and joins what they send."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import GRAPHS, SEVERAL, Fault
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape, Tensor


class KeepsTheLast(Tape):
    """``=`` where ``+=`` is meant."""

    def join(self, total: Array, contribution: Array) -> Array:  # noqa: ARG002
        return contribution


class DropsTheThird(Tape):
    """Loses the third contribution that an operand receives."""

    def __init__(self) -> None:
        self.received: Counter[Node] = Counter()

    def root(self, output: Tensor) -> Node:
        self.received.clear()
        return super().root(output)

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        self.received[parent] += 1
        if self.received[parent] != 3:
            super().send(pending, parent, contribution)


class CountsAnOperandOnce(Tape):
    """Keys what a node sends by the operand."""

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        return dict(super().contributions(node, cotangent)).items()


class BreadthFirst(Tape):
    """Handles a node when the shortest path to it has been walked."""

    def order(self, root: Node) -> Iterable[Node]:
        nodes = dict.fromkeys([root])
        level: Sequence[Node] = [root]
        while level:
            level = list(dict.fromkeys(p for n in level for p in n.parents if p is not None and p not in nodes))
            nodes.update(dict.fromkeys(level))
        return sorted(nodes, key=lambda node: node.operator is None)


class Recurses(Tape):
    """Walks on from an operand each time that something arrives there, with all that has arrived so far."""

    def backward(self, output: Tensor, seed: Array | None = None, *, retain_graph: bool = False) -> None:
        root = self.root(output)
        totals = {root: self.seed(root, seed)}
        self.visit(root, totals)
        for node in self.order(root):
            if node.operator is None:
                self.deposit(node, totals[node])
            self.release(node, retain_graph=retain_graph)

    def visit(self, node: Node, totals: dict[Node, Array]) -> None:
        if node.operator is not None:
            for parent, contribution in self.contributions(node, totals[node]):
                self.send(totals, parent, contribution)
                self.visit(parent, totals)


class KeepsCotangents(Tape):
    """Starts the next backward from what was left at inner nodes."""

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        node.grad = cotangent if node.grad is None else np.asarray(node.grad + cotangent)
        return super().contributions(node, node.grad)


class StopsAtConstants(Tape):
    """Sends nothing on where one operand is a constant."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        right = super().pull(node, cotangent)
        return right if all(node.needs) else [None if share is None else np.zeros_like(share) for share in right]


class CountsUnusedResults(Tape):
    """Sends ones back from results of a leaf that the output does not depend on."""

    def __init__(self) -> None:
        self.uses: dict[Node, list[Node]] = defaultdict(list)
        self.walked: set[Node] = set()

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        node = super().record(operator, tensors, *result)
        for parent in node.parents:
            if parent is not None:
                self.uses[parent].append(node)
        return node

    def order(self, root: Node) -> Iterable[Node]:
        order = list(super().order(root))
        self.walked = set(order)
        return order

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        for node in self.uses[leaf]:
            if node not in self.walked and node.values is not None:
                for parent, share in self.contributions(node, np.ones(node.array.shape)):
                    cotangent = cotangent + share if parent is leaf else cotangent
        super().deposit(leaf, cotangent)


class ServesOneLeaf(Tape):
    """Takes the sweep to be over at the first leaf."""

    def order(self, root: Node) -> Iterable[Node]:
        order = list(super().order(root))
        first = next(node for node in order if node.operator is None)
        return [node for node in order if node.operator is not None or node is first]


class ForgetsTheRoot(Tape):
    """Looks for leaves behind the output only."""

    def order(self, root: Node) -> Iterable[Node]:
        return [] if root.operator is None else super().order(root)


SWEEP_FAULTS: tuple[Fault, ...] = (
    Fault(
        "keeps the last contribution at fan-out",
        "karpathy/nn-zero-to-hero#52",
        KeepsTheLast,
        frozenset({
            "rewrites/rewritten_expressions",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "sharing/diamond",
            "sharing/same_operand_twice",
            "sharing/fan_out_of_three",
            "sharing/chained_diamonds",
            "sharing/uneven_paths",
            "sharing/operands_of_one_sum",
        })
        | GRAPHS,
    ),
    Fault(
        "drops the third contribution at fan-out",
        "generic: two contributions work by luck",
        DropsTheThird,
        frozenset({"rewrites/rewritten_expressions", "sharing/fan_out_of_three"}) | GRAPHS,
    ),
    Fault(
        "counts an operand that is given twice once",
        "karpathy/micrograd, early history",
        CountsAnOperandOnce,
        frozenset({
            "rewrites/rewritten_expressions",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "sharing/same_operand_twice",
        })
        | GRAPHS,
    ),
    Fault(
        "handles nodes breadth first",
        "HIPS/autograd 677af2e",
        BreadthFirst,
        frozenset({"rewrites/rewritten_expressions", "sharing/uneven_paths", "sharing/operands_of_one_sum"}) | GRAPHS,
    ),
    Fault(
        "recurses without remembering what it has visited",
        "karpathy/micrograd 9fd9cc0",
        Recurses,
        frozenset({
            "rewrites/rewritten_expressions",
            "sharing/diamond",
            "sharing/same_operand_twice",
            "sharing/fan_out_of_three",
            "sharing/chained_diamonds",
            "sharing/uneven_paths",
            "sharing/operands_of_one_sum",
        })
        | GRAPHS,
    ),
    Fault(
        "keeps the cotangents of inner nodes for the next backward",
        "karpathy/micrograd pull request 102",
        KeepsCotangents,
        frozenset({
            "retain_graph/keeping_is_said_each_time",
            "retain_graph/only_what_was_walked_is_freed",
            "accumulation/five_calls",
            "accumulation/chunks_equal_the_batch",
            "accumulation/losses_in_either_order",
            "retain_graph/retained_graph_works_again",
            "retain_graph/nothing_saved_nothing_freed",
            "seeds/seeds_differ_between_calls",
        })
        | SEVERAL,
    ),
    Fault(
        "stops where an operand is a constant",
        "tinygrad/tinygrad#3037",
        StopsAtConstants,
        frozenset({
            "rewrites/rewritten_expressions",
            "retain_graph/deleted_names_change_nothing",
            "retain_graph/reused_products_fail_in_the_second_iteration",
            "leaves/constants_stop_gradients",
            "operators/where",
        })
        | GRAPHS,
    ),
    Fault(
        "counts results that the output does not depend on",
        "generic: a sweep over all that was recorded",
        CountsUnusedResults,
        frozenset({
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "accumulation/adds_across_calls",
            "accumulation/leaves_do_not_share_memory",
            "sharing/unused_branch",
        })
        | GRAPHS,
    ),
    Fault(
        "serves one leaf",
        "FluxML/Zygote.jl 687b3756",
        ServesOneLeaf,
        frozenset({
            "rewrites/rewritten_expressions",
            "accumulation/zeroing_one_leaves_the_others",
            "leaves/conditions_get_no_gradient",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/gradients_keep_the_dtype_of_their_leaf",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "accumulation/leaves_do_not_share_memory",
            "leaves/every_leaf_is_served",
            "sharing/operands_of_one_sum",
        })
        | GRAPHS,
    ),
    Fault(
        "gives nothing to a leaf that is the output",
        "generic: the shortest graph",
        ForgetsTheRoot,
        frozenset({"leaves/leaf_as_output"}),
    ),
)
