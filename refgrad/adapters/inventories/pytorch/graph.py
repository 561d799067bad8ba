"""The names of the nodes that PyTorch recorded for a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def node_names(result: Any) -> set[str]:
    """Return the names of the nodes in the graphs of the tensors of a result."""
    waiting = [tensor.grad_fn for tensor in tensors_of(result)]
    seen: set[Any] = {None}
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [parent for parent, _ in node.next_functions]
    return {node.name() for node in seen if node is not None}


def tensors_of(result: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in the result of a function, nested tuples and lists included."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from tensors_of(part)
