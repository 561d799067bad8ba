"""Tensors: an array, the node that receives its gradient, and a record of the writes to the array.

A scalar is stored as a numpy scalar (arithmetic on it is several times faster than on a 0-d array) until its memory is
shared; everything else is stored as an array. Operators, including indexing and reshaping, return new arrays, so only
``detach()``, ``.data``, ``numpy()``, ``from_numpy`` and ``as_tensor`` share memory. Tensors that share memory also
share the record of writes: a write through one alias is visible to all. Writes by numpy itself to a shared array are
not detected.

The other methods are installed by :mod:`refgrad.engine.functions.methods`, from the operator table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Handle, Node, Shape, Watch, Writes, note_write, version


class Tensor:
    """An n-dimensional array that records how it was computed. Create one with :func:`refgrad.engine.tensor`."""

    __slots__ = ("__weakref__", "array", "node", "set_aside", "writes")
    __array_ufunc__ = None  # so that numpy_array * tensor calls Tensor.__rmul__

    array: Any
    node: GraphNode | None
    writes: Writes
    set_aside: AccumulateGrad  # the node of a leaf that does not require grad, with its gradient; unset until needed

    def __init__(self, array: Any, node: GraphNode | None = None, writes: Writes | None = None) -> None:
        self.array = array
        self.node = node
        self.writes = [] if writes is None else writes

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def _binary(self, other: Any) -> Tensor: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __lt__ = __le__ = __gt__ = __ge__ = _binary

        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...

    # Content

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.array.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.array.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def dim(self) -> int:
        """Return the number of axes."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """Return the lengths of the axes, or of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """Count the entries."""
        return prod(self.shape)

    def item(self) -> Any:
        """Return the only entry as a Python number.

        Raises:
            RuntimeError: there are several entries, or none.

        """
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar: index it, or reduce it, first"
            )
        return self.array.item()

    def tolist(self) -> Any:
        """Return the entries as nested lists of Python numbers."""
        return self.array.tolist()

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the array itself, which shares memory with the tensor; writes by numpy are not detected.

        Raises:
            RuntimeError: the tensor requires grad.

        """
        if self.node is not None:
            raise RuntimeError(errors.NUMPY_REQUIRES_GRAD)
        return self.shared_array()

    def shared_array(self) -> np.ndarray[Any, Any]:
        """Return the array in a form that can be shared and written to; a scalar becomes a 0-d array."""
        if not isinstance(self.array, np.ndarray):
            self._store(np.array(self.array), self.writes)
        return self.array  # type: ignore[no-any-return]

    def overwrite(self, value: Any) -> None:
        """Overwrite all entries with ``value``, for every alias, and record the write; the history is unchanged."""
        if isinstance(self.array, np.ndarray):
            self.array[...] = value
        else:
            self._store(self.array.dtype.type(value), self.writes)
        note_write(self.writes)

    def _store(self, array: Any, writes: Writes) -> None:
        """Replace the storage, also in the node of a leaf."""
        self.array, self.writes = array, writes
        end = self._end()
        if end is not None:
            end.store(array, writes)

    def _end(self) -> AccumulateGrad | None:
        """Return the node of this leaf, or the one it had before it stopped requiring grad; None if it has neither."""
        end = self.node or getattr(self, "set_aside", None)
        return end if isinstance(end, AccumulateGrad) else None

    @property
    def _version(self) -> int:
        """The number of in-place writes to the array."""
        return version(self.writes)

    # History

    @property
    def requires_grad(self) -> bool:
        """Return True if gradients flow to this tensor."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start recording the operators applied to this tensor, or stop doing so for a leaf.

        Raises:
            RuntimeError: the dtype is not floating, or the tensor was computed and recording is to stop.

        """
        if requires_grad and self.node is None:
            if self.dtype.kind != "f":
                raise RuntimeError(errors.NOT_DIFFERENTIABLE.format(dtype=self.dtype))
            self.node = self._aside()
            self.node.closed = False
        elif not requires_grad and self.node is not None:
            if not self.is_leaf:
                raise RuntimeError(errors.DETACH_IN_PLACE_LEAF)
            assert isinstance(self.node, AccumulateGrad)
            self.set_aside, self.node = self.node, None
            self.set_aside.closed = True
        return self

    def _aside(self) -> AccumulateGrad:
        """Return the node that holds the gradient while the tensor does not require grad; create it on first use."""
        if not hasattr(self, "set_aside"):
            self.set_aside = AccumulateGrad(self)
            self.set_aside.closed = True
        return self.set_aside

    @property
    def is_leaf(self) -> bool:
        """Return True unless the tensor was computed from tensors that require grad."""
        return not isinstance(self.node, Node)

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor; None for a leaf."""
        return self.node if isinstance(self.node, Node) else None

    def detach(self) -> Tensor:
        """Return a tensor that shares memory with this one and has no history."""
        return Tensor(self.shared_array(), None, self.writes)

    def detach_(self) -> Tensor:
        """Remove the history of this tensor, and return it."""
        self.node = None
        return self

    @property
    def data(self) -> Tensor:
        """The result of ``detach()``; unlike in PyTorch, a write through it is detected if backward needs the value."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        self._store(value.shared_array(), value.writes)

    # Gradient

    @property
    def grad(self) -> Any:
        """The gradient as a tensor: accumulated in a leaf, or retained by ``retain_grad()``; None if there is none."""
        node = self.node
        if node is None:
            return self.set_aside.grad if hasattr(self, "set_aside") else None
        if isinstance(node, AccumulateGrad):
            return node.grad
        return None if node.watch is None else node.watch.grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and (value.shape, value.dtype) != (self.shape, self.dtype):
            got, expected = (value.shape, value.dtype), (self.shape, self.dtype)
            raise RuntimeError(errors.grad_mismatch("the assigned grad", got, expected))
        if self.node is None:
            self._aside().grad = value
        elif isinstance(self.node, AccumulateGrad):
            self.node.grad = value
        else:
            self.watch().grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def watch(self) -> Watch:
        """Return the hooks of the node, created on first use. Raise RuntimeError if there is no node."""
        node = self.node
        if node is None:
            raise RuntimeError(errors.HOOK_WITHOUT_GRAD)
        if node.watch is None:
            node.watch = Watch()
        return node.watch

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call ``hook`` once in every backward with the total gradient; a result other than None replaces the gradient.

        Raises:
            RuntimeError: the tensor does not require grad.

        """
        return Handle(self.watch().hooks, hook)

    def retain_grad(self) -> None:
        """Retain the gradient of this computed tensor as ``.grad``; no effect on a leaf, which keeps its gradient.

        Raises:
            RuntimeError: the tensor does not require grad.

        """
        if self.node is None:
            raise RuntimeError(errors.RETAIN_WITHOUT_GRAD)
        if not self.is_leaf:
            self.watch().retains = True

    @property
    def retains_grad(self) -> bool:
        """Return True if this computed tensor retains its gradient."""
        return self.node is not None and self.node.watch is not None and self.node.watch.retains

    # Python protocols

    __hash__ = object.__hash__

    def __setstate__(self, state: tuple[None, Mapping[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        end = self._end()
        if end is not None and end.leaf() is None:  # the leaf is not copied with its node
            end.belong_to(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor: it is one number, see .item()")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous: say .all() or .any()")
        return bool(self.array.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"only integer tensors of a single element can be converted to an index, not {self.dtype}")
        return int(self.item())

    def __format__(self, specification: str) -> str:
        return format(self.item() if self.shape == () and specification else str(self), specification)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)
