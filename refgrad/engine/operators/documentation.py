"""Names of the nodes of operators, as PyTorch has them, and docstrings of their functions, both made of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from refgrad.operators import Operator
from refgrad.operators.signature import domain, signature
from refgrad.operators.table import Operands

# PyTorch's names, where they are not the shortest name of the row.
NAMES: Mapping[str, str] = MappingProxyType({
    "add_at": "IndexPut",
    "broadcast_to": "Expand",
    "clip": "Clamp",
    "concatenate": "Cat",
    "expand_dims": "Unsqueeze",
    "matmul": "Mm",
    "reshape": "View",
    "to_float16": "ToCopy",
    "to_float32": "ToCopy",
    "to_float64": "ToCopy",
})


def node_name(operator: Operator) -> str:
    """Return the name of the node's class: ``MulBackward0`` for multiply."""
    shortest = min((operator.name, *operator.aliases), key=len)
    return f"{NAMES.get(operator.name, shortest.capitalize())}Backward0"


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
