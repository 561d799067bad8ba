"""Faults that can be planted into a source: what is replaced by what, and where that stands."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "tolerance",
    "number",
    "comparison",
    "boundary",
    "and, or",
    "condition",
    "copy",
    "answer",
    "family",
    "off by one",
    "arithmetic",
    "statement",
    "named",
]

ALWAYS: frozenset[Kind] = frozenset({"tolerance", "copy", "family", "named"})
"""Kinds of which every fault is planted, whatever the sample."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One replacement in one module, told apart by its texts and its number among those that read alike."""

    module: str
    function: str
    kind: Kind
    old: str
    new: str
    number: int
    start: int
    end: int
    replacement: str

    @property
    def id(self) -> str:
        """What names the fault as long as the function that it is in stays as it is."""
        return f"{self.module}::{self.function}::{self.kind}::{self.old} -> {self.new}::{self.number}"

    def planted(self, source: str) -> str:
        """Return the source with the fault in it."""
        data = source.encode()
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()


class Lines:
    """The places of the nodes of a source, in bytes from its beginning."""

    def __init__(self, source: str) -> None:
        """Count the bytes of each line."""
        self.starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset
