"""Planted errors are of one order alone, and planting by itself changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import refgrad.engine as reference
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.derived.planting import Application, Error, Site, with_error

X, WEIGHTS = np.array([0.5, 1.25, -2.0]), np.array([1.0, -2.0, 0.5])


def gradients(error: Error | None, order: int = 1) -> Iterator[np.ndarray]:
    """Yield a weighted sine, and its gradients of first, second and third order."""
    x, w = (Tensor(array.copy()).requires_grad_() for array in (X, WEIGHTS))
    result = reference.sin(x)
    if error is not None:
        result = with_error(Application(reference.sin, [x], {}, result), order, error)
    value = result * w
    yield value.array
    for _ in range(3):
        (value,) = reference.grad([value], [x], [Tensor(np.ones(3))], create_graph=True)
        yield value.array


def nothing(site: Site) -> list[np.ndarray]:
    return [0 * each for each in site.right]


def all_of_it(site: Site) -> list[np.ndarray]:
    return list(site.right)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_error_of_zero_changes_no_gradient(order: int) -> None:
    np.testing.assert_array_equal(list(gradients(nothing, order)), list(gradients(None)))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_error_is_of_one_order_alone(order: int) -> None:
    right = list(gradients(None))
    right[order] = 2 * right[order]
    np.testing.assert_array_equal(list(gradients(all_of_it, order)), right)
