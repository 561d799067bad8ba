"""Text that describes an operator to readers: its signature, its domain and its edges."""

from __future__ import annotations

from refgrad.operators.table import Attribute, Edge, Operator


def signature(operator: Operator) -> str:
    """Return the arguments and attributes, as ``(x, axis=None, keepdims=False)``."""
    arrays = [f"*{argument.name}" if argument.variadic else argument.name for argument in operator.arguments]
    return f"({', '.join(arrays + [_attribute(attribute) for attribute in operator.attributes])})"


def domain(operator: Operator) -> str:
    """Return the condition under which the operator is defined, or an empty string if it is defined everywhere."""
    return "" if operator.domain is None else operator.domain.source


def edge(row: Edge) -> str:
    """Return an edge's condition and the legal derivatives there, as ``x == 0: kink, d/dx in [-1, 1]``."""
    legal = [
        f"d/d{name} {f'= {_end(low)}' if low == high else f'in [{_end(low)}, {_end(high)}]'}"
        for name, (low, high) in row.subdifferential.items()
    ]
    return f"{row.where}: {', '.join([row.kind, *legal])}"


def _end(end: float | str) -> str:
    return end if isinstance(end, str) else f"{end:g}"


def _attribute(attribute: Attribute) -> str:
    return attribute.name if attribute.required else f"{attribute.name}={attribute.default}"
