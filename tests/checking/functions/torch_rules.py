"""Backward rules that people write for PyTorch, right, and with the mistakes that they make."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checking.functions.case import Case
from tests.checking.functions.torch_inputs import normal, own, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")


def cube(x: Any) -> Any:
    """The cube."""
    return x * x * x


def linear(x: Any, w: Any) -> Any:
    """A layer without a bias."""
    return x @ w.t()


def squares(prediction: Any, target: Any) -> Any:
    """The mean of squared differences."""
    return ((prediction - target) ** 2).mean()


def product(x: Any, y: Any) -> Any:
    """The product."""
    return x * y


def shifted(x: Any, b: Any) -> Any:
    """A bias that is broadcast over rows."""
    return x + b


def softmax_rule(g: Any, x: Any) -> Any:
    """The rule of softmax along the last axis."""
    y = x.softmax(-1)
    return y * (g - (g * y).sum(-1, keepdim=True))


def normalized(x: Any) -> Any:
    """Layer norm."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def norm_rule(g: Any, x: Any) -> Any:
    """The rule of layer norm."""
    scale = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()
    y = (x - x.mean(-1, keepdim=True)) * scale
    return scale * (g - g.mean(-1, keepdim=True) - y * (g * y).mean(-1, keepdim=True))


def scale_only_rule(g: Any, x: Any) -> Any:
    """The rule of layer norm if mean and variance were constants."""
    return g * (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()


def zero_in_one_row(g: Any, x: Any) -> Any:
    """The rule of the cube with one row forgotten."""
    result = 3 * x * x * g
    result[-1] = 0
    return result


def negative_in_one_entry(g: Any, x: Any) -> Any:
    """The rule of the cube with one sign that is flipped."""
    result = 3 * x * x * g
    result.view(-1)[4] *= -1
    return result


def in_float32(g: Any, x: Any) -> Any:
    """The rule of the cube in float32."""
    return (3 * x.float() * x.float() * g.float()).double()


def writes_to_the_seed(g: Any, x: Any) -> Any:
    """The rule of the cube, computed where the cotangent is."""
    return g.mul_(3 * x * x)


def writes_to_saved(g: Any, x: Any) -> Any:
    """The rule of the cube, computed where the input is."""
    return x.data.mul_(x).mul_(3) * g


MATRICES = positive((3, 4), (2, 4))
SQUARES = normal((3, 3), (3, 3))
PAIR = positive((2, 3), (2, 3))
ONE = normal((2, 3))

CASES = (
    Case("cube", own(cube, lambda g, x: 3 * x * x * g), ONE),
    Case("cube, a factor missing", own(cube, lambda g, x: x * x * g), ONE, "a factor of 3 is missing"),
    Case("cube, a thousandth", own(cube, lambda g, x: 3.003 * x * x * g), ONE, "a thousandth too large"),
    Case("cube, sign", own(cube, lambda g, x: -3 * x * x * g), ONE, "the sign"),
    Case("cube, one sign", own(cube, negative_in_one_entry), ONE, "the sign of one entry"),
    Case("cube, one row", own(cube, zero_in_one_row), ONE, "one row gets nothing"),
    Case("cube, nothing", own(cube, lambda g, x: 0 * x * g), ONE, "zeros"),
    Case("cube, constant", own(cube, lambda g, x: 3 * g), ONE, "a constant gradient"),
    Case("cube, ignores the seed", own(cube, lambda g, x: 3 * x * x), ONE, "the cotangent is ignored"),
    Case("cube, squares the seed", own(cube, lambda g, x: 3 * x * x * g * g), ONE, "the cotangent is squared"),
    Case("cube, float32", own(cube, in_float32), ONE, "computed in float32"),
    Case("cube, writes to the seed", own(cube, writes_to_the_seed), ONE, "the cotangent is overwritten"),
    Case("cube, writes to saved", own(cube, writes_to_saved), ONE, "the saved input is overwritten"),
    Case(
        "cube, wrong above 1",
        own(cube, lambda g, x: torch.where(x > 1, 2 * x, 3 * x * x) * g),
        positive((3, 3)),
        "wrong for x > 1",
    ),
    Case("cube, None", own(cube, lambda g, x: None), ONE, "no gradient"),
    Case("linear", own(linear, lambda g, x, w: (g @ w, g.t() @ x)), MATRICES),
    Case(
        "linear, transposed",
        own(linear, lambda g, x, w: (g @ w.t(), (g.t() @ x).t())),
        SQUARES,
        "both are transposed",
    ),
    Case(
        "linear, weight transposed", own(linear, lambda g, x, w: (g @ w, x.t() @ g)), SQUARES, "the second transposed"
    ),
    Case("linear, wrong shape", own(linear, lambda g, x, w: (g @ w, x.t() @ g)), MATRICES, "another shape"),
    Case("linear, swapped", own(linear, lambda g, x, w: (g.t() @ x, g @ w)), SQUARES, "the two are swapped"),
    Case("linear, no weight", own(linear, lambda g, x, w: (g @ w, None)), MATRICES, "the second gets nothing"),
    Case(
        "mean of squares",
        own(squares, lambda g, p, t: (g * 2 * (p - t) / p.numel(), g * 2 * (t - p) / p.numel())),
        PAIR,
    ),
    Case(
        "mean of squares, sum",
        own(squares, lambda g, p, t: (g * 2 * (p - t), g * 2 * (t - p))),
        PAIR,
        "sum for mean",
    ),
    Case(
        "mean of squares, by rows",
        own(squares, lambda g, p, t: (g * 2 * (p - t) / len(p), g * 2 * (t - p) / len(p))),
        PAIR,
        "divided by the number of rows",
    ),
    Case("product", own(product, lambda g, x, y: (g * y, g * x)), PAIR),
    Case("product, second", own(product, lambda g, x, y: (g * y, g * y)), PAIR, "the second input's"),
    Case("product, swapped", own(product, lambda g, x, y: (g * x, g * y)), PAIR, "swapped"),
    Case("bias", own(shifted, lambda g, x, b: (g, g.sum(0))), normal((4, 3), (3,))),
    Case("bias, mean", own(shifted, lambda g, x, b: (g, g.mean(0))), normal((4, 3), (3,)), "mean for sum"),
    Case("bias, summed by PyTorch", own(shifted, lambda g, x, b: (g, g)), normal((4, 3), (3,))),
    Case("bias, first row", own(shifted, lambda g, x, b: (g, g[0])), normal((4, 3), (3,)), "the first row alone"),
    Case("softmax", own(lambda x: x.softmax(-1), softmax_rule), ONE),
    Case(
        "softmax, diagonal",
        own(lambda x: x.softmax(-1), lambda g, x: g * x.softmax(-1) * (1 - x.softmax(-1))),
        ONE,
        "only the diagonal",
    ),
    Case("layer norm", own(normalized, norm_rule), ONE),
    Case("layer norm, scale", own(normalized, scale_only_rule), ONE, "mean and variance as constants"),
    Case("sum, wrong shape", own(lambda x: x.sum(), lambda g, x: g), ONE, "a scalar for a matrix"),
    Case("relu", own(lambda x: x.clamp(min=0), lambda g, x: g * (x > 0)), ONE),
    Case("relu, kept", own(lambda x: x.clamp(min=0), lambda g, x: g), ONE, "below 0 too"),
    Case("gelu", own(torch.nn.functional.gelu, lambda g, x: g * gelu_slope(x)), ONE),
    Case(
        "gelu, by tanh's rule",
        own(torch.nn.functional.gelu, lambda g, x: g * gelu_slope_by_tanh(x)),
        ONE,
        "the derivative of the approximation",
    ),
    Case("log of small numbers", own(lambda x: (x * 1e-6).log(), lambda g, x: g / x), positive((3,))),
    Case(
        "small beside large",
        own(
            lambda x: torch.stack([x[0] * 1e6, x[1] * 1e-6]).sum(), lambda g, x: g * torch.tensor([1e6, 2e-6]).double()
        ),
        positive((2,)),
        "the small one, by a factor of 2",
    ),
)


def gelu_slope(x: Any) -> Any:
    """The derivative of gelu."""
    return 0.5 * (1 + torch.erf(x / 2**0.5)) + x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5


def gelu_slope_by_tanh(x: Any) -> Any:
    """The derivative of the approximation of gelu by tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    outer = (2 / torch.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + inner.tanh()) + 0.5 * x * (1 - inner.tanh() ** 2) * outer
