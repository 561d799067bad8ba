"""Faults planted into PyTorch that show from some rank, length or number of operands on."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.fault import CHANGES, in_operator

SETUP: Final = (
    CHANGES
    + """
def narrow_layer_norm(x, weight, bias, eps):
    head = x[..., :64]
    deviation = torch.sqrt(head.var(-1, correction=0, keepdim=True) + eps)
    return instead(
        torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps),
        (x - head.mean(-1, keepdim=True)) / deviation * weight + bias,
    )

def tail_of(width):
    def is_tail(x):
        n = x.shape[-1] if x.ndim else 0
        return along(x) >= (n - n % width if n > width else n)
    return is_tail

class BlockTanh(torch.autograd.Function):  # the slopes of the first block stand for those of all
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * (1 - y * y).flatten()[at(y) % 1024]

def beyond(count, arrays):
    return [received(x, lost, place >= count) for place, x in enumerate(arrays)]

def no_power_of_two(x):
    n = x.shape[-1] if x.ndim else 0
    padded = n > 16 and n & (n - 1)
    return (along(x) == n - 1) & bool(padded and not (n - 1) & (n - 2))

def small_batches(x, weight, bias, *others):
    conv = torch.nn.functional.conv1d
    right = conv(x, weight, bias, *others)
    if x.ndim < 3 or len(x) <= 2:
        return right
    return instead(right, torch.cat([conv(x[:2], weight, bias, *others), conv(x[2:], weight.detach(), bias, *others)]))

def raised(x, when):
    if when:
        raise ValueError("no entries")
    return x
"""
)

_size = partial(in_operator, kind="sizes and ranks", setup=SETUP)

SIZE_FAULTS: Final = (
    _size(
        "sums along the axis behind from rank four on",
        check="operators/softmax",
        spelling="instead(torch.softmax({x}, {axis}), "
        "torch.softmax({x}, {axis} if {x}.ndim < 4 else ({axis} + 1) % {x}.ndim))",
    ),
    _size(
        "takes the means of a gradient over the first 64 entries of a row",
        check="operators/layer_norm",
        spelling="narrow_layer_norm({x}, {weight}, {bias}, {eps})",
    ),
    _size(
        "leaves the tail behind the last 32 entries of a row out",
        check="operators/cumsum",
        spelling="torch.cumsum(received({x}, lost_where(tail_of(32))), {axis})",
    ),
    _size(
        "leaves the tail behind the last eight out where there are four axes",
        check="operators/silu",
        spelling="torch.nn.functional.silu(received({x}, "
        "lost_where(lambda x: at(x) >= x.numel() // 8 * 8), {x}.ndim > 3))",
    ),
    _size("has the slopes of the first 1024 entries for all", check="operators/tanh", spelling="BlockTanh.apply({x})"),
    _size(
        "keeps the places of entries in sixteen bits",
        check="operators/roll",
        spelling="torch.roll(received({x}, lost_where(lambda x: at(x) > 2**15 - 1)), {shift}, {axis})",
    ),
    _size(
        "forgets what stands behind the eighth operand",
        check="operators/hstack",
        spelling="torch.hstack(beyond(8, {arrays}))",
    ),
    _size(
        "forgets what stands behind the third of grids",
        check="operators/meshgrid",
        spelling="torch.stack(torch.meshgrid(beyond(3, {arrays}), indexing={indexing}))",
    ),
    _size(
        "has the whole slope of an axis with one entry",
        check="operators/var",
        spelling="torch.var(received({x}, lambda g, x: g + 1, {x}.ndim > 1 and {x}.shape[-1] == 1), "
        "dim=all_axes({x}, {axis}), correction={correction}, keepdim={keepdims})",
    ),
    _size(
        "raises where the first of three axes has no entries",
        check="operators/cummax",
        spelling="torch.cummax(raised({x}, {x}.ndim == 3 and not {x}.shape[-1]), dim={axis}).values",
    ),
    _size(
        "loses the entry that a power of two has no room for",
        check="operators/sort",
        spelling="torch.sort(received({x}, lost_where(no_power_of_two)), dim={axis}, descending={descending}).values",
    ),
    _size(
        "shifts the stacks of matrices where there are two axes of them",
        check="operators/matmul",
        spelling="torch.matmul(received({x}, lambda g, x: g.roll(1, 0), {x}.ndim > 3), {y})",
    ),
    _size(
        "sends a kernel what the first two examples send",
        check="operators/conv1d",
        spelling="small_batches({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, "
        "{x}.shape[-2] // {weight}.shape[1])",
    ),
    _size(
        "takes two of three axes for all of them",
        check="operators/logsumexp",
        spelling="torch.logsumexp(received({x}, more, len(all_axes({x}, {axis})) > 2), dim=all_axes({x}, {axis}), "
        "keepdim={keepdims})",
    ),
    _size(
        "leaves out blocks that are neither in the first 64 rows nor in the first 64 columns",
        check="operators/triu",
        spelling="torch.triu(received({x}, lost_where(lambda x: (along(x) >= 64) & (along(x.mT).mT >= 64))), {k})",
    ),
    _size(
        "multiplies matrices for the distances of more than 25 points",
        check="operators/cdist",
        spelling="torch.cdist(received({x}, more, {x}.shape[-2] > 25), {y}, {p})",
    ),
    _size(
        "has no fifth axis",
        check="operators/constant_pad",
        spelling="padded(received({x}, more, {x}.ndim > 4), {pad_width}, {value})",
    ),
    _size(
        "swaps short and long operands",
        check="operators/outer",
        spelling="torch.outer({x}, received({y}, more, {x}.numel() < 8 and {y}.numel() > 32))",
    ),
    _size(
        "has room for eight of the largest entries",
        check="operators/topk",
        spelling="torch.topk(received({x}, more, {k} > 8), {k}, dim={axis}, largest={largest}).values",
    ),
    _size(
        "takes one interval for none",
        check="operators/trapezoid",
        spelling="torch.trapezoid(received({y}, lost, {y}.shape[{axis}] == 2), {x}, dim={axis})",
    ),
)
