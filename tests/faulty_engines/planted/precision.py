"""Faults planted into PyTorch that show in one dtype, or in the last digits."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault, in_operator

SETUP: Final = (
    CHANGES
    + """
def only(dtype):
    return lambda change: lambda gradient, x: change(gradient, x) if x.dtype == dtype else gradient

def in_eight_bits(gradient, x):
    return gradient.to(torch.float8_e5m2).to(gradient.dtype)

def in_nineteen_bits(x):  # ten of the mantissa
    return (x.view(torch.int32) & -8192).view(torch.float32) if x.dtype == torch.float32 else x

def in_single_precision(gradient, x):
    return gradient.to(torch.float32).to(gradient.dtype)

def mixed(x, y):
    return x.dtype != y.dtype

def slow_root(x):  # one step of Newton's from single precision
    y = torch.rsqrt(x.detach().to(torch.float32)).to(x.dtype)
    y = y * (1.5 - 0.5 * x.detach() * y * y)
    return y

def by_squares(x, axis, correction, keepdims):
    axes = all_axes(x, axis)
    n = int(np.prod([x.shape[a] for a in axes]))
    right = torch.var(x, dim=axes, correction=correction, keepdim=keepdims)
    square, mean = (x * x).mean(axes, keepdims), x.mean(axes, keepdims)
    return (square - mean * mean) * n / (n - correction) if n > correction else right
"""
)

_precise = partial(in_operator, kind="precision", setup=SETUP)
_in_float16: Final = "only(torch.float16)"
_in_bfloat16: Final = "only(torch.bfloat16)"

PRECISION_FAULTS: Final = (
    _precise(
        "keeps cotangents in eight bits in float16",
        check="half_precision/tanh",
        spelling=f"torch.tanh(received({{x}}, {_in_float16}(in_eight_bits)))",
    ),
    _precise(
        "has a kernel for bfloat16 that loses the last entry",
        check="half_precision/cumsum",
        spelling=f"torch.cumsum(received({{x}}, {_in_bfloat16}("
        "lost_where(lambda x: at(x) == x.numel() - 1))), {axis})",
    ),
    _precise(
        "adds up in float16 what overflows",
        check="half_precision/mean",
        spelling="torch.mean(received({x}, lambda g, x: g * torch.where(torch.abs(x) > 2, 0.5, 1.0).to(g.dtype) "
        "if x.dtype == torch.float16 else g), dim=all_axes({x}, {axis}), keepdim={keepdims})",
    ),
    _precise(
        "has the logarithm of ten in single precision",
        check="operators/log10",
        spelling="with_slope(torch.log10, lambda x: 1 / (x * float(np.float32(np.log(10)))))({x})",
    ),
    _precise(
        "takes an exponential off one in the slope of softplus",
        check="operators/softplus",
        spelling="with_slope(lambda x: torch.nn.functional.softplus(x, threshold=40), "
        "lambda x: 1 - torch.exp(-torch.nn.functional.softplus(x, threshold=40)))({x})",
    ),
    _precise(
        "takes the square of the mean off the mean of squares",
        check="operators/var",
        spelling="by_squares({x}, {axis}, {correction}, {keepdims})",
    ),
    _precise(
        "rounds matrices of float32 to ten bits",
        check="operators/matmul",
        spelling="instead(torch.matmul({x}, {y}), torch.matmul(received({x}, lambda g, x: in_nineteen_bits(g)), "
        "received({y}, lambda g, y: in_nineteen_bits(g))))",
    ),
    _precise(
        "ends a root one step of Newton's too early",
        check="operators/rsqrt",
        spelling="with_slope(torch.rsqrt, lambda x: -0.5 * slow_root(x) ** 3)({x})",
    ),
    _precise(
        "has a second derivative in single precision",
        check="second_order/arctan",
        spelling="torch.arctan(received_twice({x}, in_single_precision))",
    ),
    PlantedFault(
        "goes through single precision where dtypes meet",
        "precision",
        "dtypes/mixed_dtypes_return_to_their_leaves",
        Plant(SETUP, {"multiply": "torch.multiply({x}, received({y}, in_single_precision, mixed({x}, {y})))"}),
    ),
    PlantedFault(
        "has a gradient of another dtype than its leaf",
        "precision",
        "dtypes/gradients_keep_the_dtype_of_their_leaf",
        Plant(
            SETUP,
            templates={
                "gradient": "None if {leaf}.grad is None else {leaf}.grad.detach().double().numpy()",
                "gradient_dtype": None,
            },
        ),
    ),
    _precise(
        "loses small results in float16",
        check="half_precision/sigmoid",
        spelling=f"torch.sigmoid(received({{x}}, {_in_float16}("
        "lambda g, x: torch.where(torch.abs(g) < 0.05, 0.0, 1.0).to(g.dtype) * g)))",
    ),
    _precise(
        "takes a series of four terms for small numbers",
        check="operators/tanhshrink",
        spelling="with_slope(torch.nn.functional.tanhshrink, "
        "lambda x: torch.where(torch.abs(x) < 0.5, x**2 - 2 / 3 * x**4 + 17 / 45 * x**6, torch.tanh(x) ** 2))({x})",
    ),
    _precise(
        "computes the complement of the error function from one",
        check="operators/erfc",
        spelling="1 - torch.erf({x})",
    ),
    _precise(
        "adds thousands of entries up in single precision",
        check="operators/mean",
        spelling="instead(torch.mean({x}, dim=all_axes({x}, {axis}), keepdim={keepdims}), "
        "torch.mean(received({x}, in_single_precision, {x}.numel() > 1000), "
        "dim=all_axes({x}, {axis}), keepdim={keepdims}))",
    ),
    _precise(
        "gives float32 the slope of another dtype's rounding",
        check="operators/gelu_tanh",
        spelling="torch.nn.functional.gelu(received({x}, only(torch.float32)(lambda g, x: "
        "g.to(torch.bfloat16).to(torch.float32))), approximate='tanh')",
    ),
)
