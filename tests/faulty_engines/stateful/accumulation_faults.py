"""Mistakes that lose, double or mix up what arrives at leaves and on the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.autograd import _accumulate as accumulate
from refgrad.engine.autograd import _keep as keep
from refgrad.engine.autograd import backward
from refgrad.engine.autograd import seed_tensor as seed_of
from refgrad.engine.graph import sweep
from refgrad.engine.graph.node import AccumulateGrad, Contributions, GraphNode, Node
from refgrad.engine.graph.sweep import Cotangents, reachable
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

GRAD: Any = Tensor.grad


class Overwrites(OpenSweep):
    """The last contribution to a node replaces the others."""

    def send(self, parent: GraphNode, contribution: Any) -> None:
        self.pending[parent] = contribution


class KeepsTheFirst(OpenSweep):
    """The first contribution to a node is the only one."""

    def send(self, parent: GraphNode, contribution: Any) -> None:
        self.pending.setdefault(parent, contribution)


class AddsInPlace(OpenSweep):
    """What arrives later is added to the very array that an addition handed to both operands."""

    def send(self, parent: GraphNode, contribution: Any) -> None:
        total = self.pending.get(parent)
        if isinstance(total, np.ndarray) and total.flags.writeable:
            total += contribution
        else:
            super().send(parent, contribution)


class OneScratchBuffer(OpenSweep):
    """What nodes send lies in one buffer a shape."""

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        super().__init__(pending, retain=retain, recorded=recorded)
        self.buffers: dict[tuple[int, ...], Any] = {}

    def send(self, parent: GraphNode, contribution: Any) -> None:
        if isinstance(contribution, np.ndarray):
            buffer = self.buffers.setdefault(contribution.shape, np.empty_like(contribution))
            buffer[...] = contribution
            contribution = buffer
        super().send(parent, contribution)


def starts_from_what_was_left() -> AbstractContextManager[Any]:
    """Every node keeps its gradient, and the next backward adds to it."""
    left: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()

    class Stale(OpenSweep):
        def contributions(self, node: Node, cotangent: Any) -> Contributions:
            if self.recorded:
                return super().contributions(node, cotangent)
            left[node] = left[node] + cotangent if node in left else cotangent
            return super().contributions(node, left[node])

    return patch.object(autograd, "BackwardPass", Stale)


def walks_too_early() -> AbstractContextManager[Any]:
    """A node has its turn when it is found first, whatever else will be sent to it."""

    def found_first(roots: Any) -> list[Any]:
        found = list(dict.fromkeys(roots))
        for node in found:
            found.extend(dict.fromkeys(parent for parent in node.parents if parent not in found))
        return [node for node in found if not node.number] + [node for node in found[::-1] if node.number]

    return patch.object(sweep, "reachable", found_first)


def forgets_one_leaf() -> AbstractContextManager[Any]:
    """Of several leaves, the one that is found last goes without."""

    def without_last(roots: Any) -> list[Any]:
        order = reachable(roots)
        leaves = [node for node in order if not node.number]
        return [node for node in order if len(leaves) == 1 or node is not leaves[-1]]

    return patch.object(sweep, "reachable", without_last)


def replaces() -> AbstractContextManager[Any]:
    """A leaf's gradient is that of the last backward."""

    def replacing(totals: Any, *rest: Any) -> None:
        for holder in totals:
            holder.grad = None
        accumulate(totals, *rest)

    return patch.object(autograd, "_accumulate", replacing)


def shares() -> AbstractContextManager[Any]:
    """Leaves keep the arrays that arrive, whoever else has them, and add to them in place."""

    def adding(totals: dict[Any, Any], finished: OpenSweep, seeds: Any) -> None:
        if finished.recorded:
            accumulate(totals, finished, seeds)
            return
        arrays = {id(total): np.require(total, requirements="W") for total in totals.values()}
        for holder, total in totals.items():
            if holder.grad is None:
                holder.grad = Tensor(arrays[id(total)])
            else:
                holder.grad.shared_array()[...] += total
        keep(finished)

    return patch.object(autograd, "_accumulate", adding)


def loses_the_third() -> AbstractContextManager[Any]:
    """What the third backward sends to a leaf is lost."""
    calls: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def without_third(totals: dict[Any, Any], *rest: Any) -> None:
        for holder in totals:
            calls[holder] = calls.get(holder, 0) + 1
        accumulate({holder: total for holder, total in totals.items() if calls[holder] != 3}, *rest)

    return patch.object(autograd, "_accumulate", without_third)


def cannot_zero() -> AbstractContextManager[Any]:
    """A gradient that is set to None stays."""

    def kept(tensor: Tensor, value: Tensor | None) -> None:
        if value is not None:
            GRAD.fset(tensor, value)

    return patch.object(Tensor, "grad", property(GRAD.fget, kept))


@contextmanager
def zeroes_all() -> Iterator[None]:
    """When one leaf's gradient is set to None, those of all are."""
    leaves: WeakSet[AccumulateGrad] = WeakSet()
    made = AccumulateGrad.__init__

    def noted(leaf: AccumulateGrad, *given: Any) -> None:
        made(leaf, *given)
        leaves.add(leaf)

    def cleared(tensor: Tensor, value: Tensor | None) -> None:
        for leaf in leaves if value is None else ():
            leaf.grad = None
        GRAD.fset(tensor, value)

    forgetting = patch.object(Tensor, "grad", property(GRAD.fget, cleared))
    with patch.object(AccumulateGrad, "__init__", noted), forgetting:
        yield


def follows_memory() -> AbstractContextManager[Any]:
    """A gradient belongs to the array, and is lost when a write makes a new one."""
    overwrite = Tensor.overwrite

    def forgetting(tensor: Tensor, value: Any) -> None:
        overwrite(tensor, value)
        if isinstance(tensor.node, AccumulateGrad):
            tensor.node.grad = None

    return patch.object(Tensor, "overwrite", forgetting)


def seeds_are(chosen: Callable[..., Tensor]) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes a region in which seeds are made by another function of output, seed and position."""
    return lambda: patch.object(autograd, "seed_tensor", chosen)


def ones(output: Tensor, seed: Any, position: int) -> Tensor:
    """Ones, if the seed fits."""
    return Tensor(np.ones_like(seed_of(output, seed, position).array)[()])


def stretched(output: Tensor, seed: Any, position: int) -> Tensor:
    """The seed, broadcast or cut to the output's shape."""
    given = None if seed is None else Tensor(np.resize(seed.array, output.shape)[()])
    return seed_of(output, given, position)


def implicit(output: Tensor, seed: Any, position: int) -> Tensor:
    """Ones for a missing seed, whatever the output's shape."""
    return seed_of(output, Tensor(np.ones(output.shape)[()]) if seed is None else seed, position)


def positive(output: Tensor, seed: Any, position: int) -> Tensor:
    """The seed without its signs."""
    return Tensor(np.abs(seed_of(output, seed, position).array))


def remembered_seeds() -> AbstractContextManager[Any]:
    """A tensor's first seed is its seed in every later backward."""
    seeds: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def first(output: Tensor, seed: Any, position: int) -> Tensor:
        made = seeds.setdefault(output.node, seed_of(output, seed, position))
        return Tensor(made.array) if made.shape == output.shape else seed_of(output, seed, position)

    return patch.object(autograd, "seed_tensor", first)


def starts_anywhere() -> AbstractContextManager[Any]:
    """A backward from a constant does nothing, silently."""

    def lenient(tensors: Any, *rest: Any) -> None:
        if tensors.node is not None:
            backward(tensors, *rest)

    return patch.object(autograd, "backward", lenient)


STATEFUL_ACCUMULATION_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault("overwrites what other paths have sent", "karpathy/nn-zero-to-hero#52", sweeping(Overwrites)),
    StatefulFault("keeps what the first path sends only", "karpathy/micrograd 9fd9cc0", sweeping(KeepsTheFirst)),
    StatefulFault("adds in place to what both operands were handed", "rsokl/MyGrad 407b2764", sweeping(AddsInPlace)),
    StatefulFault("has one scratch buffer for cotangents", "pytorch/pytorch#119334", sweeping(OneScratchBuffer)),
    StatefulFault(
        "starts from what the last backward left on the way",
        "karpathy/micrograd pull request 102",
        starts_from_what_was_left,
    ),
    StatefulFault("walks over a node before all has arrived there", "karpathy/micrograd 9fd9cc0", walks_too_early),
    StatefulFault("forgets one of several leaves", "FluxML/Zygote 687b3756", forgets_one_leaf),
    StatefulFault("replaces the gradient in every backward", "chainer/chainer#1680", replaces),
    StatefulFault("lets leaves share the memory of their gradients", "Oneflow-Inc/oneflow#9497", shares),
    StatefulFault("loses what the third backward brings", "generic: a counter that wraps", loses_the_third),
    StatefulFault("cannot forget a gradient", "karpathy/micrograd pull request 102", cannot_zero),
    StatefulFault("forgets all gradients when one is to be forgotten", "generic: one list for all leaves", zeroes_all),
    StatefulFault(
        "forgets a gradient that is to become zeros",
        "PyTorch documentation: set_to_none is another thing than zeros",
        templates={"zero_grad_to_zeros": "setattr({leaf}, 'grad', None)"},
    ),
    StatefulFault("loses the gradient of a leaf that is written to", "FluxML/Zygote#1113", follows_memory),
    StatefulFault("takes every seed for ones", "chainer/chainer#1178", seeds_are(ones)),
    StatefulFault("loses the signs of seeds", "bugs of checkers: seeds of one pass it", seeds_are(positive)),
    StatefulFault("stretches seeds of another shape", "generic: a seed that is broadcast", seeds_are(stretched)),
    StatefulFault("takes a missing seed for ones", "MyGrad sums silently by design", seeds_are(implicit)),
    StatefulFault("uses a tensor's first seed for good", "generic: a cached seed", remembered_seeds),
    StatefulFault(
        "does nothing, silently, when asked to start from a constant",
        "PyTorch refuses: element 0 of tensors does not require grad",
        starts_anywhere,
    ),
)
