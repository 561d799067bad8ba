"""Mistakes that show a gradient to a hook, or keep it, at the wrong time or in the wrong form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from refgrad.engine import autograd
from refgrad.engine.autograd import _keep as keep
from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Handle, Node, Watch
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]


class HooksEveryContribution(OpenSweep):
    """Hooks see what arrives, one after the other, instead of the total."""

    def send(self, parent: GraphNode, contribution: Any) -> None:
        super().send(parent, self.arrival(parent, contribution))

    def arrive(self, nodes: Any) -> None:
        for node in nodes:
            if node in self.pending:
                self.arrived[node] = self.pending.pop(node)

    def meet(self, node: Node, cotangent: Any) -> Any:
        self.arrived[node] = cotangent
        return cotangent


class ShowsTwice(OpenSweep):
    """Hooks of what is used twice are called twice."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.joined: set[GraphNode] = set()

    def send(self, parent: GraphNode, contribution: Any) -> None:
        if parent in self.pending:
            self.joined.add(parent)
        super().send(parent, contribution)

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        total = super().observed(node, watch, cotangent)
        return super().observed(node, watch, total) if node in self.joined else total


class IgnoresAnswers(OpenSweep):
    """What a hook returns changes nothing."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        super().observed(node, watch, cotangent)
        return cotangent


class AnswersStay(OpenSweep):
    """What a hook of a computed tensor returns goes no further than that tensor."""

    def meet(self, node: Node, cotangent: Any) -> Any:
        super().meet(node, cotangent)
        return cotangent


class AddsAnswers(OpenSweep):
    """What a hook returns is added to the gradient."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        total = super().observed(node, watch, cotangent)
        return cotangent if total is cotangent else total + cotangent


class SkipsLeaves(OpenSweep):
    """Hooks on leaves are not called."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        return cotangent if isinstance(node, AccumulateGrad) else super().observed(node, watch, cotangent)


class LeavesOnly(OpenSweep):
    """Hooks on computed tensors are not called."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        return super().observed(node, watch, cotangent) if isinstance(node, AccumulateGrad) else cotangent


class LastFirst(OpenSweep):
    """Hooks are called in the reverse order."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        ordered = dict(watch.hooks)
        watch.hooks.clear()
        watch.hooks.update(reversed(ordered.items()))
        total = super().observed(node, watch, cotangent)
        watch.hooks.clear()
        watch.hooks.update(ordered)
        return total


class FirstHookOnly(OpenSweep):
    """Of several hooks on a tensor, the first is called."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        others = dict(list(watch.hooks.items())[1:])
        for key in others:
            del watch.hooks[key]
        total = super().observed(node, watch, cotangent)
        watch.hooks.update(others)
        return total


class ShowsAllTheSame(OpenSweep):
    """Every hook sees the gradient as it came, whatever those before it returned."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        hooks = dict(watch.hooks)
        total = cotangent
        for key, hook in hooks.items():
            watch.hooks.clear()
            watch.hooks[key] = hook
            total = super().observed(node, watch, cotangent)
        watch.hooks.clear()
        watch.hooks.update(hooks)
        return total if hooks else super().observed(node, watch, cotangent)


class HooksOnce(OpenSweep):
    """A hook is forgotten once it was called."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        total = super().observed(node, watch, cotangent)
        watch.hooks.clear()
        return total


class NotWhenRecording(OpenSweep):
    """Hooks are not called where a gradient is recorded."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        return cotangent if self.recorded else super().observed(node, watch, cotangent)


class KeepsBeforeHooks(OpenSweep):
    """A kept gradient is that before the tensor's hooks."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        count = len(self.kept)
        total = super().observed(node, watch, cotangent)
        if len(self.kept) > count:
            self.kept[-1] = (watch, cotangent if self.recorded else Tensor(cotangent))
        return total


class KeepsTheFirst(OpenSweep):
    """A kept gradient is what arrives first."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.first: dict[GraphNode, Any] = dict(self.pending)

    def send(self, parent: GraphNode, contribution: Any) -> None:
        self.first.setdefault(parent, contribution)
        super().send(parent, contribution)

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        count = len(self.kept)
        total = super().observed(node, watch, cotangent)
        if len(self.kept) > count:
            first = self.first[node]
            self.kept[-1] = (watch, first if self.recorded else Tensor(first))
        return total


def keeping(kept: Callable[[OpenSweep], None]) -> Callable[[], Region]:
    """Return what makes a region in which kept gradients are stored by another function."""
    return lambda: patch.object(autograd, "_keep", kept)


def nothing(_: OpenSweep) -> None:
    """Store nothing."""


def the_last(finished: OpenSweep) -> None:
    """Replace what was kept before."""
    for watch, _ in finished.kept:
        watch.grad = None
    keep(finished)


def once(finished: OpenSweep) -> None:
    """Store the first only."""
    finished.kept = [(watch, total) for watch, total in finished.kept if watch.grad is None]
    keep(finished)


def removing(remove: Callable[[Handle], None]) -> Callable[[], Region]:
    """Return what makes a region in which handles take hooks away by another method."""
    return lambda: patch.object(Handle, "remove", remove)


def not_removed(_: Handle) -> None:
    """Take nothing away."""


def all_removed(handle: Handle) -> None:
    """Take all of the tensor's hooks away."""
    handle.hooks.clear()


def first_removed(handle: Handle) -> None:
    """Take the tensor's first hook away."""
    for key in list(handle.hooks)[:1]:
        del handle.hooks[key]


def one_hook_each() -> Region:
    """A new hook takes the place of the one that was there."""
    made = Handle.__init__

    def replacing(handle: Handle, hooks: Any, hook: Any) -> None:
        hooks.clear()
        made(handle, hooks, hook)

    return patch.object(Handle, "__init__", replacing)


def numbered_by_count() -> Region:
    """A hook's number is how many there are, so that it may take the place of another."""

    def made(handle: Handle, hooks: Any, hook: Any) -> None:
        handle.hooks, handle.key = hooks, len(hooks)
        hooks[handle.key] = hook

    return patch.object(Handle, "__init__", made)


def numbered_by_highest() -> Region:
    """A hook's number is one more than the highest, so that it may be that of a hook which is gone."""

    def made(handle: Handle, hooks: Any, hook: Any) -> None:
        handle.hooks, handle.key = hooks, max(hooks, default=-1) + 1
        hooks[handle.key] = hook

    return patch.object(Handle, "__init__", made)


def hooks_on_constants() -> Region:
    """A hook on a constant is accepted, and never called."""
    register = Tensor.register_hook

    def accepting(tensor: Tensor, hook: Any) -> Handle:
        return register(tensor, hook) if tensor.requires_grad else Handle({}, hook)

    return patch.object(Tensor, "register_hook", accepting)


def constants_keep() -> Region:
    """A constant can be told to keep its gradient."""
    retain = Tensor.retain_grad

    def accepting(tensor: Tensor) -> None:
        if tensor.requires_grad:
            retain(tensor)

    return patch.object(Tensor, "retain_grad", accepting)


STATEFUL_HOOK_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault("calls hooks on every contribution", "Oneflow-Inc/oneflow#7685", sweeping(HooksEveryContribution)),
    StatefulFault("calls hooks of what is used twice twice", "Oneflow-Inc/oneflow#7685", sweeping(ShowsTwice)),
    StatefulFault("ignores what hooks return", "pytorch/pytorch#38951", sweeping(IgnoresAnswers)),
    StatefulFault(
        "passes on what was there before a hook replaced it", "pytorch/pytorch#139742", sweeping(AnswersStay)
    ),
    StatefulFault(
        "adds what hooks return", "PyTorch documentation: used in place of the gradient", sweeping(AddsAnswers)
    ),
    StatefulFault("calls no hooks on leaves", "pytorch/pytorch#35802", sweeping(SkipsLeaves)),
    StatefulFault("calls hooks on leaves only", "Oneflow-Inc/oneflow#7685", sweeping(LeavesOnly)),
    StatefulFault(
        "calls hooks last first", "PyTorch documentation: hooks run in the order of registration", sweeping(LastFirst)
    ),
    StatefulFault("calls the first of several hooks", "generic: one hook a tensor", sweeping(FirstHookOnly)),
    StatefulFault(
        "shows hooks what was before those before them", "generic: a loop forgets", sweeping(ShowsAllTheSame)
    ),
    StatefulFault("forgets hooks that were called", "pytorch/pytorch#38951", sweeping(HooksOnce)),
    StatefulFault("calls no hooks where it records gradients", "pytorch/pytorch#35802", sweeping(NotWhenRecording)),
    StatefulFault("cannot remove hooks", "generic: a handle of nothing", removing(not_removed)),
    StatefulFault("removes all hooks of a tensor with one", "generic: one list a tensor", removing(all_removed)),
    StatefulFault("removes the first hook of a tensor", "generic: a list without names", removing(first_removed)),
    StatefulFault("replaces a hook by the next", "generic: one hook a tensor", one_hook_each),
    StatefulFault("numbers hooks by how many there are", "generic: a number is used again", numbered_by_count),
    StatefulFault(
        "removes another hook with one that is gone", "refgrad's own engine, until this table", numbered_by_highest
    ),
    StatefulFault(
        "takes hooks on constants",
        "PyTorch refuses: cannot register a hook on a tensor that doesn't require gradient",
        hooks_on_constants,
    ),
    StatefulFault(
        "lets constants keep gradients",
        "PyTorch refuses: can't retain_grad on Tensor that has requires_grad=False",
        constants_keep,
    ),
    StatefulFault("keeps no gradients of computed tensors", "Oneflow-Inc/oneflow#7685", keeping(nothing)),
    StatefulFault("replaces a kept gradient in every backward", "chainer/chainer#1680", keeping(the_last)),
    StatefulFault("keeps the gradient of the first backward", "generic: a gradient is stored once", keeping(once)),
    StatefulFault(
        "keeps gradients as they were before hooks", "PyTorch: retain_grad comes last", sweeping(KeepsBeforeHooks)
    ),
    StatefulFault("keeps what arrives first of a gradient", "karpathy/nn-zero-to-hero#52", sweeping(KeepsTheFirst)),
)
