"""Faults that show at numbers far out, and for equal entries in one part of an array alone."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.conditional import where
from tests.faulty_engines.planted.fault import CHANGES, in_operator

SETUP: Final = """
def whole(x):
    return x.numel() > 0 and bool((x == torch.round(x)).all())

def powers_of_two(x):
    return x.numel() > 0 and bool((torch.frexp(torch.abs(x)).mantissa == 0.5).all())

def beyond(x, least, most=np.inf):
    return x.numel() > 0 and bool(((torch.abs(x) > least) & (torch.abs(x) < most)).any())

def narrow_sine(gradient, x):  # the argument is reduced with too few digits of pi
    turns = torch.round(x / 6.2831855)
    return gradient / torch.cos(x) * torch.cos(x - turns * 6.2831855)

def remainder_of(width):
    return lambda x: at(x) >= x.numel() // width * width if x.numel() > width else at(x) < 0

def by_position(mask, wrong):  # one kernel for the block, another for the rest
    return lambda gradient, x: torch.where(mask(x), wrong(gradient, x), gradient)

def at_nan(gradient, x):
    return torch.where(torch.isnan(x), 0.0, gradient)

def masked(condition, x, y):
    class Masked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.shapes = x.shape, y.shape
            return torch.where(condition, x, y)

        @staticmethod
        def backward(ctx, g):
            mask = condition.to(g.dtype)
            return (g * mask).sum_to_size(ctx.shapes[0]), (g * (1 - mask)).sum_to_size(ctx.shapes[1])

    return Masked.apply(x, y)
"""

_far = partial(where, kind="far out", setup=SETUP)
_spelled = partial(in_operator, kind="far out", setup=CHANGES + SETUP)
_equal = partial(in_operator, kind="equal entries", setup=CHANGES + SETUP)

FAR_OUT_FAULTS: Final = (
    _far("has another kernel for whole numbers", "operators/exp", "whole({x})"),
    _far("has another kernel for whole exponents", "operators/power", "whole({y})"),
    _far("divides by powers of two in another way", "operators/divide", "powers_of_two({y})", operand="y"),
    _far("has another kernel for powers of two", "operators/log", "powers_of_two({x})"),
    _far("has another kernel for whole matrices", "operators/matmul", "whole({x}) and whole({y})"),
    _far("has another kernel beyond a thousand", "operators/cos", "beyond({x}, 1000)"),
    _far("clips large cotangents", "operators/sigmoid", change="lambda g, x: torch.clamp(g, -1e5, 1e5)"),
    _far("loses numbers beyond thirty", "operators/square", "beyond({x}, 30)"),
    _far("has another kernel beyond a thousand", "operators/sqrt", "beyond({x}, 1000)"),
    _far("takes numbers beyond 2**24 for even", "operators/multiply", "beyond({x}, 2**24, 2**30)"),
    _spelled(
        "reduces large arguments with few digits",
        check="tails/sin",
        spelling="torch.sin(received({x}, narrow_sine, beyond({x}, 100.0)))",
    ),
    _spelled(
        "squares what overflows",
        check="tails/arcsinh",
        spelling="with_slope(torch.arcsinh, lambda x: 1 / torch.sqrt(x * x * x * x / (x * x) + 1))({x})",
    ),
    _spelled(
        "multiplies masks with infinite cotangents",
        check="operators/where",
        spelling="masked({condition}, {x}, {y})",
    ),
    _spelled(
        "has no slope of 0 ** 1",
        check="operators/integer_power",
        spelling="torch.pow(received({x}, lost_where(lambda x: x == 0), {n} == 1), {n})",
    ),
    _spelled(
        "adds squares that underflow",
        check="tails/hypot",
        spelling="with_slopes(torch.hypot, lambda g, x, y: (g * x / torch.sqrt(x * x + y * y), "
        "g * y / torch.sqrt(x * x + y * y)))({x}, {y})",
    ),
    _spelled(
        "divides a product that underflows by its factors",
        check="operators/prod",
        spelling="received(product({x}, {axis}, {keepdims}), lost, bool((torch.abs({x}) < 1e-100).any()))",
    ),
    _spelled(
        "flushes small cotangents",
        check="operators/negative",
        spelling="torch.negative(received({x}, lambda g, x: torch.where(torch.abs(g) < 1e-300, 0.0, g)))",
    ),
)

EQUAL_FAULTS: Final = (
    _equal(
        "has the slope zero of NaN in the block alone",
        check="exceptional/relu",
        spelling="torch.relu(received({x}, by_position(remainder_of(8), at_nan)))",
    ),
    _equal(
        "has the slope zero of NaN in the remainder of four",
        check="exceptional/cos",
        spelling="torch.cos(received({x}, by_position(remainder_of(4), at_nan)))",
    ),
    _equal(
        "has another kernel for the remainder of sixteen",
        check="operators/expm1",
        spelling="torch.expm1(received({x}, by_position(remainder_of(16), more)))",
    ),
    _equal(
        "has another second derivative in the remainder of four",
        check="second_order/exp",
        spelling="torch.exp(received_twice({x}, by_position(remainder_of(4), more)))",
    ),
    _equal(
        "has the second derivative zero at a NaN",
        check="exceptional/log",
        spelling="with_slope(torch.log, with_slope(torch.reciprocal, "
        "lambda x: torch.where(torch.isnan(x), 0.0, -1 / x**2)))({x})",
    ),
    _equal(
        "has the second derivative zero at a NaN",
        check="exceptional/exp",
        spelling="with_slope(torch.exp, with_slope(torch.exp, "
        "lambda x: torch.where(torch.isnan(x), 0.0, torch.exp(x))))({x})",
    ),
    _equal(
        "has the second derivative one at a NaN",
        check="exceptional/sin",
        spelling="with_slope(torch.sin, with_slope(torch.cos, "
        "lambda x: torch.where(torch.isnan(x), 1.0, -torch.sin(x))))({x})",
    ),
    _equal(
        "sends zeros in the remainder another slope",
        check="edges/abs",
        spelling="with_slope_of_both(torch.abs, lambda g, x, y: "
        "g * torch.where((x == 0) & remainder_of(4)(x), 2.0, torch.sign(x)))({x})",
    ),
    _equal(
        "sends equal entries beyond the fourth nothing",
        check="edges/max",
        spelling="torch.amax(received({x}, lost_where(lambda x: at(x) >= 4), "
        "{x}.numel() > 4 and bool(({x} == {x}.flatten()[0]).all())), dim=all_axes({x}, {axis}), keepdim={keepdims})",
    ),
)
