"""Mistakes where gradients are recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import refgrad.engine
from refgrad.engine import autograd
from refgrad.engine.autograd import _swept as swept
from refgrad.engine.autograd import grad
from refgrad.engine.graph.node import Contributions, Node
from refgrad.engine.graph.sweep import is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]


class SavedAreConstants(OpenSweep):
    """The rules are recorded, but what operands were saved as has no history."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        kind = type(node)
        sources = getattr(kind, "sources", ())
        with patch.object(kind, "sources", (None,) * len(sources)):
            return super().contributions(node, cotangent)


class CotangentsAreConstants(OpenSweep):
    """The rules are recorded, but what arrives has no history."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        return super().contributions(node, cotangent.detach() if self.recorded else cotangent)


class ContributionsAreConstants(OpenSweep):
    """What joins a contribution that was there is a constant."""

    def send(self, parent: Any, contribution: Any) -> None:
        joins = self.recorded and parent in self.pending
        super().send(parent, contribution.detach() if joins else contribution)


def returning(change: Any) -> Any:
    """Return what makes a region in which ``grad`` returns something else, given its results and arguments."""

    def other(output: Any, leaf: Any, *given: Any, **named: Any) -> Any:
        return (change(grad(output, leaf, *given, **named)[0], leaf),)

    return lambda: patch.object(refgrad.engine, "grad", other)


def deposited(gradient: Tensor, leaf: Tensor) -> Tensor:
    """Add to the leaf's own gradient, too."""
    leaf.grad = gradient.detach().clone() if leaf.grad is None else leaf.grad + gradient.detach()
    return gradient


def taken(gradient: Tensor, leaf: Tensor) -> Tensor:
    """Clear the leaf's own gradient."""
    leaf.grad = None
    return gradient


def added(gradient: Tensor, leaf: Tensor) -> Tensor:
    """Add what the leaf's own gradient is."""
    return gradient if leaf.grad is None else gradient + leaf.grad.detach()


def cut_off(gradient: Tensor, _: Tensor) -> Tensor:
    """Forget how it was computed."""
    return gradient.detach()


def new_leaf(gradient: Tensor, _: Tensor) -> Tensor:
    """Begin a new graph."""
    return gradient.detach().requires_grad_() if gradient.requires_grad else gradient


def records_only_where_all_does() -> Region:
    """Inside of no_grad, gradients are not recorded, though that was asked for."""

    def asking(outputs: Any, seeds: Any, retain_graph: Any, create_graph: bool, targets: Any) -> Any:  # noqa: FBT001
        return swept(outputs, seeds, retain_graph or create_graph, create_graph and is_grad_enabled(), targets)

    return patch.object(autograd, "_swept", asking)


STATEFUL_GRADIENT_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault(
        "takes what it saved for constants when it records gradients",
        "pytorch/pytorch#186256",
        sweeping(SavedAreConstants),
    ),
    StatefulFault(
        "takes cotangents for constants when it records gradients", "ekmett/ad#12", sweeping(CotangentsAreConstants)
    ),
    StatefulFault(
        "takes all but the first contribution for constants when it records gradients",
        "HIPS/autograd 677af2e",
        sweeping(ContributionsAreConstants),
    ),
    StatefulFault(
        "adds recorded gradients to leaves, too",
        "PyTorch documentation: grad does not accumulate",
        returning(deposited),
    ),
    StatefulFault("clears a leaf's gradient when it records another", "generic: one field for both", returning(taken)),
    StatefulFault(
        "adds a leaf's gradient to a recorded one", "PyTorch documentation: grad does not accumulate", returning(added)
    ),
    StatefulFault("forgets how a gradient was computed", "PyTorch documentation: create_graph", returning(cut_off)),
    StatefulFault("begins a new graph with every recorded gradient", "ekmett/ad#12", returning(new_leaf)),
    StatefulFault(
        "records no gradients inside of no_grad", "PyTorch documentation: create_graph", records_only_where_all_does
    ),
)
