"""Fitting of contributions to the shape and dtype of the argument that they belong to.

Operators broadcast and promote their arguments. In the backward pass, contributions are summed over the broadcast axes
and converted back.
"""

from __future__ import annotations

from typing import Any

from refgrad.engine.graph.node import GraphNode
from refgrad.operators.structures.shapes import sum_to


def fitted(operators: Any, contribution: Any, parent: GraphNode) -> Any:
    """Return ``contribution`` with the shape and dtype of the value that ``parent`` belongs to.

    ``operators`` has ``sum``, ``reshape`` and ``cast`` for arrays or for tensors, whichever ``contribution`` is.
    """
    if contribution.shape != parent.shape:
        contribution = sum_to(operators, contribution, parent.shape)
    if contribution.dtype != parent.dtype:
        contribution = operators.cast(contribution, dtype=parent.dtype)
    return contribution
