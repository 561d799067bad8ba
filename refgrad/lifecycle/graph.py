"""The recorded graph of a scenario: its nodes, which of them are freed, and which need overwritten memory.

Engines may record and save more than they must. So each set of names has two versions: what a backward may reach, in
some engine, and what it must reach, in every one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from refgrad.lifecycle.dependence import Vjp
from refgrad.lifecycle.memory import MemoryPieces, PieceVersion
from refgrad.lifecycle.predictions import ErrorKind, Fails, Open
from refgrad.operators.structure import Shape


@dataclass(slots=True)
class GraphNode:
    """A recorded application, write or gradient: what it depends on, and whether what it saved still exists.

    ``vjps`` state, for every parent that it sends a cotangent to, what that cotangent depends on. An engine may record
    all of ``parents``, and must record ``must_parents``. ``freed`` is None where an engine may have freed it. A
    ``composite`` is several applications, or a single one of the engine's own, so it is unknown what it saves.
    ``must_need`` are the pieces of memory that every engine needs unchanged; some engines need those of ``may_need``
    too. A node that ``overwrites`` may pass no cotangent on.
    """

    parents: tuple[str, ...]
    saved: bool
    must_parents: tuple[str, ...]
    vjps: tuple[Vjp, ...] = ()
    freed: bool | None = False
    composite: bool = False
    overwrites: bool = False
    must_need: tuple[PieceVersion, ...] = ()
    may_need: tuple[PieceVersion, ...] = ()
    operands: tuple[tuple[str, bool], ...] = ()
    """Names of its operands, and whether each required grad when the node was recorded."""
    may_be_constant: bool = False
    """True if an engine may record nothing for it."""
    may_be_stale: bool = False
    """True if a write of unknown effect may have changed memory that this node needs."""

    @property
    def is_gradient(self) -> bool:
        """Return True if this is a recorded gradient."""
        return not self.vjps


@dataclass(slots=True)
class GraphModel:
    """Nodes by name, and the names of leaves that require grad."""

    memory: MemoryPieces
    shapes: dict[str, Shape] = field(default_factory=dict)
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    leaves: set[str] = field(default_factory=set)

    def may_reach(self, output: str) -> set[str]:
        """Return all names that a backward from ``output`` reaches in some engine, itself included."""
        return _closure([output], self._parents)

    def must_reach(self, output: str) -> set[str]:
        """Return all names that a backward from ``output`` reaches in every engine, itself included."""
        return _closure([output], self._must_parents)

    def _may_pass_nothing(self, name: str) -> bool:
        """Return True if an operator on the way to a name may pass no cotangent on.

        It may have overwritten all entries of an operand.
        """
        return any(node.overwrites for node in map(self.nodes.get, self.may_reach(name)) if node is not None)

    def _parents(self, name: str) -> tuple[str, ...]:
        return self.nodes[name].parents if name in self.nodes else ()

    def _must_parents(self, name: str) -> tuple[str, ...]:
        return self.nodes[name].must_parents if name in self.nodes else ()

    def through_gradients(self, names: Iterable[str]) -> set[str]:
        """Return the names that are reached through recorded gradients.

        A recorded gradient is among them only if it is reached through another one.
        """
        gradients = [name for name in names if name in self.nodes and self.nodes[name].is_gradient]
        return _closure([parent for name in gradients for parent in self._parents(name)], self._parents)

    def before_gradients(self, output: str) -> set[str]:
        """Return the names that a backward reaches up to and including the first recorded gradient on each path."""
        return _closure(
            [output], lambda name: () if name in self.nodes and self.nodes[name].is_gradient else self._parents(name)
        )

    def leading_to(self, leaf: str, names: set[str]) -> set[str]:
        """Return those of these names that depend on a leaf, itself included."""
        return {name for name in names if leaf in self.may_reach(name)}

    def failure(self, may_visit: set[str], must_visit: set[str]) -> Fails | Open | None:
        """Return the error of a backward that needs freed or overwritten memory: expected, possible (Open), or None."""
        expected: set[ErrorKind] = set()
        possible: set[ErrorKind] = set()
        for name in may_visit & self.nodes.keys():
            node = self.nodes[name]
            stale = self.memory.stale(node.must_need)
            if node.freed is not False:
                possible.add("freed-graph")
            if node.freed is not True and (stale or node.may_be_stale or self.memory.stale(node.may_need)):
                possible.add("modified-in-place")
            if name in must_visit and (node.freed or stale):
                expected.add("freed-graph" if node.freed else "modified-in-place")
                possible.add("freed-graph" if node.freed is None else min(expected))
        if expected:
            return Fails(min(expected), tuple(sorted(possible - {min(expected)})))
        return Open() if possible else None

    def derivative(self, between: set[str], leaf: str) -> GraphNode:
        """Return the node of a gradient that is recorded by the rules of these nodes.

        A parent need not be recorded if it is reached only through arrays without entries, which torch.cat leaves out,
        or only through vjps that are always zero.
        """
        nodes = [self.nodes[name] for name in between if name in self.nodes]
        vjps = [vjp for node in nodes for vjp in node.vjps if vjp.parent in between]
        saved = {name for vjp in vjps for name in vjp.saved if self.tracked(name)}
        empty = any(0 in self.shapes[name] for name in between)
        contributing = self._contributing(between, leaf)
        varying = {name for vjp in vjps if vjp.parent in contributing for name in vjp.nonlinear_in if not empty}
        must = tuple(sorted(name for name in varying if self.tracked(name) and not self._may_pass_nothing(name)))
        inherited = {name for node in nodes if node.is_gradient for name in node.parents}
        parents = tuple(sorted(saved | inherited))
        read = tuple(piece for node in nodes for piece in (*node.must_need, *node.may_need))  # which rules may save
        return GraphNode(parents, bool(parents), must, may_need=read, may_be_constant=not must)

    def tracked(self, name: str | None) -> bool:
        """Return True if gradients flow to a name."""
        return name in self.leaves or name in self.nodes

    def _contributing(self, between: set[str], leaf: str) -> set[str]:
        """Return those of these names from which a cotangent reaches the leaf without a vjp that is always zero."""
        vjps = {name: self.nodes[name].vjps for name in between if name in self.nodes}
        if not any(vjp.always_zero for own in vjps.values() for vjp in own):
            return between
        contributing: set[str] = set()
        waiting = {leaf}
        while waiting:
            contributing |= waiting
            waiting = {
                name
                for name, own in vjps.items()
                if any(vjp.parent in contributing and not vjp.always_zero for vjp in own)
            } - contributing
        return contributing

    def free(self, may_visit: Iterable[str], must_visit: Collection[str], frees: str) -> None:
        """Free what a backward must visit and, if ``frees`` is ``connected``, what is connected to it.

        For nodes that it only may visit, it becomes unknown whether they are freed.
        """
        may, must = set(may_visit), set(must_visit)
        if frees == "connected":
            must |= {name for name, node in self.nodes.items() if not must.isdisjoint(node.must_parents)}
            may |= {name for name, node in self.nodes.items() if not may.isdisjoint(node.parents)}
        for name in may:
            node = self.nodes.get(name)
            freed = frees in {"always", "connected"} or (frees == "saved" and node is not None and node.saved)
            if node is not None and freed and node.freed is not True:
                recorded = not (node.composite or node.may_be_constant) and (node.vjps or node.must_parents)
                node.freed = True if name in must and recorded else None


def _closure(start: Iterable[str], parents: Callable[[str], Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(parents(name))
    return reached
