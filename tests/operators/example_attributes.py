"""Which attributes does a test give an elementwise operator?"""

from __future__ import annotations

from refgrad.operators import Attribute, Operator

LIMITS = (-1.7, 2.3)
"""Numbers that increase, as limits do."""


def example_attributes(row: Operator) -> dict[str, float]:
    """Return a number for each attribute: within its bounds where it has some, and on no other operand's kink."""
    return {attribute.name: _number(attribute, index) for index, attribute in enumerate(row.attributes)}


def _number(attribute: Attribute, index: int) -> float:
    low, high = attribute.bounds
    match attribute.type:
        case "int":
            return int(high)
        case "real":
            return low + 0.37 * (high - low)
    return LIMITS[index]
