"""Rules about what a backward meets, sends, frees and leaves behind that can be taken out of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.autograd import _swept as swept
from refgrad.engine.autograd import seed_tensor as seed_of
from refgrad.engine.graph.node import AccumulateGrad, Contributions, GraphNode, Node
from refgrad.engine.graph.sweep import RECORDING, Cotangents, reachable
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]

MADE = AccumulateGrad.__init__


class LeavesAreNoOutputs(OpenSweep):
    """A backward from a leaf gives the leaf nothing."""

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        super().__init__(pending, retain=retain, recorded=recorded)
        self.roots = set(pending)

    def arrive(self, nodes: Iterable[GraphNode]) -> None:
        super().arrive(node for node in nodes if node not in self.roots)


class StopsAtConstants(OpenSweep):
    """Where an operand is a constant, nothing is sent to the others either."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        return super().contributions(node, cotangent) if all(node.needs) else []


class StopsAtConditions(OpenSweep):
    """Where an operand has no gradient by nature, nothing is sent to the others either."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        return [] if node.name() == "WhereBackward0" else super().contributions(node, cotangent)


class Float64Only(OpenSweep):
    """Gradients are float64, whatever their tensors are."""

    def arrival(self, node: GraphNode, cotangent: Any) -> Any:
        return super().arrival(node, cotangent).astype(np.float64)


class ResultsAreConstants(OpenSweep):
    """The rules are recorded, but what results were saved as has no history."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        kind = type(node)
        with patch.object(kind, "saves", tuple("saved" if name == "out" else name for name in node.saves)):
            return super().contributions(node, cotangent)


def fails_once() -> Region:
    """A freed node fails once; then it sends nothing."""
    failed: WeakSet[Node] = WeakSet()

    class Forgetting(OpenSweep):
        def verify(self, node: Node) -> None:
            if node not in failed:
                if node.values is None:
                    failed.add(node)
                super().verify(node)

        def contributions(self, node: Node, cotangent: Any) -> Contributions:
            return [] if node in failed else super().contributions(node, cotangent)

    return patch.object(autograd, "BackwardPass", Forgetting)


def keeps_for_good() -> Region:
    """A graph that was kept once is kept by every later backward."""
    kept: WeakSet[Node] = WeakSet()

    class Keeping(OpenSweep):
        def release(self, node: Node) -> None:
            if self.retain:
                kept.add(node)
            if node not in kept:
                super().release(node)

    return patch.object(autograd, "BackwardPass", Keeping)


def made(change: Callable[[AccumulateGrad], None]) -> Region:
    """Return a region in which something is done to every leaf that is made to require grad."""

    def changed(leaf: AccumulateGrad, *given: Any) -> None:
        MADE(leaf, *given)
        change(leaf)

    return patch.object(AccumulateGrad, "__init__", changed)


def begins_with_ones() -> Region:
    """Leaves have gradients of ones from the beginning."""

    def begin(leaf: AccumulateGrad) -> None:
        leaf.grad = Tensor(np.ones(leaf.shape, leaf.dtype)[()])

    return made(begin)


@contextmanager
def serves_every_leaf() -> Iterator[None]:
    """Leaves that the output does not depend on get ones."""
    leaves: WeakSet[AccumulateGrad] = WeakSet()

    class Serving(OpenSweep):
        def to_leaves(self) -> None:
            super().to_leaves()
            self.arrived |= {leaf: np.ones(leaf.shape)[()] for leaf in leaves if leaf not in self.arrived}

    with made(leaves.add), patch.object(autograd, "BackwardPass", Serving):
        yield


def seeded(seed: Callable[[Tensor, Any, int], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which seeds are made by another function."""
    return lambda: patch.object(autograd, "seed_tensor", seed)


def asked_of_all(output: Tensor, seed: Any, position: int) -> Tensor:
    """Refuse to start without a seed."""
    if seed is None:
        raise RuntimeError("grad can be implicitly created for no outputs")
    return seed_of(output, seed, position)


def asked_of_arrays(output: Tensor, seed: Any, position: int) -> Tensor:
    """Refuse to start without a seed from anything but a 0-d array."""
    return asked_of_all(output, seed, position) if output.ndim else seed_of(output, seed, position)


def refused_too_late(output: Tensor, seed: Any, position: int) -> Tensor:
    """Free the graph, and then find that the seed does not fit."""
    try:
        return seed_of(output, seed, position)
    except RuntimeError:
        for node in reachable([output.node] if output.node else []):
            if isinstance(node, Node) and node.values:
                node.values = None
        raise


def failing(clean_up: Callable[[list[Tensor]], object]) -> Callable[[], Region]:
    """Return what makes a region in which something is done to the outputs of a backward that fails."""

    def sweep(outputs: list[Tensor], *given: Any) -> Any:
        try:
            return swept(outputs, *given)
        except RuntimeError:
            clean_up(outputs)
            raise

    return lambda: patch.object(autograd, "_swept", sweep)


def spoiled(outputs: list[Tensor]) -> None:
    """Change the value of what a backward started from."""
    for output in outputs:
        output.array = np.zeros_like(output.array)


REMOVALS_OF_SWEEPS: tuple[StatefulFault, ...] = (
    StatefulFault(
        "gives nothing to a leaf that it starts from", "generic: the shortest graph", sweeping(LeavesAreNoOutputs)
    ),
    StatefulFault("stops where an operand is a constant", "generic: one None for all", sweeping(StopsAtConstants)),
    StatefulFault("stops where an operand is a condition", "tinygrad/tinygrad#3037", sweeping(StopsAtConditions)),
    StatefulFault("makes every gradient float64", "generic: an array of the default dtype", sweeping(Float64Only)),
    StatefulFault("takes results that it saved for constants", "pytorch/pytorch#186256", sweeping(ResultsAreConstants)),
    StatefulFault("says once that a graph was freed", "generic: a mark that is cleared", fails_once),
    StatefulFault("keeps for good what was kept once", "generic: a flag of the node", keeps_for_good),
    StatefulFault("begins with gradients of ones", "generic: memory that is not cleared", begins_with_ones),
    StatefulFault(
        "serves leaves that the output does not depend on", "generic: a list of all leaves", serves_every_leaf
    ),
    StatefulFault("asks for a seed of every output", "chainer/chainer#1680", seeded(asked_of_all)),
    StatefulFault("asks for a seed of every array", "PyTorch: numel, not ndim, decides", seeded(asked_of_arrays)),
    StatefulFault(
        "frees a graph and then looks at the seed", "generic: checks come too late", seeded(refused_too_late)
    ),
    StatefulFault(
        "records nothing after a backward that failed",
        "generic: a mode is not restored",
        failing(lambda _: RECORDING.set(False)),
    ),
    StatefulFault("spoils the output of a backward that fails", "generic: half of an update", failing(spoiled)),
    StatefulFault(
        "loses touch with a leaf whose gradient is reset",
        "MyGrad clears the graph with the gradient",
        templates={"zero_grad": "setattr({leaf}, 'node', type({leaf}.node)({leaf}.shape, {leaf}.dtype))"},
    ),
    StatefulFault(
        "leaves tangents in leaves",
        "generic: one field for both",
        templates={
            "jvp": "(jvp({function}, {primals}, {tangents}), "
            "[setattr(x, 'grad', v) for x, v in zip({primals}, {tangents})])[0]"
        },
    ),
)
