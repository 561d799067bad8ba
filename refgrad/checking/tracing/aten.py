"""Calls of ATen, PyTorch's library of kernels, that are no single operator of the table with the same arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import isclose, prod, sqrt
from typing import Any

import numpy as np

from refgrad.checking.tracing.recorder import Translator, Untraceable
from refgrad.scenario.formats import FORMATS, Format

THRESHOLD = 20
"""Input from which on ATen's softplus is linear by default, as the table's is that has a factor."""


class AtenCalls(Translator):
    """Records calls of ATen, with their parameters by the names of the table. Its methods are rows of ``specs``."""

    library = "torch"

    def form(self, x: Any) -> Format:
        """Return the format of a tensor."""
        return FORMATS[str(x.dtype).removeprefix("torch.")]

    def scaled(self, x: Any, y: Any, alpha: Any = 1, *, operator: str) -> str:
        """Record a sum or a difference, whose second operand may have a factor."""
        return self.row(operator, x, y if alpha == 1 else self.row("multiply", y, alpha))

    def rsub(self, x: Any, y: Any, alpha: Any = 1) -> str:
        """Record a difference with its operands in the other order."""
        return self.scaled(y, x, alpha, operator="subtract")

    def div(self, x: Any, y: Any, rounding_mode: str = "") -> str:
        """Record a quotient, which may be rounded."""
        if rounding_mode == "floor":
            return self.row("floor_divide", x, y)
        quotient = self.row("divide", x, y)
        return self.row("trunc", quotient) if rounding_mode else quotient

    def loss_of_classes(self, x: Any, y: Any, ignore_index: int, *, operator: str, **named: Any) -> str:
        """Record a loss of classes, without the rows of one class."""
        kept = np.asarray(self.plain(y)) != ignore_index
        if not kept.all() and (kept.ndim != 1 or named.get("reduction") == "none"):
            raise Untraceable(f"it calls {operator} with ignored rows that are not left out of a sum")
        if not kept.all():
            x, y = self.index(x, kept), y[y != ignore_index]
        return self.row(operator, x, target=y.flatten(), **named)

    def soft_margin_loss(self, x: Any, y: Any, **named: Any) -> str:
        """Record a loss of two classes, which are signs."""
        return self.row("soft_margin_loss", x, self.value(y) > 0, **named)

    def norm(self, x: Any, p: Any = 2, **named: Any) -> str:
        """Record a norm of some order."""
        order = named.pop("order", p)
        names = {1: "l1_norm", 2: "l2_norm", float("inf"): "max_norm"}
        if order in names:
            return self.row(names[order], x, **named)
        if order <= 0:
            raise Untraceable(f"it calls norm with the order {order}, which the operator table does not have")
        return self.row("vector_norm", x, order=float(order), **named)

    def median(self, x: Any, axis: Any = None, **named: Any) -> str:
        """Record a median along an axis, or of all entries."""
        return self.row("lower_median", self.ravel(x) if axis is None else x, axis=axis or 0, **named)

    def elu(self, x: Any, alpha: Any = 1, scale: Any = 1) -> str:
        """Record elu, or selu, which has a factor."""
        result = self.row("elu", x, alpha=float(alpha))
        return result if scale == 1 else self.row("multiply", result, scale)

    def gelu(self, x: Any, approximate: str = "none") -> str:
        """Record gelu, or its approximation by tanh. Unless in half precision, ATen adds 1 to erf, which may cancel."""
        if approximate != "none" or self.form(x).narrow:
            return self.row("gelu" if approximate == "none" else "gelu_tanh", x)
        normal = self.row("add", self.row("erf", self.row("multiply", x, sqrt(0.5))), 1.0)
        return self.row("multiply", self.row("multiply", x, 0.5), normal)

    def softplus(self, x: Any, beta: Any = 1, threshold: Any = THRESHOLD) -> str:
        """Record softplus, which is linear from a threshold on."""
        if beta != 1 and threshold == THRESHOLD:
            return self.row("thresholded_softplus", x, beta=float(beta))
        if beta != 1:
            raise Untraceable(f"it calls softplus with beta {beta} and threshold {threshold}")
        result = self.row("softplus", x)
        linear = self.value(x) > threshold
        return self.row("where", linear, x, result) if linear.any() else result

    def nan_to_num(self, x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> str:
        """Record the replacement of what is not finite, by the largest numbers of the dtype unless others are given."""
        largest = self.form(x).largest
        upper, lower = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
        return self.row("nan_to_num", x, nan=float(nan), posinf=float(upper), neginf=float(lower))

    def select(self, x: Any, axis: int, indices: Any) -> str:
        """Record an index, or a slice, along an axis."""
        return self.row("index", x, index=(*(slice(None),) * (axis % len(self.shape(x))), indices))

    def slice(self, x: Any, axis: int = 0, start: Any = None, end: Any = None, step: Any = None) -> str:
        """Record a slice along an axis."""
        return self.select(x, axis, slice(start, end, step))

    def split(self, x: Any, shape: Any, axis: int = 0) -> list[str]:
        """Record slices of some lengths, or of equal length."""
        length = self.shape(x)[axis]
        lengths = shape if isinstance(shape, list) else [shape] * -(-length // shape)
        return [self.slice(x, axis, start, end) for start, end in pairwise(accumulate(lengths, initial=0))]

    def unbind(self, x: Any, axis: int = 0) -> list[str]:
        """Record all indices along an axis."""
        return [self.select(x, axis, number) for number in range(self.shape(x)[axis])]

    def by_tensors(self, indices: Sequence[Any]) -> tuple[Any, ...]:
        """Return the tensors of an index as arrays; None stands for all of an axis."""
        return tuple(slice(None) if part is None else np.asarray(self.plain(part)) for part in indices)

    def index_by_tensors(self, x: Any, indices: Sequence[Any]) -> str:
        """Record an index that consists of tensors."""
        return self.index(x, self.by_tensors(indices))

    def index_put(self, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, **_: Any) -> str:  # noqa: FBT001, FBT002 (ATen's parameters)
        """Record entries that are written, or added, at an index."""
        shape = self.shape(x)
        targets = np.arange(prod(shape)).reshape(shape)[self.by_tensors(indices)]
        source = self.ravel(self.row("broadcast_to", values, shape=targets.shape))
        indices = tuple(targets.ravel().tolist())
        flat = self.row("put", self.ravel(x), source, indices=indices, accumulate=bool(accumulate))
        return self.row("reshape", flat, shape=shape)

    def fill(self, x: Any, value: Any) -> str:
        """Record a number or a tensor that is written to another one."""
        return self.row("broadcast_to", value, shape=tuple(x.shape))

    def diagonal(self, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
        """Record a diagonal."""
        return self.row("diagonal", x, offset=offset, axes=(dim1, dim2))

    def trace(self, x: Any) -> str:
        """Record the sum of a diagonal."""
        return self.row("sum", self.diagonal(x))

    def permute(self, x: Any, axis: Sequence[int]) -> str:
        """Record another order of the axes."""
        return self.row("transpose", x, axes=tuple(axis))

    def pad(self, x: Any, pad: Sequence[int], value: Any = 0) -> str:
        """Record padding by a number; ATen names the last axis first."""
        if any(width < 0 for width in pad):
            raise Untraceable(f"it calls pad with the widths {tuple(pad)}")
        pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
        widths = ((0, 0),) * (len(self.shape(x)) - len(pairs)) + tuple(pairs)
        return self.row("pad", x, pad_width=widths, value=float(value))

    def layer_norm(self, x: Any, shape: Sequence[int], eps: float, **affine: Any) -> str:
        """Record a normalization along the last axes."""
        size = prod(shape)
        arrays = [self.reshape(each, size) for each in _affine(size, **affine)]
        return self.normalized("layer_norm", x, self.rows(x, size), *arrays, eps=eps)

    def rms_norm(self, x: Any, shape: Sequence[int], weight: Any = None, eps: float | None = None) -> str:
        """Record a normalization along the last axes, without a mean; without ``eps``, that of the dtype is added."""
        size = prod(shape)
        factor, _ = _affine(size, weight=weight)
        least = 2 * self.form(x).unit if eps is None else eps
        return self.normalized("rms_norm", x, self.rows(x, size), self.reshape(factor, size), eps=least)

    def rows(self, x: Any, size: int) -> tuple[int, int]:
        """Return the shape with one axis for the last axes, which have ``size`` entries, and one for the others."""
        return prod(self.shape(x)) // max(size, 1), size

    def normalized(self, operator: str, x: Any, inner: tuple[int, ...], *affine: Any, **numbers: Any) -> str:
        """Record a normalization of an array in another shape."""
        return self.row("reshape", self.row(operator, self.reshape(x, inner), *affine, **numbers), shape=self.shape(x))

    def channels(self, x: Any) -> tuple[int, int, int]:
        """Return the shape with one axis for the entries of each channel."""
        batch, channels, *rest = self.shape(x)
        return batch, channels, prod(rest)

    def group_norm(self, x: Any, group: int, eps: float, **affine: Any) -> str:
        """Record a normalization of groups of channels."""
        arrays = _affine(self.shape(x)[1], **affine)
        return self.normalized("group_norm", x, self.channels(x), *arrays, groups=group, eps=eps)

    def batch_norm(self, x: Any, training: bool, eps: float, **named: Any) -> str:  # noqa: FBT001 (ATen's parameter)
        """Record a normalization by the batch, or by means and variances that are given."""
        mean, variance = named.pop("running_mean", None), named.pop("running_var", None)
        factor, term = _affine(self.shape(x)[1], **named)
        if training:
            return self.normalized("batch_norm", x, self.channels(x), factor, term, eps=eps)
        mean, variance, factor, term = (self.reshape(each, (-1, 1)) for each in (mean, variance, factor, term))
        root = self.row("sqrt", self.row("add", variance, eps))
        standardized = self.row("divide", self.row("subtract", self.reshape(x, self.channels(x)), mean), root)
        scaled = self.row("add", self.row("multiply", standardized, factor), term)
        return self.row("reshape", scaled, shape=self.shape(x))

    def convolution(self, x: Any, weight: Any, bias: Any = None, **numbers: Any) -> str:
        """Record a convolution along one or two axes."""
        shape, rank, transposed = self.shape(weight), len(numbers["stride"]), numbers["transposed"]
        if len(set(numbers["dilation"])) > 1 or len(set(numbers["output_padding"])) > 1:
            raise Untraceable("it calls a convolution with another dilation or output padding of each axis")
        more = {"output_padding": numbers["output_padding"][0]} if transposed else {}
        _, terms = _affine(shape[1] * numbers["groups"] if transposed else shape[0], bias=bias)
        windows = _windows(rank, stride=numbers["stride"], padding=numbers["padding"])
        operator = f"conv{'_transpose' * transposed}{rank}d"
        return self.row(operator, x, weight, terms, dilation=numbers["dilation"][0], **windows, **more)

    def pool(
        self, x: Any, kernel_size: Any, stride: Any = (), padding: Any = (0,), *, operator: str, **named: Any
    ) -> str:
        """Record a reduction of windows of two axes."""
        numbers = _windows(2, size=kernel_size, stride=stride or kernel_size, padding=padding)
        return self.row(operator, x, **numbers, **{key: _one(value) for key, value in named.items()})

    def adaptive_average(self, x: Any, output_size: Sequence[int]) -> str:
        """Record means of windows, given how many."""
        return self.row("adaptive_avg_pool2d", x, height=output_size[0], width=output_size[1])

    def interpolated(self, x: Any, output_size: Sequence[int], align_corners: bool) -> str:  # noqa: FBT001 (ATen's parameter)
        """Record a linear interpolation along one axis."""
        return self.row("interpolate_linear", x, size=output_size[0], align_corners=align_corners)

    def trilinear(self, x: Any, i2: Any, i3: Any, sumdim: Sequence[int], **expanded: Sequence[int]) -> str:
        """Record a product of three arrays with further axes, and its sum along some axes."""
        names = [self.named(each) for each in (x, i2, i3)]
        for number, axes in enumerate(expanded.values()):
            for axis in axes:
                names[number] = self.row("expand_dims", names[number], axis=axis)
        product = self.row("multiply", self.row("multiply", names[0], names[1]), names[2])
        return self.row("sum", product, axis=tuple(sumdim))

    def attention(  # noqa: PLR0913 (ATen's parameters)
        self,
        query: Any,
        key: Any,
        value: Any,
        *,
        is_causal: bool = False,
        attn_mask: Any = None,
        scale: float | None = None,
    ) -> str:
        """Record attention, which may have a mask, and another scale than the root of the length of a key."""
        root = sqrt(self.shape(query)[-1])
        if scale is not None and not isclose(scale * root, 1):
            query = self.row("multiply", query, scale * root)
        if attn_mask is not None:
            return self.row("masked_dot_product_attention", query, key, value, np.isfinite(self.value(attn_mask)))
        return self.row("scaled_dot_product_attention", query, key, value, is_causal=is_causal)

    def solution(self, x: Any, y: Any) -> str:
        """Record the solution of equations for a matrix or a vector."""
        return self.row("solve" if len(self.shape(x)) == len(self.shape(y)) else "solve_vector", x, y)

    def second_of(self, x: Any, *, operator: str, **_: Any) -> list[str]:
        """Record the second of several results."""
        return ["", self.row(operator, x)]


def _affine(length: int, weight: Any = None, bias: Any = None) -> tuple[Any, Any]:
    """Return a factor and a term for each channel, where they were left out, too."""
    return np.ones(length) if weight is None else weight, np.zeros(length) if bias is None else bias


def _windows(rank: int, **numbers: Sequence[int]) -> dict[str, int]:
    """Return numbers of windows by the table's names: one of each kind for one axis, two for two."""
    result: dict[str, int] = {}
    for name, value in numbers.items():
        both = ("height", "width") if name == "size" else (f"{name}_h", f"{name}_w")
        result |= dict(zip([name] if rank == 1 else both, tuple(value) * (rank // len(value)), strict=True))
    return result


def _one(value: Any) -> Any:
    """Return the number that a list repeats."""
    return value[0] if isinstance(value, list) and len(set(value)) == 1 else value
