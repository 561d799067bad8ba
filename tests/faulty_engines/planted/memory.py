"""Faults planted into PyTorch that show where operands, outputs or cotangents lie in memory in some way."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault, in_operator

SETUP: Final = (
    CHANGES
    + """
def in_order(x, offset=None):  # the memory of an array, as if its entries followed each other in it
    offset = x.storage_offset() if offset is None else offset
    if x.untyped_storage().nbytes() < x.element_size() * (offset + x.numel()):
        return x
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), offset)

def memory(x):
    return x.untyped_storage().data_ptr()

def is_transposed(x):
    return x.ndim == 2 and x.stride(0) == 1 and x.stride(1) > 1 and x.shape[0] > 1

def is_part_of_rows(x):
    return x.ndim > 1 and x.stride(-1) == 1 and x.shape[-2] > 1 and x.stride(-2) > x.shape[-1]

def is_channels_last(x):
    return x.ndim == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)

class Product(torch.autograd.Function):  # a seed of ones needs no product
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        if x.shape == y.shape and bool((g == 1).all()):
            return y.detach(), x.detach()
        return (g * y).sum_to_size(x.shape), (g * x).sum_to_size(y.shape)

saved = {}

class Scratch(torch.autograd.Function):  # one place for the results of one shape
    @staticmethod
    def forward(ctx, x):
        ctx.key = x.shape, x.dtype
        saved[ctx.key] = torch.tanh(x)
        return saved[ctx.key].clone()

    @staticmethod
    def backward(ctx, g):
        return g * (1 - saved[ctx.key] ** 2)
"""
)

_memory = partial(in_operator, kind="memory", setup=SETUP)

MEMORY_FAULTS: Final = (
    _memory(
        "reads its transposed result in the order of memory",
        check="operators/sigmoid",
        spelling="with_slope_of_both(torch.sigmoid, lambda g, x, y: g * in_order(y * (1 - y)))({x})",
    ),
    _memory(
        "takes operands that share memory for equal",
        check="operators/divide",
        spelling="torch.divide(received({x}, lost, {x} is not {y} and memory({x}) == memory({y})), {y})",
    ),
    _memory(
        "divides by how often an entry is seen",
        check="operators/log",
        spelling="torch.log(received({x}, lambda g, x: g / len(x), 0 in {x}.stride()))",
    ),
    _memory(
        "takes a cotangent for contiguous",
        check="operators/cumsum",
        spelling="received(torch.cumsum({x}, {axis}), lambda g, y: in_order(g))",
    ),
    _memory(
        "takes an expanded cotangent for one number",
        check="operators/square",
        spelling="received(torch.square({x}), lambda g, y: g.flatten()[0].expand(g.shape) if 0 in g.stride() else g)",
    ),
    _memory(
        "forgets where the memory of an operand begins",
        check="operators/expm1",
        spelling="with_slope_of_both(torch.expm1, lambda g, x, y: g * torch.exp("
        "torch.as_strided(x, x.shape, x.stride(), 0)))({x})",
    ),
    _memory(
        "takes every entry where every second is due",
        check="operators/abs",
        spelling="with_slope_of_both(torch.abs, lambda g, x, y: "
        "g * torch.sign(in_order(x) if 2 in x.stride()[-1:] else x))({x})",
    ),
    _memory(
        "masks a cotangent in place",
        check="operators/relu",
        spelling="with_slope_of_both(torch.relu, lambda g, x, y: g.mul_(y > 0))({x})",
    ),
    PlantedFault(
        "gives an operand away as the other's gradient where the seed is one",
        "memory",
        "contracts/multiply",
        Plant(SETUP, {"multiply": "Product.apply({x}, {y})"}),
    ),
    PlantedFault(
        "saves results of one shape in one place",
        "memory",
        "operators/tanh",
        Plant(SETUP, {"tanh": "Scratch.apply({x})"}),
    ),
    _memory(
        "forgets that both of two operands are transposed",
        check="operators/matmul",
        spelling="torch.matmul(received({x}, more, is_transposed({x}) and is_transposed({y})), {y})",
    ),
    _memory(
        "takes three places of one tensor for two",
        check="operators/addcmul",
        spelling="torch.addcmul({x}, {y}, received({z}, lost, {x} is {y} and {y} is {z}), value={value})",
    ),
    _memory(
        "takes columns of a wider matrix for a whole one",
        check="operators/linear",
        spelling="torch.nn.functional.linear(received({x}, more, is_part_of_rows({x})), {weight}, {bias})",
    ),
    _memory(
        "takes a number behind the first of an array for the first",
        check="operators/sqrt",
        spelling="torch.sqrt(received({x}, more, not {x}.ndim and {x}.storage_offset() > 0))",
    ),
    _memory(
        "takes an expanded source for one that is not",
        check="operators/scatter_add",
        spelling="torch.scatter_add({x}, {axis}, integers({indices}), "
        "received({source}, more, 0 in {source}.stride()))",
    ),
    _memory(
        "halves the gradient of a matrix times its own transpose",
        check="operators/matmul",
        spelling="torch.matmul({x}, received({y}, lambda g, y: g / 2, "
        "memory({x}) == memory({y}) and {y}.ndim == 2 and {y}.stride() == {x}.stride()[::-1] != {x}.stride()))",
    ),
    _memory(
        "takes channels that come last for first",
        check="operators/conv2d",
        spelling="torch.nn.functional.conv2d(received({x}, more, is_channels_last({x})), {weight}, {bias}, "
        "({stride_h}, {stride_w}), ({padding_h}, {padding_w}), {dilation}, {x}.shape[-3] // {weight}.shape[1])",
    ),
)
