"""Mistakes that free what should stay, keep what should go, or spoil what was saved."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np

from refgrad.engine import autograd, errors
from refgrad.engine.autograd import _swept as swept
from refgrad.engine.graph.node import Contributions, Node
from refgrad.engine.graph.sweep import Cotangents
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault


class AlwaysFrees(OpenSweep):
    """``retain_graph`` is not looked at."""

    def release(self, node: Node) -> None:
        if node.values:
            node.values = None


class NeverFrees(OpenSweep):
    """Everything is kept."""

    def release(self, node: Node) -> None:
        """Keep it."""


class FreesTheRoot(OpenSweep):
    """Only the node that a backward starts from is freed."""

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        super().__init__(pending, retain=retain, recorded=recorded)
        self.roots = set(pending)

    def release(self, node: Node) -> None:
        if node in self.roots:
            super().release(node)


class KeepsTheRoot(FreesTheRoot):
    """Of a graph that is to be kept, only the node that a backward starts from is."""

    def release(self, node: Node) -> None:
        if node.values and node not in self.roots:
            node.values = None
        super().release(node)


class FreesWhatIsShared(OpenSweep):
    """What sends to a node that others send to as well is freed, kept graph or not."""

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        super().__init__(pending, retain=retain, recorded=recorded)
        self.met: set[Any] = set()
        self.shared: set[Any] = set()

    def send(self, parent: Any, contribution: Any) -> None:
        if parent in self.pending:
            self.shared.add(parent)
        super().send(parent, contribution)

    def release(self, node: Node) -> None:
        if node.values and node in self.shared:
            node.values = None
        super().release(node)


class FreesTooMuch(OpenSweep):
    """Nodes that saved nothing are freed too."""

    def release(self, node: Node) -> None:
        if not self.retain:
            node.values = None


class SendsZeros(OpenSweep):
    """What was freed sends zeros."""

    def verify(self, node: Node) -> None:
        if node.values is not None:
            super().verify(node)

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        if node.values is not None:
            return super().contributions(node, cotangent)
        zeros = [np.zeros(parent.shape, parent.dtype)[()] for parent in node.parents]
        return [(p, Tensor(z) if self.recorded else z) for p, z in zip(node.parents, zeros, strict=True)]


class SkipsWhatWasFreed(OpenSweep):
    """What was freed sends nothing."""

    def verify(self, node: Node) -> None:
        if node.values is not None:
            super().verify(node)

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        return [] if node.values is None else super().contributions(node, cotangent)


class SpoilsWhatItSaved(OpenSweep):
    """The rule of exp leaves its saved result multiplied with the cotangent."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        found = super().contributions(node, cotangent)
        if node.name() == "ExpBackward0" and not self.recorded:
            ((_, product),) = found
            node.values = (product,)
        return found


class WipesWhatItFrees(OpenSweep):
    """Freed arrays are zeroed, though they are the values of tensors that are still there."""

    def release(self, node: Node) -> None:
        if not self.retain and node.name() != "AccumulateGrad":
            for value in node.values or ():
                if isinstance(value, np.ndarray):
                    value.fill(0)
        super().release(node)


def frees_with_create_graph() -> AbstractContextManager[Any]:
    """A recorded gradient frees the graph that it is made of."""

    def freeing(outputs: Any, seeds: Any, retain_graph: Any, create_graph: Any, targets: Any) -> Any:
        return swept(outputs, seeds, False if create_graph else retain_graph, create_graph, targets)

    return patch.object(autograd, "_swept", freeing)


def frees_with_deleted_names() -> AbstractContextManager[Any]:
    """When a tensor's last name goes, so does what its node saved."""

    def deleted(tensor: Tensor) -> None:
        node = getattr(tensor, "node", None)
        if isinstance(node, Node) and node.values:
            node.values = None

    return patch.object(Tensor, "__del__", deleted, create=True)


def says_overwritten() -> AbstractContextManager[Any]:
    """A freed graph is reported as an overwritten one."""
    return patch.object(errors, "FREED", errors.overwritten("{node}", "out", 1))


STATEFUL_RELEASE_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault("frees graphs that should be kept", "generic: retain_graph is not looked at", sweeping(AlwaysFrees)),
    StatefulFault(
        "never frees a graph, nor says so",
        "PyTorch refuses: Trying to backward through the graph a second time",
        sweeping(NeverFrees),
    ),
    StatefulFault("frees the output's node only", "PyTorch forum, loss.backward() twice", sweeping(FreesTheRoot)),
    StatefulFault("keeps the output's node only", "generic: retain_graph is not passed on", sweeping(KeepsTheRoot)),
    StatefulFault("frees what several results share, kept or not", "tracel-ai/burn#3957", sweeping(FreesWhatIsShared)),
    StatefulFault("frees nodes that saved nothing", "MyGrad clears every node that it walks", sweeping(FreesTooMuch)),
    StatefulFault(
        "sends zeros through a freed graph",
        "PyTorch refuses: Trying to backward through the graph a second time",
        sweeping(SendsZeros),
    ),
    StatefulFault("leaves out what was freed", "tracel-ai/burn#3982", sweeping(SkipsWhatWasFreed)),
    StatefulFault("spoils a saved result in its first backward", "chainer/chainer#2062", sweeping(SpoilsWhatItSaved)),
    StatefulFault("wipes the values of what it frees", "tracel-ai/burn#3957", sweeping(WipesWhatItFrees)),
    StatefulFault("frees the graph that a gradient is recorded of", "ekmett/ad#12", frees_with_create_graph),
    StatefulFault(
        "frees what a deleted tensor's node has saved",
        "PyTorch documentation: deleting a name changes nothing that backward needs",
        frees_with_deleted_names,
    ),
    StatefulFault("calls a freed graph an overwritten one", "generic: the wrong error", says_overwritten),
)
