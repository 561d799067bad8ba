"""The grad mode, and the reverse sweep over the recorded graph.

It iterates over the recorded nodes in the reverse order of recording, a reverse topological order: when a node is
processed, all nodes that used its output have contributed. Cotangents and saved values are freed during the pass.

It works like PyTorch's grad mode: it is on by default, is switched by ``no_grad``, ``enable_grad`` and
``set_grad_enabled``, and is separate for each thread and each asynchronous task.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar
from functools import partial, wraps
from inspect import isgeneratorfunction
from operator import attrgetter
from typing import Any, TypeVar

from refgrad.engine import errors
from refgrad.engine.graph.node import LAST_WRITE, GraphNode, Watch
from refgrad.engine.graph.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])

RECORDING: ContextVar[bool] = ContextVar("recording", default=True)


def is_grad_enabled() -> bool:
    """Return True if operators are being recorded for a later backward."""
    return RECORDING.get()


class _Switched:
    """A context manager and decorator that sets the mode, and restores the previous one even after an exception."""

    __slots__ = ("before", "recording")

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(RECORDING.get())
        RECORDING.set(self.recording)

    def __exit__(self, *exception: object) -> None:
        RECORDING.set(self.before.pop())

    def __call__(self, function: Function) -> Function:
        """Wrap ``function`` so that its calls run in this mode; a generator is in the mode only while it runs."""
        if isgeneratorfunction(function):
            return self._around_generator(function)

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            with _Switched(self.recording):
                return function(*arguments, **keywords)

        return switched  # type: ignore[return-value]

    def _around_generator(self, function: Function) -> Function:
        """Wrap a generator function: switch the mode whenever the generator resumes, and back whenever it yields."""

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            generator = function(*arguments, **keywords)
            resume: Callable[[], Any] = partial(next, generator)
            while True:
                try:
                    with _Switched(self.recording):
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    resume = partial(generator.send, (yield value))
                except BaseException as error:  # noqa: BLE001 (passed on to the generator, as a close is)
                    resume = partial(generator.throw, error)

        return switched  # type: ignore[return-value]


def no_grad(function: Function | None = None) -> Any:
    """Disable recording: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(recording=False)
    return switched if function is None else switched(function)


def enable_grad(function: Function | None = None) -> Any:
    """Enable recording inside of ``no_grad``: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(recording=True)
    return switched if function is None else switched(function)


class set_grad_enabled(_Switched):  # noqa: N801 (PyTorch's name)
    """Sets the mode immediately; as a context manager, restores the previous mode at the end."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before.append(RECORDING.get())
        RECORDING.set(self.recording)

    def __enter__(self) -> None:
        RECORDING.set(self.recording)


Cotangents = dict[GraphNode, Any]

by_number = attrgetter("number")


def reachable(roots: Collection[GraphNode]) -> list[GraphNode]:
    """Return ``roots`` and all their ancestors, in the order of recording, leaves first."""
    seen = set(roots)
    nodes = list(seen)
    for node in nodes:  # the list grows in the loop
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                nodes.append(parent)
    nodes.sort(key=by_number)
    return nodes


def leading_to(targets: Collection[GraphNode], order: list[GraphNode]) -> tuple[set[GraphNode], set[GraphNode]]:
    """Return the nodes from which the targets are reached, and the targets at which the pass ends.

    The former are the targets and those nodes of ``order`` that have a path back to one. The latter are the targets
    without a path back to another target.
    """
    needed, ends = set(targets), set(targets)
    for node in order:
        if any(parent in needed for parent in node.parents):
            needed.add(node)
            ends.discard(node)
    return needed, ends


class BackwardPass:
    """A backward pass.

    ``pending`` holds the cotangent so far of every node that is not yet processed, and ``arrived`` the total cotangents
    of leaves, targets and watched nodes. In a ``recorded`` pass cotangents are tensors, otherwise arrays.
    """

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        self.pending = pending
        self.retain = retain
        self.recorded = recorded
        self.arrived: Cotangents = {}
        self.kept: list[tuple[Watch, Tensor]] = []

    def to_leaves(self) -> None:
        """Process all ancestors of the outputs, down to the leaves."""
        order = reachable(self.pending)
        leaves = bisect(order, 0, key=by_number)
        self.run(order[leaves:], frozenset())
        self.arrive(order[:leaves])

    def to_targets(self, targets: Collection[GraphNode]) -> None:
        """Process only the nodes between the outputs and ``targets``."""
        order = reachable(self.pending)
        needed, ends = leading_to(targets, order)
        self.run([node for node in order if node in needed and node not in ends], frozenset(targets), needed)
        self.arrive(ends)

    def run(self, order: list[Any], targets: frozenset[GraphNode], needed: set[GraphNode] | None = None) -> None:
        """Process the nodes of ``order`` from last to first. Nodes change only in that their saved values are freed.

        Raises:
            RuntimeError: a node needs a saved value that was freed or overwritten.

        """
        pending, retain, recorded = self.pending, self.retain, self.recorded
        for node in reversed(order):
            cotangent = pending.pop(node, None)
            if cotangent is None:
                continue
            if node.watch is not None or node in targets:
                cotangent = self.arrived[node] = self.arrival(node, cotangent)
            if node.values is None or LAST_WRITE.number > node.number:
                node.check()
            contributions = node.vjp_recorded(cotangent) if recorded else node.vjp(cotangent)
            if node.values and not retain:
                node.values = None
            for parent, contribution in contributions:
                if parent in pending:
                    pending[parent] = pending[parent] + contribution
                elif needed is None or parent in needed:
                    pending[parent] = contribution

    def arrive(self, nodes: Iterable[GraphNode]) -> None:
        """Move the pending cotangents of nodes at which the pass ends to ``arrived``."""
        for node in nodes:
            if node in self.pending:
                self.arrived[node] = self.arrival(node, self.pending.pop(node))

    def arrival(self, node: GraphNode, cotangent: Any) -> Any:
        """Return the total cotangent of a node in the dtype of its tensor, after the node's hooks."""
        if cotangent.dtype != node.dtype:  # for speed, rules fit only the shapes of contributions
            cotangent = cotangent.astype(node.dtype)
        return cotangent if node.watch is None else self.observed(node, node.watch, cotangent)

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        """Call the hooks with a copy of the total; return the total, or a copy of what they replace it with."""
        passed = total = cotangent if self.recorded else Tensor(cotangent)
        for hook in list(watch.hooks.values()):
            passed = passed.clone() if passed is total else passed
            answer = hook(passed)
            if answer is None:
                continue
            got, expected = (answer.shape, answer.dtype), (node.shape, node.dtype)
            if got != expected:
                raise RuntimeError(errors.grad_mismatch("the gradient that a hook returned", got, expected))
            passed = total = answer.clone()
        if watch.retains:
            self.kept.append((watch, total))
        return total if self.recorded else total.array
