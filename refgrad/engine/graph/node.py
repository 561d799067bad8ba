"""The nodes of the recorded graph, and its ends at the leaves.

Every tensor that requires grad points to a node. A tensor that was computed points to a :class:`Node`, of a class of
its own per operator (``MulBackward0``), which points to the nodes of the operator's arguments. A leaf points to its
:class:`AccumulateGrad`, where gradients arrive. Nodes hold tensors by weak references at most, so there are no
reference cycles: the graph is released the moment that the last tensor that leads to it is.

Nodes are numbered in the order of recording, which is a topological order. Writes in place take their numbers from
the same sequence, so a saved value is stale exactly if its last write has a higher number than the node that saved
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, TypeAlias
from weakref import ref

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.hooks import Watch

Shape: TypeAlias = tuple[int, ...]
Writes: TypeAlias = list[int]

FLOAT64 = np.dtype(np.float64)

next_number: Callable[[], int] = count(1).__next__


class _LastWrite:
    """The number of the latest write to any tensor: nodes recorded after it need no check."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


LAST_WRITE = _LastWrite()


def note_write(writes: Writes) -> None:
    """Note one more write to the array whose ``writes`` these are (empty, or how many and the number of the last)."""
    LAST_WRITE.number = next_number()
    writes[:] = [version(writes) + 1, LAST_WRITE.number]


def version(writes: Writes) -> int:
    """How often the array was written in place."""
    return writes[0] if writes else 0


class Node:
    """One application of an operator; each operator has a subclass for every choice of arguments that need a gradient.

    ``parents`` are the nodes of those arguments only. ``values`` are the saved arrays in the order of ``saves``, None
    once freed, and ``guards`` the writes of each. ``shape`` and ``dtype`` are the output's.
    """

    __slots__ = ("__weakref__", "dtype", "guards", "number", "parents", "shape", "values", "watch")

    needs: ClassVar[tuple[bool, ...]]
    saves: ClassVar[tuple[str, ...]]

    parents: tuple[GraphNode, ...]
    values: tuple[Any, ...] | None
    guards: tuple[Writes, ...]
    number: int
    shape: Shape
    dtype: np.dtype[Any]
    watch: Watch | None

    def vjp(self, cotangent: Any) -> Contributions:
        """Each of ``parents`` with the array that it receives if the output's cotangent is the array ``cotangent``."""
        raise NotImplementedError

    def vjp_recorded(self, cotangent: Any) -> Contributions:
        """The same on tensors, so that it can itself be differentiated."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse to go on with values that were freed, or overwritten since they were saved.

        Raises:
            RuntimeError: one was, whoever did it and through whichever alias.

        """
        if self.values is None:
            raise RuntimeError(errors.FREED.format(node=self.name()))
        for name, writes in zip(self.saves, self.guards, strict=True):
            if writes and writes[1] > self.number:
                raise RuntimeError(errors.overwritten(type(self).__name__, name, version(writes)))

    def name(self) -> str:
        """PyTorch's name of the node, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[GraphNode | None, int], ...]:
        """For every argument, the node that its gradient goes to (None where there is none) and an output number."""
        parents = iter(self.parents)
        needs = self.needs if len(self.needs) > 1 else (True,) * len(self.parents)
        return tuple((next(parents) if needed else None, 0) for needed in needs)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad:
    """The end of the graph at a leaf: holds its gradient, and outlives the leaf while a graph leads to it.

    It is ``closed`` while the leaf does not require grad: then nothing is added to the gradient. It has the ``array``
    and the ``writes`` of the leaf, and only a weak reference to the leaf itself.
    """

    __slots__ = ("__weakref__", "array", "closed", "dtype", "grad", "leaf", "shape", "tensor_type", "watch", "writes")

    parents: ClassVar[tuple[GraphNode, ...]] = ()
    next_functions: ClassVar[tuple[tuple[GraphNode | None, int], ...]] = ()
    number: ClassVar[int] = 0

    def __init__(self, leaf: Any) -> None:
        self.tensor_type = type(leaf)
        self.watch: Watch | None = None
        self.grad: Any = None
        self.closed = False
        self.belong_to(leaf)

    def belong_to(self, leaf: Any) -> None:
        """Be the end of the graph at this tensor, with the storage that it has now."""
        self.leaf: Callable[[], Any] = ref(leaf)
        self.store(leaf.array, leaf.writes)

    def store(self, array: Any, writes: Writes) -> None:
        """Follow the leaf to another storage."""
        self.array = array
        self.writes = writes
        self.shape: Shape = array.shape
        self.dtype: np.dtype[Any] = array.dtype

    @property
    def variable(self) -> Any:
        """The leaf; where that is gone, a tensor with its memory, its gradient and its place in the graph."""
        leaf = self.leaf()
        if leaf is None:
            leaf = self.tensor_type(self.array, None if self.closed else self, self.writes)
            leaf.set_aside = self
            self.leaf = ref(leaf)
        return leaf

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"__weakref__", "leaf"}
        return {name: getattr(self, name) for name in self.__slots__ if name not in left_out}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.leaf = _no_leaf

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def _no_leaf() -> None:
    """What a weak reference answers once its leaf is gone."""


GraphNode: TypeAlias = Node | AccumulateGrad
Contributions: TypeAlias = Sequence[tuple[GraphNode, Any]]
