"""The ends of recorded graphs: which leaf they belong to, and what becomes of them when it is copied or gone."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import refgrad.engine as torch
from refgrad.engine.graph.node import AccumulateGrad


def leaf_of(y: Any) -> Any:
    ((end, _), *_) = y.grad_fn.next_functions
    assert isinstance(end, AccumulateGrad)
    return end.variable


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301 (which was made one call earlier)


def test_the_end_of_a_graph_names_the_leaf_itself() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert leaf_of(x * 2) is x
    assert leaf_of(torch.exp(x)) is x
    with pytest.raises(AttributeError, match="variable"):
        torch.exp(x).grad_fn.next_functions[0][0].variable = x


def test_a_computed_node_has_no_variable() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    assert not hasattr(torch.exp(x).grad_fn, "variable")


@pytest.mark.parametrize("values", [2.0, [2.0, 3.0]])
def test_a_leaf_that_is_gone_comes_back_with_its_last_values_and_its_gradient(values: Any) -> None:
    x = torch.tensor(values, requires_grad=True)
    y = torch.sin(x)
    with torch.no_grad():
        x += 1.0
    expected, written = x.tolist(), x._version  # noqa: SLF001 (PyTorch's name)
    del x
    found = leaf_of(y)
    assert found.tolist() == expected
    assert (found.is_leaf, found.requires_grad, found.grad) == (True, True, None)
    assert found._version == written  # noqa: SLF001 (PyTorch's name)
    assert leaf_of(y) is found
    (found * 3).sum().backward()
    assert found.grad.tolist() == torch.full(found.shape, 3.0).tolist()


def test_what_is_written_to_a_scalar_leaf_after_it_was_shared_is_seen_at_its_end() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.sin(x)
    alias = x.detach()
    del x
    alias.fill_(5.0)
    assert leaf_of(y).item() == 5.0


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_of_a_leaf_has_an_end_of_its_own(copied: Callable[[Any], Any]) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    other = copied(x)
    assert leaf_of(other * 2) is other
    assert leaf_of(x * 2) is x
    (other * 3).sum().backward()
    assert (other.grad.tolist(), x.grad.tolist()) == ([5.0, 7.0], [2.0, 4.0])


def test_a_shallow_copy_leaves_the_end_with_the_leaf_that_it_belongs_to() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    other = copy.copy(x)
    assert leaf_of(other * 2) is x


def test_a_frozen_leaf_that_comes_back_receives_again_once_it_requires_grad() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.sin(x)
    x.requires_grad_(requires_grad=False)
    del x
    found = leaf_of(y)
    assert not found.requires_grad
    found.requires_grad_()
    y.backward()
    assert found.grad is not None
