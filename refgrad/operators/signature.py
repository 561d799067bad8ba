"""The description of an operator for readers: what it takes, where it is defined, and what holds at its edges."""

from __future__ import annotations

from refgrad.operators.table import Attribute, Edge, Operator


def signature(operator: Operator) -> str:
    """Return arrays and attributes, as ``(x, axis=None, keepdims=False)``."""
    arrays = [f"*{argument.name}" if argument.variadic else argument.name for argument in operator.arguments]
    return f"({', '.join(arrays + [_attribute(attribute) for attribute in operator.attributes])})"


def domain(operator: Operator) -> str:
    """Return the condition under which the operator is defined; empty where it is everywhere."""
    return "" if operator.domain is None else operator.domain.source


def edge(found: Edge) -> str:
    """Return where an edge is and what is legal there, as ``x == 0: kink, d/dx in [-1, 1]``."""
    legal = [
        f"d/d{name} {f'= {_end(low)}' if low == high else f'in [{_end(low)}, {_end(high)}]'}"
        for name, (low, high) in found.subdifferential.items()
    ]
    return f"{found.where}: {', '.join([found.kind, *legal])}"


def _end(end: float | str) -> str:
    return end if isinstance(end, str) else f"{end:g}"


def _attribute(attribute: Attribute) -> str:
    return attribute.name if attribute.required else f"{attribute.name}={attribute.default}"
