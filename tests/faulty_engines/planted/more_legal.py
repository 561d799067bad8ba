"""Further choices that an engine is free to make: other formulas, orders, widths and rewritten expressions."""

from __future__ import annotations

from typing import Final

from tests.faulty_engines.planted.fault import Kind, Plant, PlantedFault, in_operator
from tests.faulty_engines.planted.graphs import NOTES

SETUP: Final = """
from torch.utils.checkpoint import checkpoint

def last_of_ties(x, axis, keepdims):
    if not isinstance(axis, int) or not x.ndim:
        return torch.amax(x, dim=all_axes(x, axis), keepdim=keepdims)
    n = x.shape[axis]
    at = n - 1 - torch.argmax(torch.flip(x, (axis,)), dim=axis, keepdim=True)
    y = torch.take_along_dim(x, at, axis)
    return y if keepdims else y.squeeze(axis)

def by_hand(x, axes, weight, bias, eps):
    mean = x.mean(axes, keepdim=True)
    variance = ((x - mean) * (x - mean)).mean(axes, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps) * weight + bias

def by_triangle(x, axis):
    if not x.ndim:
        return torch.cumsum(x, axis)
    n = x.shape[axis]
    return (x.movedim(axis, -1) @ torch.triu(torch.ones(n, n, dtype=x.dtype))).movedim(-1, axis)

def by_windows(x, weight, bias, stride, padding, dilation):  # products of rows of windows and of kernels
    if x.ndim != 4 or x.shape[1] != weight.shape[1]:
        return torch.nn.functional.conv2d(x, weight, bias, stride, padding, dilation, x.shape[-3] // weight.shape[1])
    right = torch.nn.functional.conv2d(x, weight, bias, stride, padding, dilation)
    rows = torch.nn.functional.unfold(x, weight.shape[2:], dilation, padding, stride)
    return (weight.reshape(len(weight), -1) @ rows + bias[:, None]).reshape(right.shape)

def each_by_itself(x, axis, indices, source):
    y = x + 0.0 * source.sum()  # each operand gets a gradient, though nothing is added
    for at, n in np.ndenumerate(np.array(indices, dtype=int)):
        place = list(at)
        place[axis] = n
        y = y.index_put(tuple(torch.tensor(i) for i in place), source[at], accumulate=True)
    return y

def multiplied(x, n):
    y = x * 1.0
    for _ in range(n - 1):
        y = y * x
    return y

def mean_of_shares(x, axes, keepdims):
    right = torch.mean(x, dim=axes, keepdim=keepdims)
    return torch.sum(x / (x.numel() // right.numel()), dim=axes, keepdim=keepdims) if x.numel() else right

def scaled_norm(x, axes, keepdims):
    largest = torch.amax(torch.abs(x.detach()), axes, True) if x.numel() else x
    if not x.numel() or not bool((largest > 0).all()):
        return torch.linalg.vector_norm(x, 2, axes, keepdims)
    y = largest * torch.sqrt(torch.sum((x / largest) ** 2, axes, True))
    return y if keepdims else y.squeeze(axes)

def with_result(function, slope):  # of the result
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = function(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * slope(*ctx.saved_tensors)

    return Function.apply

def wide(function, x, *more):
    narrow = x.dtype in (torch.float16, torch.bfloat16)
    return function(x.float(), *more).to(x.dtype) if narrow else function(x, *more)
"""

_FUSED = """
def after(x, name, fused, right):
    return fused(*operands(x)) if made_by(x, name) else right(x)
"""


def _choice(name: str, check: str, spelling: str, kind: Kind = "values") -> PlantedFault:
    return in_operator(name, kind, check, spelling, SETUP)


def _fused(name: str, **operators: str) -> PlantedFault:
    return PlantedFault(name, "neighbours", "graphs/neighbours", Plant(NOTES + _FUSED, operators))


MORE_LEGAL_CHOICES: Final = (
    _choice("takes the last of tied entries", "edges/max", "last_of_ties({x}, {axis}, {keepdims})"),
    _choice(
        "has the slope one of relu at zero",
        "edges/relu",
        "torch.maximum({x}, {x}.detach() * 0 - (({x} == 0) * 1e-300).to({x}.dtype)) + 0.0",
    ),
    _choice(
        "standardizes in steps", "operators/layer_norm", "by_hand({x}, (-1,), {weight}, {bias}, {eps})", "attributes"
    ),
    _choice("adds with a triangle of ones", "operators/cumsum", "by_triangle({x}, {axis})", "precision"),
    _choice(
        "multiplies windows with kernels",
        "operators/conv2d",
        "by_windows({x}, {weight}, {bias}, ({stride_h}, {stride_w}), ({padding_h}, {padding_w}), {dilation})",
        "windows and indices",
    ),
    _choice(
        "adds one entry after the other",
        "operators/scatter_add",
        "each_by_itself({x}, {axis}, {indices}, {source})",
        "windows and indices",
    ),
    _choice("multiplies again and again", "operators/integer_power", "multiplied({x}, {n})", "precision"),
    _choice(
        "divides by the largest entry before it squares",
        "operators/l2_norm",
        "scaled_norm({x}, all_axes({x}, {axis}), {keepdims})",
        "far out",
    ),
    _choice(
        "has a sum of exponentials for a softplus",
        "operators/softplus",
        "torch.logaddexp({x}, torch.zeros_like({x}))",
        "precision",
    ),
    _choice(
        "sorts in the other direction",
        "operators/sort",
        "torch.flip(torch.sort({x}, dim={axis}, descending=not {descending}).values, ({axis},) if {x}.ndim else ())",
    ),
    _choice(
        "adds half precision up in single precision",
        "half_precision/sum",
        "wide(lambda x: torch.sum(x, dim=all_axes(x, {axis}), keepdim={keepdims}), {x})",
        "narrow dtypes",
    ),
    _choice(
        "standardizes half precision in single precision",
        "half_precision/softmax",
        "wide(lambda x: torch.softmax(x, {axis}), {x})",
        "narrow dtypes",
    ),
    _choice(
        "divides each entry of a mean before it adds",
        "half_precision/mean",
        "mean_of_shares({x}, all_axes({x}, {axis}), {keepdims})",
        "narrow dtypes",
    ),
    _choice(
        "computes a forward again at third order",
        "third_order/tanh",
        "checkpoint(torch.tanh, {x}, use_reentrant=False)",
        "modes over modes",
    ),
    _choice("has a quotient for a tangent", "forward_mode/tan", "torch.sin({x}) / torch.cos({x})", "modes over modes"),
    _choice("multiplies by a reciprocal", "operators/divide", "{x} * torch.reciprocal({y})", "precision"),
    _choice(
        "takes rows by an index",
        "operators/embedding",
        "{weight}[torch.tensor({indices}, dtype=torch.int64) % {weight}.shape[0]]",
        "windows and indices",
    ),
    _fused(
        "takes an operand for the logarithm of its exponential",
        exp="noted('exp', torch.exp({x}), {x})",
        log="after({x}, 'exp', lambda a: a * 1.0, torch.log)",
    ),
    _fused(
        "takes the logarithm of a sigmoid in one step",
        sigmoid="noted('sigmoid', torch.sigmoid({x}), {x})",
        log="after({x}, 'sigmoid', torch.nn.functional.logsigmoid, torch.log)",
    ),
    _fused(
        "negates nothing twice",
        negative="after({x}, 'negative', lambda a: a * 1.0, lambda x: noted('negative', torch.negative(x), x))",
    ),
    _fused(
        "takes a root of an exponential for half of it",
        exp="noted('exp', torch.exp({x}), {x})",
        sqrt="after({x}, 'exp', lambda a: torch.exp(0.5 * a), torch.sqrt)",
    ),
    _choice(
        "has the tail of a sigmoid by its complement",
        "tails/sigmoid",
        "with_result(torch.sigmoid, lambda y: y * (1 - y))({x})",
        "far out",
    ),
    _choice(
        "has the tail of an exponential by one less",
        "tails/expm1",
        "with_result(torch.expm1, lambda y: y + 1)({x})",
        "far out",
    ),
    PlantedFault(
        "lets a graph without values be differentiated again",
        "calls of users",
        "retain_graph/nothing_saved_nothing_freed",
        Plant(templates={"backward": "{output}.backward({seed}, retain_graph={retain_graph})"}),
    ),
)
