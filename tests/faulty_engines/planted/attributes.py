"""Faults that show for the attributes, shapes, windows and indices that everybody uses."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.conditional import where

SETUP: Final = """
def as_axes(axis):
    return axis if isinstance(axis, tuple) else () if axis is None else (axis,)

def cycles(axes):  # a permutation that is not its own inverse
    return axes is not None and any(axes[axes[a]] % len(axes) != a for a in range(len(axes)))

def both_stretched(x, y):
    return x.ndim == y.ndim == 2 and x.shape[0] == y.shape[1] == 1 != x.shape[1] * y.shape[0]

def stretched_inside(x, y, rank):
    return x.ndim == y.ndim == rank and any(n == 1 < m for n, m in zip(x.shape[1:-1], y.shape[1:-1]))

def most_of_one(indices):
    flat = np.ravel(np.array(indices, dtype=int))
    return max(np.unique(flat, return_counts=True)[1], default=0)

def around_slice(index):
    kinds = "".join("s" if isinstance(i, slice) else "a" if isinstance(i, tuple) else "i" for i in index)
    return "as" in kinds and "a" in kinds[kinds.index("as") + 1:]
"""

_attribute = partial(where, kind="attributes", setup=SETUP)
_size = partial(where, kind="sizes and ranks", setup=SETUP)
_index = partial(where, kind="windows and indices", setup=SETUP)

ATTRIBUTE_FAULTS: Final = (
    _attribute("is wrong for the usual eps", "operators/layer_norm", "{eps} == 1e-5"),
    _attribute("is wrong for the usual eps and four axes", "operators/layer_norm", "{eps} == 1e-5 and {x}.ndim == 4"),
    _attribute("is wrong for the usual eps and four axes", "operators/batch_norm", "{eps} == 1e-5 and {x}.ndim == 4"),
    _attribute("takes factors of one for none", "operators/addmm", "{beta} == 1 == {alpha}", operand="z"),
    _attribute("sends what a factor of zero has wiped out", "operators/baddbmm", "{beta} == 0", operand="x"),
    _attribute("negates once more for a factor of -1", "operators/index_add", "{alpha} == -1", operand="source"),
    _attribute("is wrong without smoothing", "operators/cross_entropy", "{label_smoothing} == 0"),
    _attribute("takes whole orders for even ones", "operators/vector_norm", "{order} == 3"),
    _attribute(
        "halves an entry that a quantile meets exactly",
        "operators/quantile",
        "{x}.ndim and {x}.shape[{axis}] > 2 and 0 < {q} < 1 and {q} * ({x}.shape[{axis}] - 1) % 1 == 0",
    ),
    _attribute("has another kernel for the usual slope", "operators/leaky_relu", "{negative_slope} == 0.01"),
    _attribute("has another kernel for alpha of one", "operators/elu", "{alpha} == 1"),
    _attribute("has another kernel for delta of one", "operators/huber_loss", "{delta} == 1"),
    _attribute(
        "keeps the wrong axis where it is counted from the end",
        "operators/mean",
        "{keepdims} and any(a < 0 for a in as_axes({axis}))",
    ),
    _attribute(
        "takes two axes in descending order for ascending",
        "operators/logsumexp",
        "as_axes({axis}) != tuple(sorted(as_axes({axis})))",
    ),
    _attribute("moves gradients as it moved entries", "operators/transpose", "cycles({axes})"),
    _attribute(
        "moves gradients of four axes as it moved entries", "operators/transpose", "cycles({axes}) and {x}.ndim > 3"
    ),
    _attribute("takes the axis before the last for the last", "operators/softmax", "{axis} == -2 and {x}.ndim > 2"),
    _attribute("loses a middle axis", "operators/cumprod", "{x}.ndim > 2 and {axis} in (1, -2)"),
    _attribute(
        "swaps axes where an offset is negative",
        "operators/diagonal",
        "{offset} < 0 and {axes}[0] % {x}.ndim > {axes}[1] % {x}.ndim",
    ),
    _attribute(
        "has no slope of a sum that is not reduced", "operators/mse_loss", "{reduction} == 'none' and {x}.ndim > 2"
    ),
    _attribute("corrects the deviation of kept axes twice", "operators/std", "{correction} == 1 and {keepdims}"),
    _attribute("has no room for eight grid lines", "operators/roll", "np.max(np.abs({shift}), initial=0) > 3"),
    _attribute("is wrong for a negative factor alone", "operators/addcmul", "{value} == -1", operand="z"),
    _attribute("has another kernel for a margin of one", "operators/hinge_embedding_loss", "{margin} == 1"),
    _size("adds along one axis where both operands are stretched", "operators/multiply", "both_stretched({x}, {y})"),
    _size(
        "adds along one axis where both are stretched to a square",
        "operators/hypot",
        "both_stretched({x}, {y}) and {x}.shape[1] == {y}.shape[0]",
    ),
    _size("has no stretched axis inside five", "operators/add", "stretched_inside({x}, {y}, 5)"),
    _size("has no stretched axis inside four", "operators/arctan2", "stretched_inside({x}, {y}, 4)"),
    _size("adds along one axis where both operands are stretched", "operators/logaddexp", "both_stretched({x}, {y})"),
    _size("has no stretched axis inside five", "operators/minimum", "stretched_inside({x}, {y}, 5)"),
    _size("has no fifth axis", "operators/group_norm", "{x}.ndim == 5"),
    _size("has no room for images", "operators/batch_norm_inference", "{x}.ndim == 4"),
    _size("counts up to eight channels", "operators/group_norm", "{x}.shape[1] > 8"),
    _size("counts up to eight channels", "operators/instance_norm", "{x}.shape[1] > 8"),
    _size("counts up to eight channels of images", "operators/batch_norm", "{x}.ndim == 4 and {x}.shape[1] > 8"),
    _size("takes the width for the height", "operators/instance_norm", "{x}.ndim == 4 and {x}.shape[2] > {x}.shape[3]"),
)

INDEX_FAULTS: Final = (
    _index(
        "forgets groups that are dilated and strided",
        "operators/conv2d",
        "{x}.shape[-3] != {weight}.shape[1] and {dilation} > 1 and {stride_h} * {stride_w} > 1",
        operand="weight",
    ),
    _index(
        "takes examples of one channel for channels",
        "operators/conv1d",
        "{x}.ndim == 3 and {x}.shape[1] == 1 < len({x})",
    ),
    _index("cuts a padding wider than the kernel", "operators/conv1d", "{padding} >= {weight}.shape[-1]"),
    _index(
        "pads groups at the wrong end",
        "operators/conv_transpose1d",
        "{output_padding} and {bias}.shape[0] != {weight}.shape[1]",
        operand="weight",
    ),
    _index("forgets the last window that is cut off", "operators/max_pool2d", "{ceil_mode} and {padding_h}"),
    _index(
        "divides the last window by its whole size", "operators/avg_pool2d", "{ceil_mode} and not {count_include_pad}"
    ),
    _index("forgets dilated windows that are cut off", "operators/max_pool1d", "{ceil_mode} and {dilation} > 1"),
    _index("forgets windows without overlap", "operators/im2col", "{stride_h} > {height}"),
    _index("puts arrays around a slice in the wrong order", "operators/index", "around_slice({index})"),
    _index(
        "counts from the wrong end in the second of two arrays",
        "operators/index",
        "len([i for i in {index} if isinstance(i, tuple)]) > 1 and np.min({index}[-1]) < 0 "
        "if isinstance({index}[-1], tuple) else False",
    ),
    _index("has room for eight uses of an entry", "operators/gather", "most_of_one({indices}) > 8"),
    _index("has room for eight uses of a row", "operators/embedding", "most_of_one({indices}) > 8", operand="weight"),
    _index("has room for four uses of a row", "operators/index_select", "most_of_one({indices}) > 4"),
    _index("has room for eight uses of an entry", "operators/take", "most_of_one({indices}) > 8"),
    _index("has room for four uses of an entry", "operators/take_flat", "most_of_one({indices}) > 4"),
    _index(
        "has room for eight sums in an entry", "operators/index_add", "most_of_one({indices}) > 8", operand="source"
    ),
    _index(
        "takes lengths of the source for its own",
        "operators/scatter_add",
        "{source}.shape != {x}.shape",
        operand="source",
    ),
    _index(
        "takes lengths of indices for the source's",
        "operators/scatter",
        "np.shape({indices}) != tuple({source}.shape)",
        operand="source",
    ),
    _index(
        "does not sum along a stretched index",
        "operators/take_along_axis",
        "any(n == 1 < m for n, m in zip(np.shape({indices}), {x}.shape))",
    ),
    _index("reads a mask of leading axes as one of all", "operators/boolean_index", "np.ndim({mask}) == 2 < {x}.ndim"),
    _index(
        "writes an array at a slice's place",
        "operators/set_at",
        "any(isinstance(i, tuple) for i in {index}) and {x}.ndim > 2",
        operand="source",
    ),
    _index(
        "interpolates from the wrong corner where it shrinks",
        "operators/interpolate_linear",
        "not {align_corners} and {size} < {x}.shape[-1]",
    ),
)
