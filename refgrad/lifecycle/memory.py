"""The memory of tensors: which pieces may overlap, and how often each was written to."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from refgrad.operators import operator_table
from refgrad.scenario import Apply

COMPUTING_FAMILIES = frozenset({"reductions", "products"})
"""Families of structural operators whose results are computed entry by entry, rather than picked."""

Place = tuple[int, int]
"""A piece of memory, and how often it had been written to."""


class Memory:
    """Pieces of memory, by number, in groups of those that may overlap: engines differ in what is a view."""

    def __init__(self) -> None:
        """Begin without any."""
        self._versions: list[int] = []
        self._groups: list[int] = []

    def new(self, near: Iterable[int] = ()) -> int:
        """Return a new piece, which may overlap with those in ``near``."""
        number = len(self._versions)
        self._versions.append(0)
        joined = {self._groups[other] for other in near}
        self._groups = [number if group in joined else group for group in self._groups]
        self._groups.append(number)
        return number

    def may_overlap(self, number: int) -> set[int]:
        """Return the other pieces that may overlap with this one."""
        return {n for n, group in enumerate(self._groups) if group == self._groups[number] and n != number}

    def now(self, number: int) -> Place:
        """Return the piece as it is now."""
        return number, self._versions[number]

    def write(self, number: int) -> None:
        """Note that the piece was written to."""
        self._versions[number] += 1

    def stale(self, places: Iterable[Place]) -> bool:
        """Whether one of these was written to since."""
        return any(self._versions[number] != version for number, version in places)


def may_share(step: Apply) -> bool:
    """Whether some engine's result may have the memory of an operand: it is a view, or the operand itself."""
    operator = operator_table()[step.operator]
    if operator.formula is not None:
        return isinstance(operator.formula.tree, ast.Name)
    return operator.composite is not None or operator.family not in COMPUTING_FAMILIES
