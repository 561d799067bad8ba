"""Mistakes that overlook a write, see one where there is none, or give what was written the wrong history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from refgrad.engine import errors
from refgrad.engine.functions import in_place
from refgrad.engine.functions.in_place import _adopt as adopt
from refgrad.engine.functions.in_place import _before as before_write
from refgrad.engine.functions.in_place import _take_over as take_over
from refgrad.engine.graph import tensor as tensor_module
from refgrad.engine.graph.node import Node, note_write
from refgrad.engine.graph.sweep import is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]

COPY: Callable[[Tensor, Any], Tensor] = vars(Tensor)["copy_"]
SET_ITEM: Any = Tensor.__setitem__
OVERWRITE = Tensor.overwrite
CHECK = Node.check
NOTE = note_write


def checking(check: Callable[[Node], None]) -> Callable[[], Region]:
    """Return what makes a region in which nodes check what they saved by another method."""
    return lambda: patch.object(Node, "check", check)


def for_freed_only(node: Node) -> None:
    """Ask only whether the values are there."""
    if node.values is None:
        CHECK(node)


def results_only(node: Node) -> None:
    """Do not ask of saved operands."""
    check_some(node, [name == "out" for name in node.saves])


def operands_only(node: Node) -> None:
    """Do not ask of a saved result."""
    check_some(node, [name != "out" for name in node.saves])


def check_some(node: Node, asked: list[bool]) -> None:
    """Ask of some of what was saved."""
    guards = node.guards
    node.guards = tuple(guard if wanted else [] for guard, wanted in zip(guards, asked, strict=True))
    try:
        CHECK(node)
    finally:
        node.guards = guards


def for_any_write(node: Node) -> None:
    """Refuse what was overwritten at any time, before it was saved too."""
    CHECK(node)
    for name, writes in zip(node.saves, node.guards, strict=True):
        if writes:
            raise RuntimeError(errors.overwritten(node.name(), name, writes[0]))


def for_writes_anywhere(node: Node) -> None:
    """Refuse to go on after any write to anything."""
    CHECK(node)
    raise RuntimeError(errors.overwritten(node.name(), "x", 1))


class FreesInSilence(OpenSweep):
    """Nodes forget their guards after the first backward."""

    def release(self, node: Node) -> None:
        super().release(node)
        node.guards = tuple([] for _ in node.guards)


@contextmanager
def noting_recorded_writes() -> Iterator[None]:
    """Let writes be noted only where they are recorded."""
    with (
        patch.object(tensor_module, "note_write", unless_recorded),
        patch.object(in_place, "note_write", unless_recorded),
    ):
        yield


def unless_recorded(writes: list[int]) -> None:
    """Note a write only where it is recorded."""
    if is_grad_enabled():
        NOTE(writes)


def part_unnoticed() -> Region:
    """A write to a part is not noted."""

    def silent(tensor: Tensor, index: Any, value: Any) -> None:
        before = list(tensor.writes)
        SET_ITEM(tensor, index, value)
        tensor.writes[:] = before

    return patch.object(Tensor, "__setitem__", silent)


def before(function: Callable[[Tensor], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which writes begin with another view of the old value."""
    return lambda: patch.object(in_place, "_before", function)


def leaf_too(tensor: Tensor) -> Tensor:
    """Allow writes to leaves."""
    return Tensor(tensor.array.copy(), tensor.node) if is_grad_enabled() else tensor


def never_a_leaf(tensor: Tensor) -> Tensor:
    """Refuse writes to leaves, recorded or not."""
    if tensor.node is not None and tensor.is_leaf:
        raise RuntimeError(errors.LEAF_IN_PLACE)
    return before_write(tensor)


def not_a_constant(tensor: Tensor) -> Tensor:
    """Refuse writes to all leaves, those that do not require grad included."""
    if is_grad_enabled() and tensor.is_leaf:
        raise RuntimeError(errors.LEAF_IN_PLACE)
    return before_write(tensor)


def same_memory(tensor: Tensor) -> Tensor:
    """Save the memory that is about to be overwritten."""
    old = before_write(tensor)
    return Tensor(tensor.shared_array(), old.node)


def cut_off(tensor: Tensor) -> Tensor:
    """Forget where the old value came from."""
    return Tensor(before_write(tensor).array)


def adopting(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which results are written by another function."""
    return lambda: patch.object(in_place, "_adopt", function)


def outgrows(tensor: Tensor, result: Tensor) -> Tensor:
    """Let a tensor take the shape of what is written."""
    if result.shape == tensor.shape:
        return adopt(tensor, result)
    tensor.array, tensor.node = result.array, result.node
    return tensor


def becomes_constant(tensor: Tensor, result: Tensor) -> Tensor:
    """Cut off what is overwritten while nothing is recorded."""
    adopt(tensor, result)
    if not is_grad_enabled() and not tensor.is_leaf:
        tensor.node = None
    return tensor


def cannot_become_recorded(tensor: Tensor, result: Tensor) -> Tensor:
    """Leave a constant what it is, whatever it is overwritten with."""
    return adopt(tensor, result if tensor.node is not None else Tensor(result.array))


def taking_over(function: Callable[[Tensor, Tensor, Node], None]) -> Callable[[], Region]:
    """Return what makes a region in which tensors move in the graph by another function."""
    return lambda: patch.object(in_place, "_take_over", function)


def stays_where_it_is(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Keep the old node, but for a constant."""
    if tensor.node is None:
        take_over(tensor, result, node)


def onto_itself(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Overlook that what was saved is what was overwritten."""
    take_over(tensor, result, node)
    node.guards = tuple([] if guard and guard[1] > node.number else guard for guard in node.guards)


def hooks_come_along(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Let hooks move with the tensor."""
    hooks = {} if tensor.node is None or tensor.node.watch is None else tensor.node.watch.hooks
    take_over(tensor, result, node)
    if hooks:
        tensor.watch().hooks.update(hooks)


def keeps_no_more(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Forget that the gradient is to be kept."""
    take_over(tensor, result, node)
    tensor.watch().retains = False


def loses_what_was_kept(tensor: Tensor, result: Tensor, node: Node) -> None:
    """Forget the gradient that was kept so far."""
    take_over(tensor, result, node)
    tensor.watch().grad = None


def overwriting(function: Callable[[Tensor, Any], None]) -> Callable[[], Region]:
    """Return what makes a region in which values are written by another method."""
    return lambda: patch.object(Tensor, "overwrite", function)


def in_new_memory(tensor: Tensor, value: Any) -> None:
    """Give the tensor an array of its own, which aliases do not see."""
    array = np.array(np.broadcast_to(value, tensor.shape), dtype=tensor.dtype)
    OVERWRITE(tensor, value)
    tensor.array = array


def copying(copy: Callable[[Tensor, Any], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which tensors are copied onto others by another method."""
    return lambda: patch.object(Tensor, "copy_", copy)


def with_old_history(tensor: Tensor, value: Tensor) -> Tensor:
    """Send gradients to what is gone, too."""
    if not is_grad_enabled() or tensor.node is None or value.shape != tensor.shape:
        return COPY(tensor, value)
    old = tensor.detach().clone()
    tensor.add_(value).sub_(old)
    return tensor


def without_new_history(tensor: Tensor, value: Tensor) -> Tensor:
    """Send no gradients to what was copied."""
    return COPY(tensor, value.detach())


def part_with_old_history() -> Region:
    """What a part was before goes on to receive gradients."""

    def write(tensor: Tensor, index: Any, value: Any) -> None:
        if not is_grad_enabled() or tensor.node is None or tensor.is_leaf:
            SET_ITEM(tensor, index, value)
            return
        new = tensor.detach().clone()
        SET_ITEM(new, index, value)
        old = tensor.detach().clone()
        tensor.add_(new).sub_(old)

    return patch.object(Tensor, "__setitem__", write)


def says_freed() -> Region:
    """An overwritten value is reported as a freed one."""
    return patch.object(errors, "OVERWRITTEN", errors.FREED)


def blames_the_shape() -> Region:
    """A write to a leaf is reported as one of another shape."""
    return patch.object(errors, "LEAF_IN_PLACE", errors.write_shape((), (2,)))


STATEFUL_WRITING_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault(
        "never asks whether a saved value was overwritten",
        "PyTorch documentation: in-place correctness checks",
        checking(for_freed_only),
    ),
    StatefulFault(
        "asks only whether a saved result was overwritten",
        "generic: half of the checks",
        checking(results_only),
    ),
    StatefulFault(
        "asks only whether a saved operand was overwritten",
        "generic: half of the checks",
        checking(operands_only),
    ),
    StatefulFault(
        "takes a write from before it saved for one after",
        "generic: a flag in place of a version",
        checking(for_any_write),
    ),
    StatefulFault("refuses after any write to anything", "generic: one version for all", checking(for_writes_anywhere)),
    StatefulFault(
        "asks once only whether a saved value was overwritten",
        "generic: a check that is remembered",
        sweeping(FreesInSilence),
    ),
    StatefulFault("does not note writes that it does not record", "pytorch/pytorch#14707", noting_recorded_writes),
    StatefulFault("does not note writes to a part", "pytorch/pytorch#57006", part_unnoticed),
    StatefulFault(
        "overwrites leaves that require grad",
        "PyTorch refuses: a leaf Variable that requires grad is being used in an in-place operation",
        before(leaf_too),
    ),
    StatefulFault(
        "never overwrites leaves that require grad", "PyTorch tutorials: updates of weights", before(never_a_leaf)
    ),
    StatefulFault("does not overwrite leaves, constants included", "generic: too strict", before(not_a_constant)),
    StatefulFault("saves the memory that it overwrites", "pytorch/pytorch#7763", before(same_memory)),
    StatefulFault("forgets where an overwritten value came from", "generic: a write makes a leaf", before(cut_off)),
    StatefulFault("lets a tensor outgrow its shape", "generic: a shape nobody checks", adopting(outgrows)),
    StatefulFault("cuts off what it overwrites inside of no_grad", "pytorch/pytorch#14707", adopting(becomes_constant)),
    StatefulFault("records no writes to constants", "pytorch/pytorch#14707", adopting(cannot_become_recorded)),
    StatefulFault(
        "records no writes to computed tensors",
        "generic: a write that the graph does not see",
        taking_over(stays_where_it_is),
    ),
    StatefulFault("multiplies a tensor with itself by its new value", "chainer/chainer#2062", taking_over(onto_itself)),
    StatefulFault(
        "takes hooks along when it overwrites",
        "PyTorch documentation: hooks stay with the value",
        taking_over(hooks_come_along),
    ),
    StatefulFault(
        "forgets to keep a gradient once it overwrites",
        "PyTorch: retain_grad moves to the new value",
        taking_over(keeps_no_more),
    ),
    StatefulFault(
        "loses the kept gradient of what it overwrites", "FluxML/Zygote#1113", taking_over(loses_what_was_kept)
    ),
    StatefulFault("writes to new memory", "generic: x = x + 1 for x += 1", overwriting(in_new_memory)),
    StatefulFault("sends gradients to what was copied over", "pytorch/pytorch#57006", copying(with_old_history)),
    StatefulFault("sends no gradients to what it copies", "generic: a copy of the array", copying(without_new_history)),
    StatefulFault("sends gradients to the part that was written over", "pytorch/pytorch#57006", part_with_old_history),
    StatefulFault("calls an overwritten value a freed one", "generic: the wrong error", says_freed),
    StatefulFault("calls a write to a leaf one of another shape", "generic: the wrong error", blames_the_shape),
)
