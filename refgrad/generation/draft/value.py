"""Tensors of a scenario under construction, and the memory that they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from refgrad.generation.draft.admission import Array
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Detach, Grad, Leaf

Definition: TypeAlias = Leaf | Apply | Detach | Grad


@dataclass(slots=True, eq=False)
class Memory:
    """A piece of memory that tensors share if one is a view of the other.

    ``low`` and ``high`` bound the entries. ``viewed`` is True if several tensors are views of it in some engines. That
    of recorded gradients always counts as viewed, since some engines let two of them share memory.
    """

    low: float
    high: float
    viewed: bool = False

    @classmethod
    def of(cls, array: Array) -> Memory:
        """Return memory with the bounds of these entries. The bounds of no entries, or of booleans, are 0."""
        if array.dtype.kind == "b" or array.size == 0:
            return cls(0.0, 0.0)
        entries = array.ravel()
        return cls(float(np.minimum.reduce(entries)), float(np.maximum.reduce(entries)))

    @classmethod
    def up_to(cls, bound: float, *, viewed: bool = False) -> Memory:
        """Return memory whose entries are no larger in magnitude than a bound."""
        return cls(-bound, bound, viewed)

    @property
    def bound(self) -> float:
        """Largest possible magnitude of an entry."""
        return max(-self.low, self.high)

    def grow(self, bound: float) -> None:
        """Widen the bounds to entries of a magnitude up to ``bound``."""
        self.low, self.high = min(self.low, -bound), max(self.high, bound)


@dataclass(slots=True, eq=False)
class Value:
    """A tensor of a scenario: a leaf, a result, a view, a detached tensor or a recorded gradient.

    ``entries`` are None if steps may change them, and booleans if the value is a ``condition``. ``step`` is None for a
    leaf that is not yet part of the scenario. ``graph`` and ``leaves`` are the results and the leaves, one bit each,
    that a backward from this value traverses. ``uses`` counts the uses of the value as an operand.

    Steps of a lifecycle change the flags: ``is_leaf`` as engines define it; ``differentiable`` if a gradient by it can
    be recorded; ``started`` if a backward started from it; ``touched`` if it was written to, hooked, detached, or run
    backward from, or had its flags changed.
    """

    shape: Shape
    requires_grad: bool
    memory: Memory
    entries: Array | None = None
    condition: bool = False
    step: Definition | None = None
    arguments: tuple[Value, ...] = ()
    graph: int = 0
    leaves: int = 0
    uses: int = 0
    is_leaf: bool = False
    differentiable: bool = False
    started: bool = False
    touched: bool = False

    @property
    def name(self) -> str:
        """Name by which later steps refer to it."""
        assert self.step is not None
        return self.step.name

    @property
    def array(self) -> Array:
        """Entries of a value that no step changes."""
        assert self.entries is not None
        return self.entries

    @classmethod
    def of(cls, array: Array, *, requires_grad: bool, arguments: tuple[Value, ...] = ()) -> Value:
        """Return a value with these entries and their bounds."""
        condition = array.dtype.kind == "b"
        return cls(array.shape, requires_grad, Memory.of(array), array, condition, None, arguments)

    def within(self, low: float, high: float, margin: float = 0.0) -> bool:
        """Return True if every entry lies between these bounds; those of a result must be ``margin`` inside of them."""
        margin = margin if self.arguments else 0.0
        return low + margin <= self.memory.low and self.memory.high <= high - margin
