"""Docstrings of the operators' functions, generated from their rows: summary, shapes, formula and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from refgrad.operators import Operator
from refgrad.operators.signature import domain, signature
from refgrad.operators.table import Operands

SHAPES: Mapping[Operands, str] = MappingProxyType({
    "any": "any",
    "broadcast": "operands broadcast against each other",
    "same": "the same for all operands",
    "join": "the same for all operands, except along the axis that they are joined on",
    "matmul": "(..., n, k) and (..., k, m) give (..., n, m); a vector is a row on the left, a column on the right",
})


def documentation(row: Operator) -> str:
    """Return the docstring of a row: its summary and signature, then shapes, formula, domain, aliases and source."""
    parts = [f"{row.summary[0].upper()}{row.summary[1:]}.", "", f"    {row.name}{signature(row)}", ""]
    return "\n".join([*parts, *(f"{title}: {text}" for title, text in _entries(row) if text)])


def _entries(row: Operator) -> Iterator[tuple[str, str]]:
    yield "Shape", _shapes(row)
    yield "Formula", "" if row.formula is None else row.formula.source
    yield "Domain", domain(row)
    yield "Also called", ", ".join(row.aliases)
    yield "Source", row.source


def _shapes(row: Operator) -> str:
    if row.shapes:
        return ", ".join(
            f"{name} ({_axes(pattern)})" for name, pattern in zip(row.argument_names, row.shapes, strict=True)
        )
    entrywise = "; the result has the common shape" if row.operands == "broadcast" else "; the result has the same"
    return SHAPES[row.operands] + (entrywise if row.elementwise else "")


def _axes(pattern: str) -> str:
    return ", ".join(pattern.split())
