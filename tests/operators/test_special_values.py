"""Do the rows of special functions, activations, roundings and losses mean what independent libraries compute?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

from refgrad.interpreter import numpy_forward
from refgrad.operators import Operator, operator_table
from tests.effort import each
from tests.operators.example_attributes import example_attributes

FAMILIES = ("special_functions", "arithmetic", "rounding", "activations", "pointwise_losses")
ROWS = [row for row in operator_table().values() if row.family in FAMILIES]
ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def sigmoid(x: Any) -> Any:
    return special.expit(x)


KNOWN: Mapping[str, Callable[..., Any]] = MappingProxyType({
    **{name: getattr(special, name) for name in ("erf", "erfc", "erfcx", "erfinv", "i0", "i1", "i0e", "i1e", "logit")},
    **{name: getattr(special, name) for name in ("entr", "ndtr", "log_ndtr", "xlog1py", "digamma")},
    **{name: getattr(np, name) for name in ("positive", "cbrt", "deg2rad", "rad2deg", "logaddexp2", "copysign")},
    **{name: getattr(np, name) for name in ("fmax", "fmin", "sign", "floor", "ceil", "trunc", "round", "remainder")},
    "polygamma": lambda x, n: special.polygamma(n, x),
    "fmod": np.fmod,
    "floor_divide": np.floor_divide,
    "nan_to_num": lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf),
    "mvlgamma": special.multigammaln,
    "lgamma": special.gammaln,
    "integer_power": lambda x, n: x ** float(n),
    "rsqrt": lambda x: x**-0.5,
    "ldexp": lambda x, y: x * 2.0**y,
    "lerp": lambda x, y, weight: (1 - weight) * x + weight * y,
    "addcmul": lambda x, y, z, value: x + value * (y * z),
    "addcdiv": lambda x, y, z, value: x + value * (y / z),
    "frac": lambda x: np.modf(x)[0],
    "log_sigmoid": special.log_expit,
    "thresholded_softplus": lambda x, beta: np.where(beta * x > 20, x, np.logaddexp(0, beta * x) / beta),
    "gelu": lambda x: x * special.ndtr(x),
    "gelu_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)),
    "celu": lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
    "selu": lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)),
    "leaky_relu": lambda x, negative_slope: np.maximum(x, 0) + negative_slope * np.minimum(x, 0),
    "prelu": lambda x, alpha: np.maximum(x, 0) + alpha * np.minimum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": np.clip,
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "softshrink": lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    "hardshrink": lambda x, lambd: np.where(np.abs(x) > lambd, x, 0),
    "threshold": lambda x, threshold, value: np.where(x > threshold, x, value),
    "squared_error": lambda x, y: (x - y) ** 2,
    "absolute_error": lambda x, y: np.abs(x - y),
    "huber": lambda x, y, delta: special.huber(delta, x - y),
    "smooth_l1": lambda x, y, beta: special.huber(beta, x - y) / beta,
    "hinge": lambda x, y: np.maximum(0, 1 - x * y),
    "bce": lambda x, y: -special.xlogy(y, x) - special.xlog1py(1 - y, -x),
    "bce_with_logits": lambda x, y: -y * special.log_expit(x) - (1 - y) * special.log_expit(-x),
    "pointwise_kl_div": lambda x, y: special.rel_entr(y, np.exp(x)),
    "poisson_nll": lambda x, y: np.exp(x) - x * y,
    "gaussian_nll": lambda x, y, var: 0.5 * (np.log(var) + (x - y) ** 2 / var),
    "log_cosh": lambda x, y: np.log(np.cosh(x - y)),
})  # fmt: skip


def test_every_row_of_these_families_has_a_value_to_be_compared_with() -> None:
    assert {row.name for row in ROWS} == KNOWN.keys()


@each("row", ROWS)
def test_a_row_has_the_values_of_an_independent_library(row: Operator) -> None:
    random = np.random.default_rng(0)
    operands = [random.uniform(*row.samples[name], 200) for name in row.argument_names]
    attributes = example_attributes(row)
    known = KNOWN[row.name]
    expected = known(*operands, *attributes.values())
    result = numpy_forward(row)(*operands, **attributes)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("x", "even"), [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, 0.0), (-1.5, -2.0)])
def test_halves_are_rounded_to_the_even_neighbour(x: float, even: float) -> None:
    assert numpy_forward(operator_table()["round"])(x) == even


@pytest.mark.parametrize("x", [-30.0, -8.0, -1.0, -0.9, 3.0, 8.0])
def test_log_ndtr_is_right_far_out(x: float) -> None:
    with mpmath.workdps(400):
        truth = float(mpmath.log(mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2))
    assert numpy_forward(operator_table()["log_ndtr"])(x) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("row", [r for r in ROWS if r.vanishes("x")], ids=lambda row: row.name)
def test_the_slope_of_a_step_vanishes(row: Operator) -> None:
    assert row.name in {"sign", "floor", "ceil", "trunc", "round", "floor_divide"}
    assert [edge.kind for edge in row.edges] == ["jump"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_no_finite_number_is_replaced_in_its_own_dtype(dtype: type[np.floating[Any]]) -> None:
    largest = float(np.finfo(dtype).max)
    x = np.array([np.nan, np.inf, -np.inf, 0.0, largest, -largest], dtype=dtype)
    result = numpy_forward(operator_table()["nan_to_num"])(x, nan=1.0, posinf=20.0, neginf=-7.0)
    assert result.dtype == dtype
    assert result.tolist() == [1.0, 20.0, -7.0, 0.0, largest, -largest]
