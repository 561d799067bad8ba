"""In-place operators, after which gradients are right or raise an error.

An in-place operator computes its result out of place from a copy of the old value, writes it over the tensor's memory,
records the write, and gives the tensor the result's node. A backward that needs a value saved earlier from that memory
detects that it was overwritten; the in-place operator itself saves the copy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.node import LAST_WRITE, Node, Shape, next_number, note_write, version
from refgrad.engine.graph.sweep import is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.recording import Function, operand


def in_place(function: Function) -> Function:
    """Return the operator ``function`` as a method that overwrites its first argument, and returns it.

    Raises:
        RuntimeError: the argument is a leaf that requires grad while operators are recorded, or the result has another
            shape or a dtype that cannot be cast to the argument's.

    """

    def write(tensor: Tensor, *operands: Any, **attributes: Any) -> Tensor:
        return _adopt(tensor, function(_before(tensor), *operands, **attributes))

    write.__doc__ = f"In place: {function.__doc__}"
    return write


def filler(functions: Mapping[str, Function]) -> Function:
    """Return the method that overwrites every entry with a number or a tensor, which is broadcast."""

    def fill(tensor: Tensor, value: Any = 0.0) -> Tensor:
        old, new = _before(tensor), operand(value)
        _refuse_shape(tensor.shape, np.shape(new.array))
        if isinstance(new.array, np.ndarray | np.generic) and new.dtype != tensor.dtype:
            new = new.to(tensor.dtype)
        if tensor.node is None and new.node is None:
            return _adopt(tensor, Tensor(np.broadcast_to(np.asarray(new.array, tensor.dtype), tensor.shape)))
        return _adopt(tensor, functions["where"](False, old, new))  # noqa: FBT003 (an array of one)

    return fill


def item_writer(functions: Mapping[str, Function]) -> Function:
    """Return the method ``__setitem__``."""

    def write(tensor: Tensor, index: Any, value: Any) -> None:
        old, new, index = _before(tensor), operand(value), plain_index(index)
        _refuse_shape(np.shape(tensor.array[index]), np.shape(new.array))
        if not is_grad_enabled() or (tensor.node is None and new.node is None):
            tensor.shared_array()[index] = new.array
            note_write(tensor.writes)
            return
        # Which entry of the value is written where: of repeated indices only the last has an effect, and a gradient.
        arriving = np.full(tensor.shape, -1)
        written = arriving[index].shape
        arriving[index] = np.arange(int(np.prod(written))).reshape(written)
        if not np.any(arriving >= 0):
            return
        if np.ndim(new.array) > len(written):  # extra leading axes have length one
            new = functions["reshape"](new, shape=new.shape[new.ndim - len(written) :])
        flat = functions["reshape"](functions["broadcast_to"](new, shape=written), shape=(-1,))
        arrived = functions["take"](flat, axis=0, indices=np.maximum(arriving, 0))
        _adopt(tensor, functions["where"](arriving >= 0, arrived, old))

    return write


def plain_index(index: Any) -> Any:
    """Return an index as numpy accepts it, with tensors replaced by their arrays."""
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    return index.array if isinstance(index, Tensor) else index


def full_index(index: Any, rank: int) -> tuple[Any, ...]:
    """Return an index as the tuple that the operator takes, with its ellipsis replaced by slices."""
    items = index if isinstance(index, tuple) else (index,)
    at = next((position for position, item in enumerate(items) if item is Ellipsis), len(items))
    before, after = items[:at], items[at + 1 :]
    used = sum(_axes_used(item) for item in (*before, *after))
    return (*before, *(slice(None),) * (rank - used), *after)


def _axes_used(item: Any) -> int:
    if item is None:
        return 0
    array = np.asarray(item) if isinstance(item, list | np.ndarray) else None
    return array.ndim if array is not None and array.dtype == np.bool_ else 1


def _refuse_shape(shape: Shape, value: Shape) -> None:
    """Raise RuntimeError if ``value`` cannot be broadcast to ``shape``; leading axes of length one are dropped."""
    while len(value) > len(shape) and value[0] == 1:
        value = value[1:]
    if len(value) > len(shape) or any(b not in {1, a} for a, b in zip(shape[::-1], value[::-1], strict=False)):
        raise RuntimeError(errors.write_shape(shape, value))


def _before(tensor: Tensor) -> Tensor:
    """Return a copy of the tensor before a write, or the tensor itself if operators are not recorded.

    Raise RuntimeError for a leaf that requires grad, if operators are recorded.
    """
    if not is_grad_enabled():
        return tensor
    if tensor.node is not None and tensor.is_leaf:
        raise RuntimeError(errors.LEAF_IN_PLACE)
    return Tensor(tensor.array.copy(), tensor.node)


def _adopt(tensor: Tensor, result: Tensor) -> Tensor:
    """Give ``tensor`` the values and the history of ``result``. Raise RuntimeError if shape or dtype do not fit."""
    if result.shape != tensor.shape:
        raise RuntimeError(errors.write_shape(tensor.shape, result.shape))
    if not np.can_cast(result.dtype, tensor.dtype, "same_kind"):
        raise RuntimeError(errors.write_dtype(tensor.dtype, result.dtype))
    if result.dtype != tensor.dtype:
        result = result.to(tensor.dtype)
    tensor.overwrite(result.array)
    if is_grad_enabled() and isinstance(result.node, Node):
        _take_over(tensor, result, result.node)
    return tensor


def _take_over(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Make ``node`` the node of ``tensor``; an output that it saved is from now on the tensor's own memory.

    A value that it saved from the memory just overwritten, as ``y *= y`` does, is marked as overwritten.
    """
    retained, grad = tensor.retains_grad, tensor.grad
    gone = [version(tensor.writes), sys.maxsize]
    node.guards = tuple(
        tensor.writes if writes is result.writes else gone if writes is tensor.writes else writes
        for writes in node.guards
    )
    node.values = tuple(tensor.array if value is result.array else value for value in node.values or ())
    node.number = next_number()
    if gone in node.guards:
        LAST_WRITE.number = next_number()  # so that backward checks the guards
    if retained:
        tensor.watch().retains = False
    tensor.node = node
    if retained:
        tensor.retain_grad()
    if grad is not None:
        tensor.watch().grad = grad
