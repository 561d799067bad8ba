"""Tests of what functions take, and of the memory of results: it is their own, whatever numpy's functions return."""

from collections.abc import Callable

import numpy as np

import refgrad.engine as torch
from refgrad.engine import Tensor
from refgrad.engine.operators.recording import owned
from tests.effort import each

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "reshape": lambda x: x.reshape(-1),
    "transpose": lambda x: x.T,
    "slice": lambda x: x[:1],
    "broadcast_to": lambda x: torch.broadcast_to(x, (1, 2, 2)),
    "clip": lambda x: x.clip(-100, 100),
}
"""What numpy answers with a view of its operand, or with the operand itself."""


@each("requires_grad", [False, True])
@each("name", VIEWS)
def test_a_result_shares_no_memory_with_its_operand(name: str, *, requires_grad: bool) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=requires_grad)
    assert not np.shares_memory(VIEWS[name](x).array, x.array)


def test_an_array_of_a_tensor_is_a_copy_if_one_is_asked_for() -> None:
    x = torch.tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(x), x.array)
    assert not np.shares_memory(np.array(x), x.array)


def test_numbers_lists_and_arrays_are_operands_of_functions_with_attributes() -> None:
    assert [torch.sum(x).item() for x in ([1.0, 2.0], np.array([1.0, 2.0]), torch.tensor([1.0, 2.0]))] == [3.0] * 3
    assert torch.clip(5.0, 0.0, 2.0).item() == 2.0


def test_composites_of_truth_values_alone_have_truth_values() -> None:
    flipped = torch.flipud(torch.tensor([[True], [False]]))
    assert (flipped.tolist(), flipped.dtype) == ([[False], [True]], np.bool_)


def test_a_result_that_is_an_operand_or_a_view_is_copied_and_no_other_is() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for shared in (x, y, x[:1]):
        copy = owned(shared, [x, y])
        assert not np.shares_memory(copy, shared)
        assert copy.tolist() == shared.tolist()
    fresh = x + y
    assert owned(fresh, [x, y]) is fresh


RECORDED: dict[str, Callable[[Tensor], Tensor]] = {
    **VIEWS,
    "a function of entries": torch.exp,
    "a reduction": torch.sum,
    "a product": lambda x: x @ x,
    "several operands": lambda x: torch.cat((x, x)),
    "a choice": lambda x: torch.where(x > 0, x, -x),
}


@each("name", RECORDED)
def test_results_of_constants_and_without_recording_have_no_graph(name: str) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with torch.no_grad():
        unrecorded = RECORDED[name](x)
    assert (unrecorded.grad_fn, RECORDED[name](x.detach()).grad_fn) == (None, None)
    assert RECORDED[name](x).grad_fn is not None
