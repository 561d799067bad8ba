"""Mistakes in what enters a backward, what it leaves in leaves, and what it frees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import SEVERAL, Fault
from tests.faulty_engines.tapes.tape import Array, Node, Tape, Tensor


class IgnoresSeeds(Tape):
    """Every backward starts from ones."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.ones_like(super().seed(root, seed))


class LosesSigns(Tape):
    """Seeds lose their signs."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.abs(super().seed(root, seed))


class BroadcastsSeeds(Tape):
    """A seed of another shape is made to fit."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        shape = root.array.shape
        if seed is not None and seed.shape != shape:
            seed = np.resize(seed, shape)
        return super().seed(root, seed)


class StartsFromOnes(Tape):
    """A backward from a non-scalar needs no seed."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.ones(root.array.shape) if seed is None else super().seed(root, seed)


class StartsAnywhere(Tape):
    """A backward from a constant does nothing, silently."""

    def root(self, output: Tensor) -> Node:
        return Node(output.array) if output.node is None else output.node


class Replaces(Tape):
    """A leaf's gradient is that of the last backward."""

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        leaf.grad = cotangent.copy()


class CannotZero(Tape):
    """A leaf remembers what it was told to forget."""

    def __init__(self) -> None:
        self.totals: dict[Node, Array] = {}

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        leaf.grad = self.totals.get(leaf)
        super().deposit(leaf, cotangent)
        assert leaf.grad is not None
        self.totals[leaf] = leaf.grad


class ZeroesByItself(Tape):
    """A leaf that is used again loses its gradient."""

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        for tensor in tensors:
            tensor.zero_grad()
        return super().record(operator, tensors, *result)


class AlwaysFrees(Tape):
    """``retain_graph`` is not looked at."""

    def release(self, node: Node, *, retain_graph: bool) -> None:  # noqa: ARG002
        super().release(node, retain_graph=False)


class NeverFrees(Tape):
    """A second backward goes through, retained or not."""

    def release(self, node: Node, *, retain_graph: bool) -> None:
        """Keep everything."""


class SilentlyZero(Tape):
    """What was freed sends zeros."""

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        if node.values is not None:
            return super().contributions(node, cotangent)
        return [(parent, np.zeros(parent.array.shape)) for parent in node.parents if parent is not None]


class LooksAtTheRoot(Tape):
    """Only the output is asked whether its graph is still there; the rest lives on."""

    def __init__(self) -> None:
        self.freed: set[Node] = set()

    def root(self, output: Tensor) -> Node:
        root = super().root(output)
        if root in self.freed:
            raise RuntimeError("Trying to backward through the graph a second time")
        return root

    def release(self, node: Node, *, retain_graph: bool) -> None:
        if not retain_graph and node.values:
            self.freed.add(node)


class FreesShared(Tape):
    """What two results share is freed, kept graph or not."""

    def __init__(self) -> None:
        self.uses: Counter[Node] = Counter()

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        node = super().record(operator, tensors, *result)
        self.uses.update({parent for parent in node.parents if parent is not None})
        return node

    def release(self, node: Node, *, retain_graph: bool) -> None:
        super().release(node, retain_graph=retain_graph and self.uses[node] < 2)


class FreesTooMuch(Tape):
    """Nodes that saved nothing are freed too."""

    def release(self, node: Node, *, retain_graph: bool) -> None:
        if not retain_graph and node.operator is not None:
            node.values = None


LIFECYCLE_FAULTS: tuple[Fault, ...] = (
    Fault(
        "ignores seeds",
        "chainer/chainer#1178",
        IgnoresSeeds,
        frozenset({
            "errors/refused_seeds_leave_everything_as_it_was",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/gradients_keep_the_dtype_of_their_leaf",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "seeds/seed_is_used",
            "seeds/scalar_may_be_seeded",
            "seeds/negative_and_zero_seeds",
            "seeds/seeds_differ_between_calls",
        }),
    ),
    Fault(
        "loses the sign of seeds",
        "bugs of checkers: seeds of one pass it",
        LosesSigns,
        frozenset({
            "errors/refused_seeds_leave_everything_as_it_was",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "seeds/seed_is_used",
            "seeds/negative_and_zero_seeds",
            "seeds/seeds_differ_between_calls",
        }),
    ),
    Fault(
        "stretches seeds of another shape",
        "generic: a seed that is broadcast",
        BroadcastsSeeds,
        frozenset({"errors/refused_seeds_leave_everything_as_it_was", "seeds/seed_shape_must_match"}),
    ),
    Fault(
        "takes a missing seed for ones",
        "MyGrad sums silently by design; PyTorch refuses",
        StartsFromOnes,
        frozenset({"errors/refused_seeds_leave_everything_as_it_was", "seeds/non_scalar_needs_a_seed"}),
    ),
    Fault(
        "does nothing, silently, when asked to start from a constant",
        "PyTorch refuses: element 0 of tensors does not require grad",
        StartsAnywhere,
        frozenset({"leaves/no_graph_is_an_error"}),
    ),
    Fault(
        "replaces the gradient in every backward",
        "chainer/chainer#1680",
        Replaces,
        frozenset({
            "retain_graph/keeping_is_said_each_time",
            "retain_graph/only_what_was_walked_is_freed",
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "dtypes/mixed_dtypes_return_to_their_leaves",
            "accumulation/adds_across_calls",
            "accumulation/five_calls",
            "accumulation/chunks_equal_the_batch",
            "accumulation/losses_in_either_order",
            "accumulation/leaves_do_not_share_memory",
            "retain_graph/rebuilding_works",
            "retain_graph/nothing_saved_nothing_freed",
        })
        | SEVERAL,
    ),
    Fault(
        "remembers gradients that were zeroed",
        "karpathy/micrograd pull request 102",
        CannotZero,
        frozenset({
            "accumulation/zeroing_may_come_after_the_forward",
            "errors/a_new_graph_works_after_a_failure",
            "accumulation/zeroing_forgets",
            "retain_graph/retained_graph_works_again",
            "seeds/seeds_differ_between_calls",
        }),
    ),
    Fault(
        "zeroes the gradient of a leaf that is used again",
        "MyGrad nulls gradients when a tensor is used again",
        ZeroesByItself,
        frozenset({
            "contracts/gradients_of_leaves_are_apart",
            "contracts/seeds_stay_as_they_are",
            "accumulation/leaves_do_not_share_memory",
            "retain_graph/rebuilding_works",
        })
        | SEVERAL,
    ),
    Fault(
        "frees graphs that should be kept",
        "generic: retain_graph is not looked at",
        AlwaysFrees,
        frozenset({
            "retain_graph/keeping_is_said_each_time",
            "accumulation/five_calls",
            "accumulation/chunks_equal_the_batch",
            "accumulation/losses_in_either_order",
            "retain_graph/retained_graph_works_again",
            "seeds/seeds_differ_between_calls",
        })
        | SEVERAL,
    ),
    Fault(
        "never frees a graph, nor says so",
        "PyTorch refuses: Trying to backward through the graph a second time",
        NeverFrees,
        frozenset({
            "errors/a_new_graph_works_after_a_failure",
            "errors/failures_last",
            "errors/failures_leave_values_alone",
            "retain_graph/carried_states_meet_the_freed_graph",
            "retain_graph/keeping_is_said_each_time",
            "retain_graph/reused_products_fail_in_the_second_iteration",
            "retain_graph/freed_graph_is_an_error",
            "retain_graph/shared_subgraph_is_freed",
        }),
    ),
    Fault(
        "sends zeros through a freed graph",
        "PyTorch refuses: Trying to backward through the graph a second time",
        SilentlyZero,
        frozenset({
            "errors/a_new_graph_works_after_a_failure",
            "errors/failures_last",
            "errors/failures_leave_values_alone",
            "retain_graph/carried_states_meet_the_freed_graph",
            "retain_graph/keeping_is_said_each_time",
            "retain_graph/reused_products_fail_in_the_second_iteration",
            "retain_graph/freed_graph_is_an_error",
            "retain_graph/shared_subgraph_is_freed",
        }),
    ),
    Fault(
        "looks at the output only to see whether a graph was freed",
        "PyTorch forum, Trying to backward through the graph a second time",
        LooksAtTheRoot,
        frozenset({
            "errors/failures_last",
            "errors/failures_leave_values_alone",
            "retain_graph/carried_states_meet_the_freed_graph",
            "retain_graph/reused_products_fail_in_the_second_iteration",
            "retain_graph/freed_graph_is_an_error",
            "retain_graph/shared_subgraph_is_freed",
        }),
    ),
    Fault(
        "frees what two results share, though the graph is to be kept",
        "tracel-ai/burn#3957",
        FreesShared,
        frozenset({"accumulation/chunks_equal_the_batch", "accumulation/losses_in_either_order"}) | SEVERAL,
    ),
    Fault(
        "frees nodes that saved nothing",
        "MyGrad clears every node that it has walked",
        FreesTooMuch,
        frozenset({"retain_graph/only_what_was_walked_is_freed", "retain_graph/nothing_saved_nothing_freed"}),
    ),
)
