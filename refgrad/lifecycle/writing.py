"""Writes: the part of a tensor that each changes, and the node that it adds to the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from refgrad.lifecycle.dependence import Vjp
from refgrad.lifecycle.graph import GraphModel, GraphNode
from refgrad.lifecycle.memory import PieceVersion
from refgrad.operators.structure import Shape
from refgrad.scenario import Slice, Write


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
        part = entries if step.index is None else entries[_native(step.index)]
    except IndexError:
        return None
    try:
        fits = np.broadcast_shapes(part.shape, operand) == part.shape
    except ValueError:
        fits = False
    has_an_axis_to_drop = len(operand) > part.ndim and operand[0] == 1
    return Extent(part.shape, entries.size - part.size, fits, refused=not fits and not has_an_axis_to_drop)


def _native(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item.to_native() if isinstance(item, Slice) else item for item in index)
