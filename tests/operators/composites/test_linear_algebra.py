"""Are determinants, inverses, factors and spectra those of NumPy and SciPy, and exact where matrices are singular?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad import engine
from refgrad.generation import operator_scenario
from refgrad.interpreter import Float64, evaluate, keywords, numpy_forward
from refgrad.operators import operator_table
from refgrad.operators.composites.linear_algebra import NORMALS, SCALING, TERMS, reflection
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import parse
from tests.effort import each

WORST_CONDITION = 1e6


def factors(x: Any) -> tuple[Any, Any]:
    """Q and R with a positive diagonal."""
    q, r = np.linalg.qr(x)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return q * signs[..., None, :], r * signs[..., :, None]


def triangular(x: Any, y: Any, *, upper: bool, unitriangular: bool = False) -> Any:
    """Solutions for one triangle of each matrix."""
    triangle = np.triu(x) if upper else np.tril(x)
    if unitriangular:
        ones = np.eye(x.shape[-1])
        triangle = triangle * (1 - ones) + ones
    return np.linalg.solve(triangle, y)


def transposed(x: Any) -> Any:
    """Each matrix with rows for columns."""
    return np.swapaxes(x, -1, -2)


def spectral(x: Any, order: str = "fro") -> Any:
    """Norm of each matrix."""
    return np.linalg.norm(x, order if order in {"fro", "nuc"} else float(order), axis=(-2, -1))  # type: ignore[arg-type]


NUMPY: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "det": np.linalg.det,
    "logabsdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "logdet": lambda x: np.log(np.linalg.det(x)),
    "inv": np.linalg.inv,
    "solve": np.linalg.solve,
    "solve_vector": np.linalg.solve,
    "solve_triangular": triangular,
    "cholesky_gram": lambda x: np.linalg.cholesky(x @ transposed(x) + np.eye(x.shape[-2])),
    "qr_q": lambda x: factors(x)[0],
    "qr_r": lambda x: factors(x)[1],
    "eigvalsh": lambda x: np.linalg.eigvalsh((x + transposed(x)) / 2),
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "matrix_exp": scipy.linalg.expm,
    "matrix_power": np.linalg.matrix_power,
    "pinv": np.linalg.pinv,
    "lstsq": lambda x, y: np.linalg.pinv(x) @ y,
    "matrix_norm": spectral,
    "trace": lambda x, offset=0, axes=(0, 1): np.trace(x, offset, *axes),
})


@each("name", NUMPY)
@each("seed", range(12))
def test_a_row_is_the_function_of_numpy(name: str, seed: int) -> None:
    scenario = operator_scenario(seed, name)
    (step,) = (step for step in scenario.applications if step.operator == name)
    values = evaluate(scenario, Float64())
    x = values[step.arguments[0]]
    if not x.size or np.linalg.cond(x).max() > WORST_CONDITION:
        return
    expected = NUMPY[name](*(values[argument] for argument in step.arguments), **keywords(step))
    np.testing.assert_allclose(values[step.name], expected, rtol=1e-8, atol=1e-8)


def test_every_row_is_held_against_numpy() -> None:
    assert set(NUMPY) == {name for name, row in operator_table().items() if row.family == "linear_algebra"}


@pytest.mark.parametrize("size", range(1, len(NORMALS) + 1))
def test_a_reflection_undoes_itself_without_error(size: int) -> None:
    numerators, divisor = reflection(size)
    assert (np.matmul(numerators, numerators) == divisor**2 * np.eye(size)).all()


@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.integers(-3, 3), min_size=n * n, max_size=n * n)))
def test_the_certified_slope_of_a_determinant_is_its_cofactors_at_singular_matrices_too(entries: list[int]) -> None:
    size = round(len(entries) ** 0.5)
    x = np.reshape(entries, (size, size)).astype(float)
    x[0] = x[1] * 2  # singular
    numbers = " ".join(float(entry).hex() for entry in x.ravel())
    scenario = parse(f"x = leaf float64[{size},{size}] {{{numbers}}} requires_grad\ny = det x\nbackward y\n")
    certified = CertifiedOracle(scenario).gradient("x", (("y", None),))
    cofactors = [
        [(-1) ** (i + j) * round(np.linalg.det(np.delete(np.delete(x, i, 0), j, 1))) for j in range(size)]
        for i in range(size)
    ]
    assert np.all(np.abs(certified.midpoint - cofactors) <= certified.radius + 1e-12)


SPARSE = st.integers(2, 3).flatmap(
    lambda n: st.lists(st.sampled_from([0.0, 0.0, 0.6, -0.8, 2.4, -2.5, -0.1]), min_size=n * n, max_size=n * n)
)


@pytest.mark.parametrize(
    "call", ["inv x", "matrix_power x n=-1", "matrix_power x n=-2", "solve x y", "pinv x", "lstsq x y"]
)
@given(entries=SPARSE)
def test_what_lapack_makes_of_matrices_with_zeros_is_never_wrong(call: str, entries: list[float]) -> None:
    """An inverse may have entries that are zero but for the rounding of pivots that have nothing to do with them."""
    size = round(len(entries) ** 0.5)
    x = np.reshape(entries, (size, size))
    assume(np.linalg.cond(x) < WORST_CONDITION)
    numbers = " ".join(float(entry).hex() for entry in entries)
    leaves = "".join(f"{name} = leaf float64[{size},{size}] {{{numbers}}}\n" for name in "xy")
    scenario = parse(f"{leaves}z = {call}\n")
    (step,) = scenario.applications
    seen = NUMPY[step.operator](*(x for _ in step.arguments), **keywords(step))
    assert judge(seen, CertifiedOracle(scenario).narrowest_value("z")).outcome in {"passed", "inconclusive"}


def test_the_engine_differentiates_a_determinant_at_a_singular_matrix() -> None:
    x = engine.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    engine.det(x).backward()
    assert x.grad.tolist() == [[4.0, -2.0], [-2.0, 1.0]]


def test_what_the_series_of_the_exponential_leaves_out_is_below_200_bits() -> None:
    size = 3 * operator_table()["matrix_exp"].samples["x"][1] / 2**SCALING
    factorial = 1.0
    for term in range(1, TERMS + 2):
        factorial *= term
    rest = size ** (TERMS + 1) / factorial / (1 - size)
    assert rest * 2**SCALING * np.exp(size * 2**SCALING) < 2.0**-200


@pytest.mark.parametrize("name", ["inv", "solve_triangular", "det", "logdet"])
def test_matrices_that_are_not_square_are_refused(name: str) -> None:
    row = operator_table()[name]
    arrays = [np.ones((2, 3)) for _ in row.arguments]
    with pytest.raises(ValueError, match="not written out"):
        numpy_forward(row)(*arrays, **{"upper": True, "unitriangular": False} if row.attributes else {})


@each("offset", [-2, -1, 0, 1, 2])
@each("axes", [(0, 1), (1, 0), (-1, 0), (1, 2)])
def test_traces_are_those_of_numpy(offset: int, axes: tuple[int, int]) -> None:
    x = np.random.default_rng(6).normal(size=(3, 2, 4))
    row = operator_table()["trace"]
    assert np.allclose(numpy_forward(row)(x, offset=offset, axes=axes), np.trace(x, offset, *axes), rtol=1e-14)


@each("offset", [-2, -1, 0, 1, 2, 3])
@each("shape", [(3, 3), (2, 4), (4, 2), (1, 3)])
def test_the_gradient_of_a_trace_is_one_on_its_diagonal(shape: tuple[int, int], offset: int) -> None:
    x = engine.tensor(np.ones(shape), requires_grad=True)
    engine.trace(x, offset=offset, axes=(0, 1)).backward()
    assert x.grad is not None
    assert x.grad.tolist() == np.eye(*shape, k=offset).tolist()
