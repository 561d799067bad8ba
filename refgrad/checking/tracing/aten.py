"""The operators of ATen, PyTorch's library of kernels, as operators of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.tracing.recorder import (
    Call,
    Row,
    Translator,
    Untraceable,
)
from refgrad.scenario.formats import FORMATS

REDUCTIONS = ("none", "mean", "sum")
"""Ways to reduce losses, in the order of ATen's numbers for them."""


def _scaled(operator: str) -> Call:
    """Return what records a sum or a difference, whose second operand may have a factor."""

    def call(t: Translator, x: Any, y: Any, alpha: Any = 1) -> str:
        return t.row(operator, x, y if alpha == 1 else t.row("multiply", y, alpha))

    return call


def _quotient(t: Translator, x: Any, y: Any, rounding_mode: str = "") -> str:
    if rounding_mode == "floor":
        return t.row("floor_divide", x, y)
    quotient = t.row("divide", x, y)
    return t.row("trunc", quotient) if rounding_mode else quotient


def _loss(operator: str) -> Call:
    def call(t: Translator, x: Any, y: Any, reduction: int = 1, **named: Any) -> str:
        return t.row(operator, x, y, reduction=REDUCTIONS[reduction], **named)

    return call


def _loss_of_classes(operator: str) -> Call:
    def call(t: Translator, x: Any, y: Any, reduction: int = 1, ignore_index: int = -100, **named: Any) -> str:
        kept = np.asarray(t.plain(y)) != ignore_index
        if not kept.all() and (kept.ndim != 1 or REDUCTIONS[reduction] == "none"):
            raise Untraceable(f"it calls {operator} with ignored rows that are not left out of a sum")
        if not kept.all():
            x, y = t.index(x, kept), y[y != ignore_index]
        return t.row(operator, x, target=y.flatten(), reduction=REDUCTIONS[reduction], **named)

    return call


def _soft_margin_loss(t: Translator, x: Any, y: Any, reduction: int = 1) -> str:
    return t.row("soft_margin_loss", x, t.value(y) > 0, reduction=REDUCTIONS[reduction])


def _variance(operator: str) -> Call:
    def call(t: Translator, x: Any, correction: Any = 1, **named: Any) -> str:
        return t.row(operator, x, correction=correction, **named)

    return call


def _norm(t: Translator, x: Any, order: Any = 2, **named: Any) -> str:
    names = {1: "l1_norm", 2: "l2_norm", float("inf"): "max_norm"}
    if order in names:
        return t.row(names[order], x, **named)
    if order <= 0:
        raise Untraceable(f"it calls norm with the order {order}, which the operator table does not have")
    return t.row("vector_norm", x, order=float(order), **named)


def _median(t: Translator, x: Any, axis: Any = None, **named: Any) -> str:
    return t.row("lower_median", t.reshape(x, -1) if axis is None else x, axis=axis or 0, **named)


def _elu(t: Translator, x: Any, alpha: Any = 1, scale: Any = 1) -> str:
    result = t.row("elu", x, alpha=float(alpha))
    return result if scale == 1 else t.row("multiply", result, scale)


def _gelu(t: Translator, x: Any, approximate: str = "none") -> str:
    return t.row("gelu" if approximate == "none" else "gelu_tanh", x)


def _hard_tanh(t: Translator, x: Any, lower: Any = -1, upper: Any = 1) -> str:
    return t.row("hard_tanh", x, lower=float(lower), upper=float(upper))


def _softplus(t: Translator, x: Any, beta: Any = 1, threshold: Any = 20) -> str:
    if beta != 1 and threshold == 20:  # noqa: PLR2004 (ATen's default)
        return t.row("thresholded_softplus", x, beta=float(beta))
    if beta != 1:
        raise Untraceable(f"it calls softplus with beta {beta} and threshold {threshold}")
    result = t.row("softplus", x)
    linear = t.value(x) > threshold
    return t.row("where", linear, x, result) if linear.any() else result


def _nan_to_num(t: Translator, x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> str:
    """Record the replacement of what is not finite, by the largest numbers of the dtype unless others are given."""
    largest = FORMATS[str(x.dtype).removeprefix("torch.")].largest
    upper, lower = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    return t.row("nan_to_num", x, nan=float(nan), posinf=float(upper), neginf=float(lower))


def _select(t: Translator, x: Any, axis: int, indices: Any) -> str:
    return t.row("index", x, index=(*(slice(None),) * (axis % len(t.shape(x))), indices))


def _slice(t: Translator, x: Any, axis: int = 0, **bounds: Any) -> str:
    return _select(t, x, axis, slice(*map(bounds.get, ("start", "end", "step"))))


def _split(t: Translator, x: Any, shape: Any, axis: int = 0) -> list[str]:
    length = t.shape(x)[axis]
    lengths = shape if isinstance(shape, list) else [shape] * -(-length // shape)
    return [_slice(t, x, axis, start=start, end=end) for start, end in pairwise(accumulate(lengths, initial=0))]


def _unbind(t: Translator, x: Any, axis: int = 0) -> list[str]:
    return [_select(t, x, axis, number) for number in range(t.shape(x)[axis])]


def _positions(t: Translator, indices: Sequence[Any]) -> tuple[Any, ...]:
    """Return the tensors of an index as arrays; None stands for all of an axis."""
    return tuple(slice(None) if part is None else np.asarray(t.plain(part)) for part in indices)


def _index(t: Translator, x: Any, indices: Sequence[Any]) -> str:
    return t.index(x, _positions(t, indices))


def _index_put(t: Translator, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, **_: Any) -> str:  # noqa: FBT001, FBT002 (ATen's parameters)
    """Record entries that are written, or added, at an index."""
    shape = t.shape(x)
    targets = np.arange(prod(shape)).reshape(shape)[_positions(t, indices)]
    source = t.reshape(t.row("broadcast_to", values, shape=targets.shape), -1)
    flat = t.row("put", t.reshape(x, -1), source, indices=tuple(targets.ravel().tolist()), accumulate=bool(accumulate))
    return t.row("reshape", flat, shape=shape)


def _scattered(operator: str) -> Call:
    def call(t: Translator, reduce: str, **named: Any) -> str:
        return t.row(operator, reduce={"amax": "max", "amin": "min"}.get(reduce, reduce), **named)

    return call


def _copy(t: Translator, x: Any, src: Any) -> str:
    return t.row("broadcast_to", src, shape=tuple(x.shape))


def _diagonal(t: Translator, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    return t.row("diagonal", x, offset=offset, axes=(dim1, dim2))


def _pad(t: Translator, x: Any, pad: Sequence[int], value: Any = 0) -> str:
    """Record padding by a number; ATen names the last axis first."""
    if any(width < 0 for width in pad):
        raise Untraceable(f"it calls pad with the widths {tuple(pad)}")
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = ((0, 0),) * (len(t.shape(x)) - len(pairs)) + tuple(pairs)
    return t.row("pad", x, pad_width=widths, value=float(value))


def _affine(length: int, weight: Any = None, bias: Any = None) -> tuple[Any, Any]:
    """Return a factor and a term for each channel, where they were left out, too."""
    return np.ones(length) if weight is None else weight, np.zeros(length) if bias is None else bias


def _layer_norm(t: Translator, x: Any, shape: Sequence[int], eps: float, **affine: Any) -> str:
    """Record a normalization along the last axes."""
    size, whole = prod(shape), t.shape(x)
    factor, term = (t.reshape(each, size) for each in _affine(size, **affine))
    rows = t.reshape(x, (prod(whole) // max(size, 1), size))
    return t.row("reshape", t.row("layer_norm", rows, factor, term, eps=eps), shape=whole)


def _channels(t: Translator, x: Any) -> str:
    """Record an array of batch, channels, and the entries of each."""
    batch, channels, *rest = t.shape(x)
    return t.reshape(x, (batch, channels, prod(rest)))


def _group_norm(t: Translator, x: Any, group: int, eps: float, **affine: Any) -> str:
    normalized = t.row("group_norm", _channels(t, x), *_affine(t.shape(x)[1], **affine), groups=group, eps=eps)
    return t.row("reshape", normalized, shape=t.shape(x))


def _batch_norm(t: Translator, x: Any, training: bool, eps: float, **named: Any) -> str:  # noqa: FBT001 (ATen's parameter)
    """Record a normalization by the batch, or by means and variances that are given."""
    mean, variance = named.pop("running_mean", None), named.pop("running_var", None)
    factor, term = _affine(t.shape(x)[1], **named)
    if training:
        return t.row("reshape", t.row("batch_norm", _channels(t, x), factor, term, eps=eps), shape=t.shape(x))
    mean, variance, factor, term = (t.reshape(each, (-1, 1)) for each in (mean, variance, factor, term))
    root = t.row("sqrt", t.row("add", variance, eps))
    standardized = t.row("divide", t.row("subtract", _channels(t, x), mean), root)
    return t.row("reshape", t.row("add", t.row("multiply", standardized, factor), term), shape=t.shape(x))


def _convolution(t: Translator, x: Any, weight: Any, bias: Any = None, **numbers: Any) -> str:
    shape, rank, transposed = t.shape(weight), len(numbers["stride"]), numbers["transposed"]
    if len(set(numbers["dilation"])) > 1 or len(set(numbers["output_padding"])) > 1:
        raise Untraceable("it calls a convolution with another dilation or output padding of each axis")
    more = {"output_padding": numbers["output_padding"][0]} if transposed else {}
    _, terms = _affine(shape[1] * numbers["groups"] if transposed else shape[0], bias=bias)
    windows = _windows(rank, stride=numbers["stride"], padding=numbers["padding"])
    operator = f"conv{'_transpose' * transposed}{rank}d"
    return t.row(operator, x, weight, terms, dilation=numbers["dilation"][0], **windows, **more)


def _windows(rank: int, **numbers: Sequence[int]) -> dict[str, int]:
    """Return numbers of windows by the table's names: one of each kind for one axis, two for two."""
    pairs = {name: tuple(value) * (rank // len(value)) for name, value in numbers.items()}
    if rank == 1:
        return {name: value[0] for name, value in pairs.items()}
    names = {"size": ("height", "width")}
    return {
        key: number
        for name, value in pairs.items()
        for key, number in zip(names.get(name, (f"{name}_h", f"{name}_w")), value, strict=True)
    }


def _pool(operator: str) -> Call:
    """Return what records a reduction of windows of two axes."""

    def call(t: Translator, x: Any, kernel_size: Any, stride: Any = (), padding: Any = (0,), **named: Any) -> str:
        numbers = _windows(2, size=kernel_size, stride=stride or kernel_size, padding=padding)
        return t.row(operator, x, **numbers, **{key: _one(value) for key, value in named.items()})

    return call


def _one(value: Any) -> Any:
    """Return the number that a list repeats."""
    if isinstance(value, list) and len(set(value)) == 1:
        return value[0]
    return value


def _adaptive_average(t: Translator, x: Any, output_size: Sequence[int]) -> str:
    return t.row("adaptive_avg_pool2d", x, height=output_size[0], width=output_size[1])


def _interpolated(t: Translator, x: Any, output_size: Sequence[int], align_corners: bool) -> str:  # noqa: FBT001
    return t.row("interpolate_linear", x, size=output_size[0], align_corners=align_corners)


def _trilinear(t: Translator, x: Any, i2: Any, i3: Any, sumdim: Sequence[int], **expanded: Sequence[int]) -> str:
    """Record a product of three arrays with further axes, and its sum along some axes."""
    names = [t.named(each) for each in (x, i2, i3)]
    for number, axes in enumerate(expanded.values()):
        for axis in axes:
            names[number] = t.row("expand_dims", names[number], axis=axis)
    product = t.row("multiply", t.row("multiply", names[0], names[1]), names[2])
    return t.row("sum", product, axis=tuple(sumdim))


def _attention(t: Translator, query: Any, key: Any, value: Any, is_causal: bool = False, attn_mask: Any = None) -> str:  # noqa: FBT001, FBT002, PLR0913, PLR0917
    if attn_mask is not None:
        return t.row("masked_dot_product_attention", query, key, value, np.isfinite(t.value(attn_mask)))
    return t.row("scaled_dot_product_attention", query, key, value, is_causal=is_causal)


def _solution(t: Translator, x: Any, y: Any) -> str:
    return t.row("solve" if len(t.shape(x)) == len(t.shape(y)) else "solve_vector", x, y)


def _second(operator: str) -> Call:
    """Return what records the second of several results."""
    return lambda t, x, **_: ["", t.row(operator, x)]


ATEN: Mapping[str, Row] = MappingProxyType({
    **{
        name: name
        for name in (
            *("sum", "mean", "prod", "max", "min", "logsumexp", "cumsum", "cumprod", "cummax", "cummin"),
            *("logcumsumexp", "topk", "sort", "kthvalue", "flip", "roll", "tril", "triu", "gather", "index_select"),
            *("index_add", "index_fill", "scatter_add", "masked_fill", "put"),
            *("addcmul", "addcdiv", "addmm", "addmv", "addr", "addbmm", "baddbmm", "embedding", "stack"),
            *("leaky_relu", "celu", "softshrink", "hardshrink", "threshold", "glu", "polygamma", "mvlgamma"),
        )
    },
    **dict.fromkeys(("mm", "mv", "bmm", "dot"), "matmul"),
    **dict.fromkeys(("_softmax", "_safe_softmax"), "softmax"),
    **dict.fromkeys(("_cdist_forward", "_euclidean_dist"), "cdist"),
    "amax": "max",
    "amin": "min",
    "cat": "concatenate",
    "repeat": "tile",
    "unsqueeze": "expand_dims",
    "_log_softmax": "log_softmax",
    "log_sigmoid_forward": "log_sigmoid",
    "_prelu_kernel": "prelu",
    "linalg_cross": "cross",
    "_linalg_det": "det",
    "linalg_inv_ex": "inv",
    "linalg_matrix_exp": "matrix_exp",
    "linalg_pinv": "pinv",
    "linalg_solve_triangular": "solve_triangular",
    "_linalg_solve_ex": _solution,
    "_linalg_slogdet": _second("logabsdet"),
    "_linalg_svd": _second("svdvals"),
    "add": _scaled("add"),
    "sub": _scaled("subtract"),
    "rsub": lambda t, x, y, alpha=1: _scaled("subtract")(t, y, x, alpha),
    "div": _quotient,
    "pow": Translator.power,
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max"), Translator.clip),
    "var": _variance("var"),
    "std": _variance("std"),
    "linalg_vector_norm": _norm,
    "norm": lambda t, x, p=2, **named: _norm(t, x, p, **named),
    "median": _median,
    "elu": _elu,
    "gelu": _gelu,
    "hardtanh": _hard_tanh,
    "softplus": _softplus,
    "nan_to_num": _nan_to_num,
    **{name: _loss(name) for name in ("mse_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy")},
    "binary_cross_entropy_with_logits": _loss("binary_cross_entropy_with_logits"),
    "soft_margin_loss": _soft_margin_loss,
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _loss_of_classes("nll_loss")),
    "multi_margin_loss": _loss_of_classes("multi_margin_loss"),
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "native_batch_norm": _batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_trilinear": _trilinear,
    "convolution": _convolution,
    "max_pool2d_with_indices": _pool("max_pool2d"),
    "avg_pool2d": _pool("avg_pool2d"),
    "_adaptive_avg_pool2d": _adaptive_average,
    "upsample_linear1d": _interpolated,
    **dict.fromkeys(("view", "_unsafe_view", "reshape"), Translator.reshape),
    "expand": Translator.broadcast,
    "squeeze": Translator.squeeze,
    "t": lambda t, x: t.row("transpose", x),
    "permute": lambda t, x, axis: t.row("transpose", x, axes=tuple(axis)),
    "transpose": Translator.swap_axes,
    "select": _select,
    "slice": _slice,
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes"), _split),
    "unbind": _unbind,
    "index": _index,
    **dict.fromkeys(("index_put", "_index_put_impl"), _index_put),
    **{name: _scattered(name) for name in ("scatter_reduce", "index_reduce")},
    "copy": _copy,
    "fill": lambda t, x, value: _copy(t, x, value),  # noqa: PLW0108 (by its name in ATen)
    **dict.fromkeys(("diagonal", "diagonal_copy"), _diagonal),
    "trace": lambda t, x: t.row("sum", _diagonal(t, x)),
    "constant_pad_nd": _pad,
    **dict.fromkeys(
        ("detach", "alias", "clone", "contiguous", "_to_copy", "to", "lift_fresh", "conj_physical"), Translator.same
    ),
})
"""Operators with one result, or several, of which the first is recorded unless a list says otherwise."""

RENAMED: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("self", "input", "A", "x1", "i1"), "x"),
    **dict.fromkeys(("other", "B", "x2", "target", "exponent"), "y"),
    **dict.fromkeys(("min", "min_val"), "lower"),
    **dict.fromkeys(("max", "max_val"), "upper"),
    **dict.fromkeys(("dim", "dims"), "axis"),
    **dict.fromkeys(("size", "normalized_shape", "split_size", "split_sizes"), "shape"),
    "ord": "order",
    "keepdim": "keepdims",
    "index": "indices",
    "tensors": "arrays",
    "shifts": "shift",
    "repeats": "reps",
    "diagonal": "k",
})
"""Parameters of ATen, by the names of the table or of the functions above."""

IGNORED = frozenset({
    "half_to_float", "stable", "sorted", "compute_mode", "memory_format", "non_blocking", "implicit", "momentum",
    "check_errors", "out", "dtype",
    "N", "C", "HxW",
})  # fmt: skip
"""Parameters that do not change a value, or that follow from shapes and dtypes."""

CONSTANTS = frozenset({
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_empty",
    "new_zeros", "new_ones", "new_full", "zero_", "fill_", "normal_", "uniform_", "bernoulli_", "exponential_",
})  # fmt: skip
"""Operators whose result does not depend on the entries of their first argument."""

MOVES = frozenset({
    "scatter", "index_copy", "slice_scatter", "select_scatter", "diagonal_scatter", "masked_scatter", "masked_select",
    "take", "unfold", "im2col", "rot90", "block_diag", "diag_embed", "pixel_shuffle", "pixel_unshuffle",
    "channel_shuffle", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "select_backward", "slice_backward", "diagonal_backward",
})  # fmt: skip
"""Operators that move entries, and may put zeros between them."""
