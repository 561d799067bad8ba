"""Mistakes that record what should not be recorded, or do not record what should be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import refgrad.engine
from refgrad.engine import autograd
from refgrad.engine.functions import creation, in_place
from refgrad.engine.functions.methods import backward
from refgrad.engine.graph.node import AccumulateGrad
from refgrad.engine.graph.sweep import RECORDING, _Switched, is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]

LEAVE = _Switched.__exit__
DETACH = Tensor.detach
REQUIRE = Tensor.requires_grad_


def leaving(leave: Callable[..., None]) -> Callable[[], Region]:
    """Return what makes a region in which modes are left by another method."""
    return lambda: patch.object(_Switched, "__exit__", leave)


def stays(region: _Switched, *_: object) -> None:
    """Leave the mode on."""
    region.before.pop()


def always_records(region: _Switched, *_: object) -> None:
    """Switch recording on, whatever was before."""
    region.before.pop()
    RECORDING.set(True)


def unless_left_by_error(region: _Switched, kind: object, *_: object) -> None:
    """Restore what was before, but for an exception."""
    before = region.before.pop()
    if kind is None:
        RECORDING.set(before)


def keeps_recording(region: _Switched, *exception: object) -> None:
    """Leave recording on once it was switched on."""
    if region.recording:
        region.before.pop()
    else:
        LEAVE(region, *exception)


def ignores_no_grad() -> Region:
    """A region in which nothing should be recorded is any other."""
    return patch.object(refgrad.engine, "no_grad", nullcontext)


def ignores_enable_grad() -> Region:
    """Recording cannot be switched on again."""
    return patch.object(refgrad.engine, "enable_grad", nullcontext)


def leaves_need_recording() -> Region:
    """A leaf that is made while nothing is recorded is a constant."""
    made = creation.tensor

    def tensor(data: Any, **given: Any) -> Tensor:
        return made(data, **{**given, "requires_grad": given["requires_grad"] and is_grad_enabled()})

    return patch.object(refgrad.engine, "tensor", tensor)


def backward_needs_recording() -> Region:
    """A backward does nothing while nothing is recorded."""

    def silent(tensor: Tensor, *given: Any, **named: Any) -> None:
        if is_grad_enabled():
            backward(tensor, *given, **named)

    return patch.object(Tensor, "backward", silent)


def backward_refuses() -> Region:
    """A backward is refused while nothing is recorded."""

    def refusing(tensor: Tensor, *given: Any, **named: Any) -> None:
        if not is_grad_enabled():
            raise RuntimeError("element 0 of tensors does not require grad")
        backward(tensor, *given, **named)

    return patch.object(Tensor, "backward", refusing)


def reshapes_are_recorded() -> Region:
    """A reshape is recorded even where nothing should be."""
    reshape = refgrad.engine.reshape

    def recorded(x: Tensor, shape: Any) -> Any:
        with refgrad.engine.enable_grad():
            return reshape(x, shape)

    return patch.object(refgrad.engine, "reshape", recorded)


def detaching(detach: Callable[[Tensor], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which tensors are detached by another method."""
    return lambda: patch.object(Tensor, "detach", detach)


def not_at_all(tensor: Tensor) -> Tensor:
    """Keep the history."""
    return Tensor(tensor.shared_array(), tensor.node, tensor.writes)


def by_copy(tensor: Tensor) -> Tensor:
    """Take a copy."""
    return Tensor(tensor.array.copy())


def without_note(tensor: Tensor) -> Tensor:
    """Share the memory, but not the note of writes."""
    return Tensor(tensor.shared_array())


def as_leaf(tensor: Tensor) -> Tensor:
    """Begin a new graph."""
    detached = DETACH(tensor)
    return detached.requires_grad_() if tensor.requires_grad else detached


def itself_too(tensor: Tensor) -> Tensor:
    """Cut off the tensor itself."""
    return DETACH(tensor if tensor.is_leaf else tensor.detach_())


def requiring(require: Callable[[Tensor, bool], Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which flags are set by another method."""
    return lambda: patch.object(Tensor, "requires_grad_", require)


def start_only(tensor: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: FBT001, FBT002 (the engine's own)
    """Stop nothing that is a leaf."""
    return tensor if tensor.is_leaf and not requires_grad else REQUIRE(tensor, requires_grad)


def cuts_results(tensor: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: FBT001, FBT002 (the engine's own)
    """Make a constant even of a computed tensor."""
    return tensor.detach_() if not requires_grad and not tensor.is_leaf else REQUIRE(tensor, requires_grad)


def drops_gradient(tensor: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: FBT001, FBT002 (the engine's own)
    """Forget the gradient of what stops."""
    if not requires_grad and tensor.is_leaf:
        tensor.grad = None
    return REQUIRE(tensor, requires_grad)


def starts_anew(tensor: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: FBT001, FBT002 (the engine's own)
    """Make a new place for gradients each time, which graphs that were recorded before do not know."""
    if requires_grad and tensor.node is None:
        grad = tensor.grad
        tensor.node = AccumulateGrad(tensor)
        tensor.node.grad = grad
        return tensor
    return REQUIRE(tensor, requires_grad)


def still_receives() -> Region:
    """A leaf that has stopped goes on to receive by way of graphs that were recorded before."""
    return patch.object(autograd, "_is_open_leaf", lambda node: isinstance(node, AccumulateGrad))


def showing(name: str, flag: Callable[[Tensor], object]) -> Callable[[], Region]:
    """Return what makes a region in which tensors tell another flag."""
    return lambda: patch.object(Tensor, name, property(flag))


def overwriting_records() -> Region:
    """A leaf cannot be overwritten while nothing is recorded either."""
    return patch.object(in_place, "is_grad_enabled", lambda: True)


STATEFUL_MODE_FAULTS: tuple[StatefulFault, ...] = (
    StatefulFault("records inside of no_grad", "pytorch/pytorch#14707", ignores_no_grad),
    StatefulFault("records nothing after a no_grad region", "generic: the mode is not restored", leaving(stays)),
    StatefulFault(
        "records after any region, the one around it notwithstanding",
        "generic: regions are left by switching recording on",
        leaving(always_records),
    ),
    StatefulFault(
        "does not restore the mode after an exception",
        "PyTorch documentation: no_grad is a context manager",
        leaving(unless_left_by_error),
    ),
    StatefulFault(
        "keeps recording after an enable_grad region", "generic: restored by halves", leaving(keeps_recording)
    ),
    StatefulFault("ignores enable_grad inside of no_grad", "PyTorch documentation: enable_grad", ignores_enable_grad),
    StatefulFault(
        "makes constants of leaves inside of no_grad",
        "PyTorch documentation: factory functions are not affected by no_grad",
        leaves_need_recording,
    ),
    StatefulFault(
        "does nothing when it should go back inside of no_grad", "generic: the mode is asked", backward_needs_recording
    ),
    StatefulFault("refuses to go back inside of no_grad", "generic: the mode is asked", backward_refuses),
    StatefulFault("records reshapes inside of no_grad", "pytorch/pytorch#14707", reshapes_are_recorded),
    StatefulFault(
        "refuses to overwrite leaves inside of no_grad", "PyTorch tutorials: updates of weights", overwriting_records
    ),
    StatefulFault("keeps the graph of what it detaches", "generic: detach is forgotten", detaching(not_at_all)),
    StatefulFault("copies what it detaches", "PyTorch documentation: detach shares the storage", detaching(by_copy)),
    StatefulFault(
        "does not see writes by way of a detached alias",
        "PyTorch documentation: in-place correctness checks",
        detaching(without_note),
    ),
    StatefulFault("lets detached tensors require grad", "generic: a flag is copied along", detaching(as_leaf)),
    StatefulFault(
        "cuts off what it detaches from", "PyTorch: detach_ is another thing than detach", detaching(itself_too)
    ),
    StatefulFault(
        "cannot start to record for a constant",
        "generic: a flag nobody reads",
        templates={"set_requires_grad": "{requires_grad} or {x}.requires_grad_(False)"},
    ),
    StatefulFault(
        "cannot stop to record for a leaf", "generic: a frozen parameter that is trained", requiring(start_only)
    ),
    StatefulFault(
        "makes constants of computed tensors",
        "PyTorch refuses: you can only change requires_grad flags of leaf variables",
        requiring(cuts_results),
    ),
    StatefulFault(
        "forgets the gradient of a leaf that it freezes", "generic: one field for both", requiring(drops_gradient)
    ),
    StatefulFault(
        "loses touch with a leaf that was frozen for a while", "generic: a node made anew", requiring(starts_anew)
    ),
    StatefulFault(
        "adds to the gradient of a frozen leaf", "generic: a frozen parameter that is trained", still_receives
    ),
    StatefulFault(
        "says that frozen leaves are none",
        "PyTorch documentation: is_leaf",
        showing("is_leaf", lambda tensor: isinstance(tensor.node, AccumulateGrad)),
    ),
    StatefulFault(
        "says that nothing but leaves requires grad",
        "generic: the flag of results is not set",
        showing("requires_grad", lambda tensor: isinstance(tensor.node, AccumulateGrad)),
    ),
    StatefulFault(
        "says that no operation has made a tensor whose gradient is kept",
        "PyTorch documentation: retain_grad makes no leaf",
        showing("grad_fn", lambda tensor: None if tensor.retains_grad or tensor.is_leaf else tensor.node),
    ),
)
