"""PyTorch's names for the nodes of operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators import Operator

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
