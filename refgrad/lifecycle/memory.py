"""The memory of tensors: which pieces may overlap, and how many times each was written to."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from refgrad.operators import operator_table
from refgrad.scenario import Apply

COMPUTING_FAMILIES = frozenset({"reductions", "products"})
"""Families of structural operators that compute the entries of their results instead of selecting them."""

PieceVersion = tuple[int, int]
"""A piece of memory, and the number of writes to it at some time."""


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
