"""What does the recorded graph of a scenario consist of, what of it is freed, and what overwritten?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from refgrad.lifecycle.dependence import Slope
from refgrad.lifecycle.memory import Memory, Place
from refgrad.lifecycle.predictions import ErrorKind, Fails, Open
from refgrad.operators.structure import Shape


@dataclass(slots=True)
class Node:
    """A recorded application, write or gradient: what it depends on, and whether what it saved is still there.

    ``slopes`` say, for every parent that it sends a cotangent to, what that depends on. Of ``parents`` only the
    ``firm`` ones are recorded by every engine. ``freed`` is None where an engine may have freed it. What is
    ``composite`` is several applications, or an engine's own one: nobody knows what that saves. ``kept`` are the pieces
    of memory that it is bound to need as they were; it may need those of ``near`` too. What ``overwrites`` may pass
    nothing on.
    """

    parents: tuple[str, ...]
    saved: bool
    firm: tuple[str, ...]
    slopes: tuple[Slope, ...] = ()
    freed: bool | None = False
    composite: bool = False
    overwrites: bool = False
    kept: tuple[Place, ...] = ()
    near: tuple[Place, ...] = ()
    origins: tuple[tuple[str, bool], ...] = ()
    """The tensors that it was made of, and whether each required grad then."""
    unsure: bool = False
    """Whether it is the engine's own affair that anything was recorded."""

    @property
    def is_gradient(self) -> bool:
        """Whether this is a recorded gradient."""
        return not self.slopes


@dataclass(slots=True)
class Graph:
    """Nodes by name, and the leaves that require grad where they end."""

    memory: Memory
    shapes: dict[str, Shape] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    leaves: set[str] = field(default_factory=set)

    def ancestors(self, output: str, *, firm: bool = False) -> set[str]:
        """All names that ``output`` depends on, itself included; by what every engine records, if ``firm``."""
        return _closure([output], lambda name: self._parents(name, firm=firm))

    def _overwritten(self, name: str) -> bool:
        """Whether an operator on the way to a name may pass nothing on: all of an operand may have been overwritten."""
        return any(node.overwrites for node in map(self.nodes.get, self.ancestors(name)) if node is not None)

    def _parents(self, name: str, *, firm: bool = False) -> tuple[str, ...]:
        node = self.nodes.get(name)
        return () if node is None else node.firm if firm else node.parents

    def behind_gradients(self, names: Iterable[str]) -> set[str]:
        """The names that are reached by way of recorded gradients, those not included."""
        gradients = [name for name in names if name in self.nodes and self.nodes[name].is_gradient]
        return _closure([parent for name in gradients for parent in self._parents(name)], self._parents)

    def before_gradients(self, output: str) -> set[str]:
        """The names that a backward meets before, or at, a recorded gradient."""
        return _closure(
            [output], lambda name: () if name in self.nodes and self.nodes[name].is_gradient else self._parents(name)
        )

    def leading_to(self, leaf: str, names: set[str]) -> set[str]:
        """Those of these names, with all their ancestors, that depend on a leaf."""
        return {name for name in names if leaf in self.ancestors(name)}

    def refusal(self, visited: set[str], surely: set[str]) -> Fails | Open | None:
        """What a walk over nodes must show, of which some surely are met: an error if what they saved is gone."""
        due: set[ErrorKind] = set()
        possible: set[ErrorKind] = set()
        for name in visited & self.nodes.keys():
            node = self.nodes[name]
            stale = self.memory.stale(node.kept)
            if node.freed is not False:
                possible.add("freed-graph")
            if node.freed is not True and (stale or self.memory.stale(node.near)):
                possible.add("modified-in-place")
            if name in surely and (node.freed or stale):
                due.add("freed-graph" if node.freed else "modified-in-place")
                possible.add("freed-graph" if node.freed is None else min(due))
        if due:
            return Fails(min(due), tuple(sorted(possible - {min(due)})))
        return Open() if possible else None

    def derivative(self, between: set[str], leaf: str) -> Node:
        """The node of a recorded gradient, which came about by the rules of these nodes.

        Nothing is firm by way of arrays without entries: torch.cat leaves them out, and records nothing for them; nor
        by way of slopes that are always zero.
        """
        nodes = [self.nodes[name] for name in between if name in self.nodes]
        slopes = [slope for node in nodes for slope in node.slopes if slope.parent in between]
        saved = {name for slope in slopes for name in slope.saved if self.tracked(name)}
        empty = any(0 in self.shapes[name] for name in between)
        heard = self._heard(between, leaf)
        bends = {n for slope in slopes if slope.parent in heard for n in slope.bends if self.tracked(n) and not empty}
        firm = {name for name in bends if not self._overwritten(name)}
        inherited = {name for node in nodes if node.is_gradient for name in node.parents}
        parents = saved | inherited
        near = tuple(place for node in nodes for place in (*node.kept, *node.near))  # what rules read, they may save
        return Node(tuple(sorted(parents)), bool(parents), tuple(sorted(firm)), near=near, unsure=not firm)

    def tracked(self, name: str | None) -> bool:
        """Whether gradients flow to a name."""
        return name in self.leaves or name in self.nodes

    def _heard(self, between: set[str], leaf: str) -> set[str]:
        """Those of these names whose cotangent surely changes what the leaf receives, but for a product with zero."""
        slopes = {name: self.nodes[name].slopes for name in between if name in self.nodes}
        if not any(slope.vanishes for found in slopes.values() for slope in found):
            return between
        heard: set[str] = set()
        waiting = {leaf}
        while waiting:
            heard |= waiting
            senders = (n for n, found in slopes.items() if any(s.parent in heard and not s.vanishes for s in found))
            waiting = set(senders) - heard
        return heard

    def free(self, visited: Iterable[str], surely: Collection[str], frees: str) -> None:
        """Free what a backward visits, and all that is connected if that is freed too.

        Of what it may visit, nobody knows.
        """
        met, sure = set(visited), set(surely)
        if frees == "connected":
            sure |= {name for name, node in self.nodes.items() if not sure.isdisjoint(node.firm)}
            met |= {name for name, node in self.nodes.items() if not met.isdisjoint(node.parents)}
        for name in met:
            node = self.nodes.get(name)
            freed = frees in {"always", "connected"} or (frees == "saved" and node is not None and node.saved)
            if node is not None and freed and node.freed is not True:
                known = name in sure and not (node.composite or node.unsure) and (node.slopes or node.firm)
                node.freed = True if known else None


def _closure(start: Iterable[str], parents: Callable[[str], Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(parents(name))
    return found
