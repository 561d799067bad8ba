"""Is memory released when it is no longer needed, and does a long chain need no recursion?"""

import gc
import sys
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import refgrad.engine as torch


@pytest.fixture(autouse=True)
def _without_the_garbage_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_graph_is_released_by_reference_counting_alone() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tanh(torch.exp(x) * x)
    z = torch.cat([y, y[:1]]).sum()
    z.retain_grad()
    z.backward(retain_graph=True)
    watched = [weakref.ref(item) for item in (y, z, y.grad_fn, z.grad_fn)]
    del y, z
    assert [item() for item in watched] == [None] * 4


def test_a_graph_of_recorded_gradients_is_released_too_once_the_leaf_forgets_its_own() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tanh(x).sum()
    (gradient,) = torch.grad(y, x, create_graph=True)
    watched = [weakref.ref(item) for item in (y.grad_fn, gradient, gradient.grad_fn)]
    del y, gradient
    assert [item() for item in watched] == [None] * 3


def test_a_dead_leaf_is_released_though_a_graph_leads_to_it() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 1
    watched = weakref.ref(x)
    del x
    assert watched() is None
    y.sum().backward()


def test_saved_values_are_released_as_backward_passes() -> None:
    x = torch.tensor(np.ones(1000), requires_grad=True)
    y = torch.exp(x)
    z = y.sum()
    watched = weakref.ref(y.array)
    del y
    assert watched() is not None
    z.backward()
    assert watched() is None


def test_deleting_names_changes_nothing_that_backward_needs() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = torch.exp(y) * y
    del y
    z.backward()
    assert x.grad.item() == pytest.approx(4 * np.exp(4) + 16 * np.exp(4))


@pytest.mark.parametrize("length", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_long_chain_is_built_differentiated_and_released_without_recursion(length: int) -> None:
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        for _ in range(length // 2):
            y = y * 1.000001 + 1e-9
        y.backward(retain_graph=True)
        (gradient,) = torch.grad(y, x)
        del y
    finally:
        sys.setrecursionlimit(limit)
    assert x.grad.item() == pytest.approx(1.000001 ** (length // 2))
    assert gradient.item() == x.grad.item()


def test_a_long_chain_is_differentiated_twice() -> None:
    x = torch.tensor(0.5, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = torch.sin(y)
    (first,) = torch.grad(y, x, create_graph=True)
    (second,) = torch.grad(first, x)
    assert np.isfinite(second.item())
