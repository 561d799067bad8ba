"""Rules about hooks, kept gradients and flags that can be taken out of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.graph.node import AccumulateGrad, Contributions, GraphNode, Handle, Node, Watch
from refgrad.engine.graph.sweep import Cotangents, is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]

REGISTER = Tensor.register_hook


class ShowsTotals(OpenSweep):
    """Hooks of leaves see what the leaf has gathered, this backward included."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        if not isinstance(node, AccumulateGrad) or node.grad is None:
            return super().observed(node, watch, cotangent)
        return super().observed(node, watch, cotangent + node.grad.array) - node.grad.array


class WritesAnswers(OpenSweep):
    """What a hook returns is written over what came, which others may have been handed, too."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        answer = super().observed(node, watch, cotangent)
        if isinstance(cotangent, np.ndarray) and cotangent.flags.writeable:
            cotangent[...] = answer
        return answer


class NotAtOutputs(OpenSweep):
    """Hooks of what a backward starts from are not called."""

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        super().__init__(pending, retain=retain, recorded=recorded)
        self.roots = set(pending)

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        return cotangent if node in self.roots else super().observed(node, watch, cotangent)


class KeepsAll(OpenSweep):
    """Every computed tensor keeps its gradient."""

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        node.watch = node.watch or Watch()
        node.watch.retains = True
        self.kept.append((node.watch, cotangent if self.recorded else Tensor(cotangent)))
        return super().contributions(node, cotangent)


def keeps_without_copy(finished: OpenSweep) -> None:
    """Keep the arrays that arrived, and add to them in place."""
    for watch, total in finished.kept:
        if watch.grad is None:
            watch.grad = total
        else:
            watch.grad.overwrite(watch.grad.array + total.array)


def answers_zeros() -> Region:
    """A hook that returns nothing returns zeros."""

    def register(tensor: Tensor, hook: Any) -> Handle:
        def answering(gradient: Tensor) -> Tensor:
            answer: Tensor | None = hook(gradient)
            return gradient * 0 if answer is None else answer

        return REGISTER(tensor, answering)

    return patch.object(Tensor, "register_hook", register)


def hooks_die_with_names() -> Region:
    """When a tensor's last name goes, so do its hooks."""

    def deleted(tensor: Tensor) -> None:
        node = getattr(tensor, "node", None)
        if node is not None and node.watch is not None:
            node.watch.hooks.clear()

    return patch.object(Tensor, "__del__", deleted, create=True)


@contextmanager
def calls_all_hooks() -> Iterator[None]:
    """Hooks that nothing arrives at are called with zeros."""
    hooked: list[Any] = []

    def register(tensor: Tensor, hook: Any) -> Handle:
        hooked.append(tensor.node)
        return REGISTER(tensor, hook)

    class Calling(OpenSweep):
        def to_leaves(self) -> None:
            super().to_leaves()
            for node in hooked:
                if node is not None and node not in self.arrived:
                    self.observed(node, node.watch, np.zeros(node.shape)[()])

    with patch.object(Tensor, "register_hook", register), patch.object(autograd, "BackwardPass", Calling):
        yield


REMOVALS_OF_HOOKS: tuple[StatefulFault, ...] = (
    StatefulFault(
        "shows hooks what a leaf has gathered", "PyTorch: another hook comes after that", sweeping(ShowsTotals)
    ),
    StatefulFault("writes what hooks return over what came", "Oneflow-Inc/oneflow#9497", sweeping(WritesAnswers)),
    StatefulFault("calls no hooks on outputs", "generic: the sweep begins behind them", sweeping(NotAtOutputs)),
    StatefulFault("calls hooks that nothing arrives at", "pytorch/pytorch#11751", calls_all_hooks),
    StatefulFault("takes nothing for zeros where a hook returns it", "generic: None is falsy", answers_zeros),
    StatefulFault("forgets hooks of tensors without a name", "generic: hooks of the tensor", hooks_die_with_names),
    StatefulFault("keeps the gradients of all computed tensors", "MyGrad keeps them by design", sweeping(KeepsAll)),
    StatefulFault(
        "adds to kept gradients in place",
        "Oneflow-Inc/oneflow#9497",
        lambda: patch.object(autograd, "_keep", keeps_without_copy),
    ),
    StatefulFault(
        "says that nothing requires grad inside of no_grad",
        "generic: the mode is asked",
        lambda: patch.object(Tensor, "requires_grad", property(lambda x: x.node is not None and is_grad_enabled())),
    ),
)
