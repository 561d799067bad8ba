"""The content of a recorded graph as data: nodes, leaves, saved values and their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Node
from refgrad.engine.graph.sweep import reachable
from refgrad.engine.graph.tensor import Tensor

State = Literal["leaf", "constant", "saves nothing", "saved", "freed", "overwritten"]

KIBI = 1024


@dataclass(frozen=True, slots=True)
class Saved:
    """A value that a node keeps for backward; ``memory`` identifies its array, so that shared ones are recognized."""

    name: str
    form: str
    size: int
    memory: int
    overwritten: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A node of an operator or of a leaf. ``arguments`` are indices of entries of the graph, None for a constant."""

    title: str
    form: str
    state: State
    arguments: tuple[int | None, ...]
    saved: tuple[Saved, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a tensor, in the order of recording: leaves first, the tensor's own entry last."""

    entries: tuple[Entry, ...]

    @property
    def root(self) -> int:
        """The index of the tensor's own entry."""
        return len(self.entries) - 1

    def summary(self) -> str:
        """Return the counts of nodes, leaves and saved arrays as text; each saved array is counted once."""
        leaves = sum(entry.state in {"leaf", "constant"} for entry in self.entries)
        saved = {kept.memory: kept.size for entry in self.entries for kept in entry.saved}
        freed = sum(entry.state == "freed" for entry in self.entries)
        return (
            f"{_count(len(self.entries) - leaves, 'node', 'nodes')}, {_count(leaves, 'leaf', 'leaves')}, "
            f"{_count(len(saved), 'saved array', 'saved arrays')} of {readable(sum(saved.values()))}"
            + (f", {_count(freed, 'node', 'nodes')} freed" if freed else "")
        )


def graph_of(tensor: Tensor) -> Graph:
    """Return the graph that backward from ``tensor`` would traverse; without a graph, a single entry."""
    if tensor.node is None:
        form = formed(tensor.dtype, tensor.shape)
        return Graph((Entry("tensor", form, "constant", (), (), ("requires_grad=False",)),))
    order = reachable([tensor.node])
    positions = {node: position for position, node in enumerate(order)}
    leaves = sum(isinstance(node, AccumulateGrad) for node in order)
    return Graph(tuple(_entry(node, positions, leaves) for node in order))


def formed(dtype: object, shape: Sequence[int]) -> str:
    """Return a dtype and a shape as text."""
    return f"{dtype}{list(shape)}"


def readable(size: int) -> str:
    """Return a number of bytes as text with a suitable unit, such as KiB."""
    amount, units = float(size), ["B", "KiB", "MiB", "GiB"]
    while amount >= KIBI and len(units) > 1:
        amount, units = amount / KIBI, units[1:]
    return f"{amount:.4g} {units[0]}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _entry(node: GraphNode, positions: dict[GraphNode, int], leaves: int) -> Entry:
    position, form = positions[node], formed(node.dtype, node.shape)
    if isinstance(node, AccumulateGrad):
        grad = "no grad yet" if node.grad is None else f"grad {formed(node.grad.dtype, node.grad.shape)}"
        return Entry(f"leaf {position + 1}", form, "leaf", (), (), ("requires_grad=True", grad, *_watched(node)))
    arguments = tuple(None if to is None else positions[to] for to, _ in node.next_functions)
    saved = _saved(node)
    title = f"{node.name()} #{position + 1 - leaves}"
    return Entry(title, form, _state(node, saved), arguments, saved, (*_kept(node, saved), *_watched(node)))


def _saved(node: Node) -> tuple[Saved, ...]:
    if node.values is None:
        return ()
    kept = zip(node.saves, node.values, node.guards, strict=True)
    return tuple(
        Saved(name, _form_of(value), int(np.asarray(value).nbytes), id(value), bool(w) and w[1] > node.number)
        for name, value, w in kept
    )


def _form_of(value: Any) -> str:
    return formed(value.dtype, value.shape) if hasattr(value, "dtype") else type(value).__name__


def _state(node: Node, saved: tuple[Saved, ...]) -> State:
    if node.values is None:
        return "freed"
    if any(kept.overwritten for kept in saved):
        return "overwritten"
    return "saved" if saved else "saves nothing"


def _kept(node: Node, saved: tuple[Saved, ...]) -> tuple[str, ...]:
    """Return notes on the values that the node saved, and on whether they were freed or overwritten."""
    if node.values is None:
        return (f"freed: {', '.join(node.saves)}",)
    lines = (
        f"saved {kept.name}: {kept.form}, {readable(kept.size)}" + (", since overwritten" if kept.overwritten else "")
        for kept in saved
    )
    return tuple(lines) or ("saves nothing",)


def _watched(node: GraphNode) -> tuple[str, ...]:
    watch = node.watch
    if watch is None:
        return ()
    hooks = (_count(len(watch.hooks), "hook", "hooks"),) if watch.hooks else ()
    return (*hooks, "retains grad") if watch.retains else hooks
