"""Are contractions what NumPy and SciPy say they are?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import minkowski

from refgrad.generation import operator_scenario
from refgrad.interpreter import Float64, evaluate, keywords, numpy_forward
from refgrad.operators import operator_table
from tests.effort import each


def scaled(product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return beta times z, plus alpha times a product, with both 1 where they are left out."""
    return lambda z, x, y, beta=1.0, alpha=1.0: beta * z + alpha * product(x, y)


def distances(x: Any, y: Any, p: float = 2.0) -> Any:
    """Distances of rows in each pair of matrices."""
    return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], ord=p, axis=-1)


NUMPY: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "einsum": lambda x, y, subscripts: np.einsum(subscripts, x, y),
    "einsum_of_one": lambda x, subscripts: np.einsum(subscripts, x),
    "einsum_of_three": lambda x, y, z, subscripts: np.einsum(subscripts, x, y, z),
    "dot": np.dot,
    "vecdot": lambda x, y, axis=-1: np.sum(x * y, axis=axis),
    "inner": np.inner,
    "outer": np.outer,
    "tensordot": lambda x, y, axes=2: np.tensordot(x, y, axes),
    "kron": np.kron,
    "cross": lambda x, y, axis=-1: np.cross(x, y, axis=axis),
    "matvec": np.matmul,
    "bmm": np.matmul,
    "multi_dot": lambda x, y, z: np.linalg.multi_dot([x, y, z]),
    "addmm": scaled(np.matmul),
    "addmv": scaled(np.matmul),
    "addr": scaled(np.outer),
    "addbmm": scaled(lambda x, y: np.matmul(x, y).sum(axis=0)),
    "baddbmm": scaled(np.matmul),
    "linear": lambda x, weight, bias: np.einsum("...k,mk->...m", x, weight) + bias,
    "bilinear": lambda x, y, weight, bias: np.einsum("ni,oij,nj->no", x, weight, y) + bias,
    "vander": lambda x, columns, increasing=False: np.vander(x, columns, increasing),
    "cdist": distances,
    "pairwise_distance": lambda x, y, p=2.0, eps=1e-6: (np.abs(x - y + eps) ** p).sum(axis=-1) ** (1 / p),
})


@each("name", NUMPY)
@each("seed", range(12))
def test_a_contraction_is_that_of_numpy(name: str, seed: int) -> None:
    scenario = operator_scenario(seed, name)
    (step,) = (step for step in scenario.applications if step.operator == name)
    values = evaluate(scenario, Float64())
    expected = NUMPY[name](*(values[argument] for argument in step.arguments), **keywords(step))
    np.testing.assert_allclose(values[step.name], expected, rtol=1e-12, atol=1e-12)


def test_every_contraction_is_held_against_numpy() -> None:
    assert set(NUMPY) == {name for name, row in operator_table().items() if row.family == "contractions"}


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distances_of_pairs_are_those_of_scipy(p: float) -> None:
    forward = numpy_forward(operator_table()["pairwise_distance"])
    x, y = np.array([1.0, -2.0, 0.5]), np.array([0.25, 3.0, 1.0])
    assert forward(x, y, p=p, eps=0.0) == pytest.approx(minkowski(x, y, p), rel=1e-14)


def test_letters_that_stand_for_two_lengths_are_refused() -> None:
    forward = numpy_forward(operator_table()["einsum"])
    with pytest.raises(ValueError, match="'i' stands for 2 and for 3"):
        forward(np.ones((2, 3)), np.ones((3, 3)), subscripts="ii,jk->jk")
