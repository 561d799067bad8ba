"""The nodes of the recorded graph: applications of operators, and leaves.

Every tensor that requires grad refers to a node. A computed tensor refers to a :class:`Node`, of a class specific to
the operator (``MulBackward0``), which refers to the nodes of the operator's arguments. A leaf refers to its
:class:`AccumulateGrad`, where gradients arrive. Nodes refer to their tensors only weakly, so recording creates no
reference cycles: the graph is freed as soon as the last tensor that refers to it is.

Nodes are numbered in the order of recording, which is a topological order. Writes in place take their numbers from the
same sequence, so a saved value is stale exactly if its last write has a higher number than the node that saved it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeAlias
from weakref import ref

import numpy as np

from refgrad.engine import errors

next_key: Callable[[], int] = count().__next__


class Watch:
    """The hooks on the gradient of a node, and the retained gradient (``.grad``) of a computed tensor."""

    __slots__ = ("grad", "hooks", "retains")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retains = False
        self.grad: Any = None


class Handle:
    """A handle to remove a hook. Keys are never reused, so it cannot remove any other hook."""

    __slots__ = ("hooks", "key")

    def __init__(self, hooks: dict[int, Callable[[Any], Any]], hook: Callable[[Any], Any]) -> None:
        self.hooks = hooks
        self.key = next_key()
        hooks[self.key] = hook

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self.hooks.pop(self.key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


Shape: TypeAlias = tuple[int, ...]
Writes: TypeAlias = list[int]

FLOAT64 = np.dtype(np.float64)

next_number: Callable[[], int] = count(1).__next__


LAST_WRITE = SimpleNamespace(number=0)
"""Holder of the number of the latest write to any tensor; nodes recorded after it need no check."""


def note_write(writes: Writes) -> None:
    """Record one more write in ``writes``: empty, or the number of writes and the sequence number of the last."""
    LAST_WRITE.number = next_number()
    writes[:] = [version(writes) + 1, LAST_WRITE.number]


def version(writes: Writes) -> int:
    """Return the number of in-place writes to the array."""
    return writes[0] if writes else 0


class Node:
    """An application of an operator; each operator has a subclass for every subset of arguments that need a gradient.

    ``parents`` are the nodes of those arguments. ``values`` are the saved arrays in the order of ``saves``, or None
    once freed, and ``guards`` their lists of writes. ``shape`` and ``dtype`` are those of the output.
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
        """Return each of ``parents`` with the array that it receives if the output's cotangent is ``cotangent``."""
        raise NotImplementedError

    def vjp_recorded(self, cotangent: Any) -> Contributions:
        """Return what :meth:`vjp` returns, computed on tensors and recorded, so that it can be differentiated."""
        raise NotImplementedError

    def check(self) -> None:
        """Check that no saved value was freed or overwritten.

        Raises:
            RuntimeError: a value was freed, or was overwritten after it was saved, through any alias.

        """
        if self.values is None:
            raise RuntimeError(errors.FREED.format(node=self.name()))
        for name, writes in zip(self.saves, self.guards, strict=True):
            if writes and writes[1] > self.number:
                raise RuntimeError(errors.overwritten(type(self).__name__, name, version(writes)))

    def name(self) -> str:
        """Return PyTorch's name of the node, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[GraphNode | None, int], ...]:
        """For each argument, the node that its gradient flows to (None if there is none) and the output index 0."""
        parents = iter(self.parents)
        needs = self.needs if len(self.needs) > 1 else (True,) * len(self.parents)
        return tuple((next(parents) if needed else None, 0) for needed in needs)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad:
    """The node of a leaf: it holds the leaf's gradient, and outlives the leaf as long as a graph refers to it.

    It is ``closed`` while the leaf does not require grad; nothing is added to the gradient then. It shares the
    ``array`` and the ``writes`` of the leaf, and refers to the leaf itself only weakly.
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
        """Attach this node to a leaf, with the storage that the leaf has now."""
        self.leaf: Callable[[], Any] = ref(leaf)
        self.store(leaf.array, leaf.writes)

    def store(self, array: Any, writes: Writes) -> None:
        """Take over a new storage of the leaf."""
        self.array = array
        self.writes = writes
        self.shape: Shape = array.shape
        self.dtype: np.dtype[Any] = array.dtype

    @property
    def variable(self) -> Any:
        """The leaf; if it was deleted, a new tensor with its memory, its gradient and this node."""
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
        """Return PyTorch's name of the node."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def _no_leaf() -> None:
    """Return None, as a weak reference does once its leaf is deleted."""


GraphNode: TypeAlias = Node | AccumulateGrad
Contributions: TypeAlias = Sequence[tuple[GraphNode, Any]]
