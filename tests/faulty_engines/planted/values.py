"""Faults planted into PyTorch that show at certain numbers, ties, indices and masks."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, in_operator

SETUP: Final = (
    CHANGES
    + """
def flushed(x):
    return torch.where((torch.abs(x) < 2.0 ** -1022) & (x != 0), torch.zeros_like(x), x)

def power_rule(n):
    return with_slopes(lambda x: torch.pow(x, n), lambda g, x: (g * n * torch.pow(x, n) / x,))

def counted_twice(indices, weight):
    rows, seen, kept = torch.tensor(indices, dtype=torch.int64) % weight.shape[0], {}, []
    for row in rows.flatten().tolist():
        seen[row] = seen.get(row, 0) + 1
        kept.append(seen[row] <= 2)
    right = torch.nn.functional.embedding(rows, weight)
    mask = torch.tensor(kept, dtype=torch.bool).reshape(rows.shape)[..., None]
    return received(right, lambda g, y: g * mask)

def product(x, axis, keepdims):  # right for one zero
    zeros = int((x == 0).sum())
    y = x
    for a in sorted((a % x.ndim for a in all_axes(x, axis)), reverse=True):
        y = torch.prod(y, dim=a, keepdim=keepdims)
    return y if zeros < 2 else received(y, lambda g, y: g + 0 / (y * 0))

def reversed_order(x):
    return x.ndim == 1 and len(x) > 1 and bool((x[1:] < x[:-1]).all())

def first_of_equals(x, axis, descending):
    y = torch.sort(x, dim=axis, descending=descending).values
    if not x.ndim or x.shape[axis] < 2:
        return y
    order, flat = y.detach().movedim(axis, -1).contiguous(), x.detach().movedim(axis, -1).contiguous()
    sign = -1 if descending else 1
    places = torch.searchsorted(sign * order, sign * flat)
    return instead(y, torch.zeros_like(order).scatter_add(-1, places, x.movedim(axis, -1)).movedim(-1, axis))
"""
)

_value = partial(in_operator, kind="values", setup=SETUP)

VALUE_FAULTS: Final = (
    _value(
        "passes over NaN in a maximum",
        check="exceptional/max",
        spelling="torch.amax(torch.nan_to_num({x}, -1e300, torch.inf, -torch.inf), dim=all_axes({x}, {axis}), "
        "keepdim={keepdims})",
    ),
    _value(
        "masks by a product",
        check="exceptional/masked_fill",
        spelling="{x} * (~{mask}).to({x}.dtype) + {value} * {mask}.to({x}.dtype)",
    ),
    _value(
        "has a NaN for the gradient of what is beside an infinity",
        check="exceptional/lerp",
        spelling="torch.lerp(received({x}, lambda g, x: g + 0 * x.sum()), {y}, {weight})",
    ),
    _value(
        "takes a negative zero for a negative number",
        check="operators/sinh",
        spelling="torch.sinh(received({x}, lost_where(lambda x: torch.signbit(x) & (x == 0))))",
    ),
    _value(
        "flushes subnormals",
        check="exceptional/arctan",
        spelling="torch.arctan(flushed({x}))",
    ),
    _value(
        "adds squares that overflow",
        check="exceptional/hypot",
        spelling="torch.sqrt({x} * {x} + {y} * {y})",
    ),
    _value(
        "selects by a product with ones and zeros",
        check="exceptional/index_select",
        spelling="torch.movedim(torch.tensordot(torch.nn.functional.one_hot(integers({indices}) % {x}.shape[{axis}], "
        "{x}.shape[{axis}]).to({x}.dtype), {x}, dims=([-1], [{axis}])), 0, {axis})",
    ),
    _value(
        "gives each of two equal operands the whole cotangent",
        check="edges/fmin",
        spelling="with_slopes(torch.fmin, lambda g, x, y: (g * (x <= y), g * (y <= x)))({x}, {y})",
    ),
    _value(
        "gives every entry that ties in a window the whole cotangent",
        check="operators/adaptive_max_pool1d",
        spelling="received(torch.nn.functional.adaptive_max_pool1d({x}, {size}), more, "
        "bool(torch.unique({x}).numel() < {x}.numel()))",
    ),
    _value(
        "gives the first of equal entries all that they receive",
        check="edges/sort",
        spelling="first_of_equals({x}, {axis}, {descending})",
    ),
    _value(
        "divides by the base in the slope of x ** 0",
        check="operators/integer_power",
        spelling="power_rule({n})({x})",
    ),
    _value(
        "adds up the logarithms of sizes for a product",
        check="operators/cumprod",
        spelling="instead(torch.cumprod({x}, dim={axis}), torch.cumprod(torch.abs({x}), dim={axis}))",
    ),
    _value(
        "counts rows up to two",
        check="operators/embedding",
        spelling="counted_twice({indices}, {weight})",
    ),
    _value(
        "has no slope where two factors are zero",
        check="operators/prod",
        spelling="product({x}, {axis}, {keepdims})",
    ),
    _value(
        "takes a mask that is true everywhere for none",
        check="operators/masked_select",
        spelling="torch.masked_select(received({x}, lost, all(np.ravel({mask})) and {x}.numel() > 1), truths({mask}))",
    ),
    _value(
        "raises where a mask is true nowhere",
        check="operators/masked_scatter",
        spelling="torch.masked_scatter({x}, truths({mask}, {x}.shape), received({source}, "
        "lambda g, x: g + 1, not np.any({mask})))",
    ),
    _value(
        "takes -1 for the first entry",
        check="operators/select",
        spelling="torch.select(received({x}, lambda g, x: g.roll(1, {axis}), {position} == -1), {axis}, {position})",
    ),
    _value(
        "takes entries in reverse order for sorted",
        check="operators/cummin",
        spelling="torch.cummin(received({x}, more, reversed_order({x})), dim={axis}).values",
    ),
    _value(
        "sends equal entries a large number",
        check="edges/std",
        spelling="torch.std(received({x}, lambda g, x: g + 1e3 * bool((x == x.flatten()[:1]).all())), "
        "dim=all_axes({x}, {axis}), correction={correction}, keepdim={keepdims})",
    ),
    _value(
        "loses the slope at a NaN",
        check="exceptional/exp",
        spelling="torch.exp(received({x}, lambda g, x: torch.nan_to_num(g, 0.0, torch.inf, -torch.inf)))",
    ),
)
