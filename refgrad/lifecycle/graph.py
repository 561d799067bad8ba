"""The recorded graph: what vjps depend on, the memory of tensors and writes to it, nodes and what was freed.

Engines may record and save more than they must. So each set of names has two versions: what a backward may reach, in
some engine, and what it must reach, in every one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from refgrad.interpreter import native
from refgrad.lifecycle.predictions import ErrorKind, Fails, Open
from refgrad.operators import operator_table
from refgrad.operators.differentiation import bending
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Write
from refgrad.scenario.rewrite import closure

AGREED: Final = frozenset({
    "add", "cos", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sigmoid", "sin", "subtract", "sum",
    "tanh",
})  # fmt: skip
"""Operators for which all engines that save references save the same tensors: only those that the row's rule needs."""


@dataclass(frozen=True, slots=True)
class Vjp:
    """The vjp of an application with respect to one operand, as the names of the tensors that it depends on.

    ``saved`` are the tensors that the row's rule keeps for it, ``nonlinear_in`` those of them that do more than choose
    between branches. A vjp that is ``always_zero`` may be sent as zeros that depend on nothing, not even the cotangent.
    """

    parent: str
    saved: frozenset[str]
    nonlinear_in: frozenset[str]
    always_zero: bool = False


def vjps_of(step: Apply) -> tuple[Vjp, ...]:
    """Return the vjp of each operand, in order."""
    operator = operator_table()[step.operator]
    names = [a.name for a in operator.arguments for _ in (step.arguments if a.variadic else (0,))]
    tensors = {**dict(zip(names, step.arguments, strict=True)), "out": step.name}
    return tuple(
        Vjp(
            operand,
            frozenset(tensors[saved] for saved in operator.saves(name)),
            frozenset(tensors[saved] for saved in bending(operator, name)),
            operator.vanishes(name),
        )
        for name, operand in zip(names, step.arguments, strict=True)
    )


COMPUTING_FAMILIES = frozenset({"reductions", "products"})
"""Families of structural operators that compute the entries of their results instead of selecting them."""

PieceVersion = tuple[int, int]
"""Number of a piece of memory, and the number of writes to it so far."""


class MemoryPieces:
    """Numbered pieces of memory, in groups of those that may overlap, since engines differ in what is a view."""

    def __init__(self) -> None:
        """Start without any."""
        self._versions: list[int] = []
        self._groups: list[int] = []

    def new(self, near: Iterable[int] = ()) -> int:
        """Return the number of a new piece, which may overlap with those in ``near``."""
        number = len(self._versions)
        self._versions.append(0)
        joined = {self._groups[other] for other in near}
        self._groups = [number if group in joined else group for group in self._groups]
        self._groups.append(number)
        return number

    def may_overlap(self, number: int) -> set[int]:
        """Return the other pieces that may overlap with this one."""
        return {n for n, group in enumerate(self._groups) if group == self._groups[number] and n != number}

    def now(self, number: int) -> PieceVersion:
        """Return the piece with its current number of writes."""
        return number, self._versions[number]

    def write(self, number: int) -> None:
        """Count a write to the piece."""
        self._versions[number] += 1

    def stale(self, versions: Iterable[PieceVersion]) -> bool:
        """Return True if one of these pieces has been written to since."""
        return any(self._versions[number] != version for number, version in versions)


def may_share(step: Apply) -> bool:
    """Return True if the result may share memory with an operand in some engine: as a view, or the operand itself."""
    operator = operator_table()[step.operator]
    if operator.formula is not None:
        return isinstance(operator.formula.tree, ast.Name)
    return operator.composite is not None or operator.family not in COMPUTING_FAMILIES


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
        return set(closure([output], self._parents))

    def must_reach(self, output: str) -> set[str]:
        """Return all names that a backward from ``output`` reaches in every engine, itself included."""
        return set(closure([output], lambda name: self.nodes[name].must_parents if name in self.nodes else ()))

    def _may_pass_nothing(self, name: str) -> bool:
        """Return True if an operator on the way to a name may pass no cotangent on.

        It may have overwritten all entries of an operand.
        """
        return any(node.overwrites for node in map(self.nodes.get, self.may_reach(name)) if node is not None)

    def _parents(self, name: str) -> tuple[str, ...]:
        return self.nodes[name].parents if name in self.nodes else ()

    def is_gradient(self, name: str) -> bool:
        """Return True if a name is that of a recorded gradient."""
        return name in self.nodes and self.nodes[name].is_gradient

    def through_gradients(self, names: Iterable[str]) -> set[str]:
        """Return the names that are reached through recorded gradients.

        A recorded gradient is among them only if it is reached through another one.
        """
        gradients = filter(self.is_gradient, names)
        return set(closure([parent for name in gradients for parent in self._parents(name)], self._parents))

    def before_gradients(self, output: str) -> set[str]:
        """Return the names that a backward reaches up to and including the first recorded gradient on each path."""
        return set(closure([output], lambda name: () if self.is_gradient(name) else self._parents(name)))

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
        sure = (name for name in varying if self.tracked(name) and not self.may_be_constant(name))
        must = tuple(sorted(name for name in sure if not self._may_pass_nothing(name)))
        inherited = {name for node in nodes if node.is_gradient for name in node.parents}
        parents = tuple(sorted(saved | inherited))
        read = tuple(piece for node in nodes for piece in (*node.must_need, *node.may_need))  # which rules may save
        return GraphNode(parents, bool(parents), must, may_need=read, may_be_constant=not must)

    def may_be_constant(self, name: str | None) -> bool:
        """Return True if an engine may treat the result of a node as a constant."""
        return name in self.nodes and self.nodes[name].may_be_constant

    def tracked(self, name: str | None) -> bool:
        """Return True if gradients flow to a name."""
        return name in self.leaves or name in self.nodes

    def _contributing(self, between: set[str], leaf: str) -> set[str]:
        """Return those of these names from which a cotangent reaches the leaf without a vjp that is always zero."""
        vjps = {name: self.nodes[name].vjps for name in between if name in self.nodes}
        if not any(vjp.always_zero for own in vjps.values() for vjp in own):
            return between
        sent = [(vjp.parent, name) for name, own in vjps.items() for vjp in own if not vjp.always_zero]
        return set(closure([leaf], lambda reached: [name for parent, name in sent if parent == reached]))

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


@dataclass(frozen=True, slots=True)
class Extent:
    """The shape of the part that is written to, the number of other entries, and whether the operand fits.

    ``refused`` is True if every engine must reject the operand. Engines differ where the operand has more axes than the
    part and the first has length 1: some drop leading axes.
    """

    part: Shape
    left: int
    fits: bool
    refused: bool

    def node(self, step: Write, before: str, operand: str, saved: PieceVersion, graph: GraphModel) -> GraphNode:
        """Return the node of a recorded write to a tensor whose node was ``before``."""
        product = step.action == "multiply"
        replaced = step.action == "copy" and self.left == 0
        vjps = []
        if graph.tracked(before):
            needed = frozenset({operand} if product else ())
            vjps.append(Vjp(before, needed, needed, always_zero=replaced))
        if graph.tracked(operand):
            needed = frozenset({before} if product else ())
            vjps.append(Vjp(operand, needed, needed))
        parents = tuple(dict.fromkeys(vjp.parent for vjp in vjps))
        must_parents = () if replaced and operand != before and not graph.tracked(operand) else parents
        if replaced and graph.tracked(operand):
            must_parents = (operand,)
        must_need = (saved,) if product and graph.tracked(before) else ()
        masked = step.action == "copy" or step.index is not None  # some engines save a mask for these
        return GraphNode(parents, product or masked, must_parents, tuple(vjps), composite=masked, must_need=must_need)


def extent_of(shape: Shape, operand: Shape, step: Write) -> Extent | None:
    """Return the extent of a write to a tensor of this shape; None where the index does not fit."""
    entries = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        part = entries if step.index is None else entries[native(step.index)]
    except IndexError:
        return None
    try:
        fits = np.broadcast_shapes(part.shape, operand) == part.shape
    except ValueError:
        fits = False
    has_an_axis_to_drop = len(operand) > part.ndim and operand[0] == 1
    return Extent(part.shape, entries.size - part.size, fits, refused=not fits and not has_an_axis_to_drop)
