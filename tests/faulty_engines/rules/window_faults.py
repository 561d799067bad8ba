"""Mistakes in rules of windows, of scans, and of what is written to places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.faulty_engines.fault import Fault
from tests.faulty_engines.rules.fused_fault import misruled
from tests.faulty_engines.tapes.fused_tape import entry_by_entry, rule_of_steps
from tests.faulty_engines.tapes.tape import Array, Contributions, Node


def last_writer(_right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """What the entries of the result send is written, where it should be added."""
    kept = [np.zeros(shape) if needed else None for shape, needed in zip(node.shapes, node.needs, strict=True)]
    for shares in entry_by_entry(node, cotangent):
        for share, total in zip(shares, kept, strict=True):
            if share is not None and total is not None:
                total[share != 0] = share[share != 0]
    return kept


def only(index: int, share: Any, right: list[Any]) -> Contributions:
    """Return the right answers with one replaced, unless it is not wanted."""
    return [(None if old is None else np.asarray(share)) if place == index else old for place, old in enumerate(right)]


def divided_scan(node: Node, cotangent: Array) -> Array:
    """Divide the products up to each place by each factor, and take what is not a number for zero."""
    x, axis = node.saved("x"), node.attributes["axis"]
    if x.ndim == 0:
        return cotangent
    weighed = np.flip(cotangent * np.cumprod(x, axis=axis), axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.nan_to_num(np.flip(np.cumsum(weighed, axis=axis), axis) / x, posinf=0.0, neginf=0.0)
    return found


def every_tie(node: Node, cotangent: Array) -> Array:
    """Send the cotangent of a running maximum to each entry that equals it so far."""
    x, axis = node.saved("x"), node.attributes["axis"]
    if x.ndim == 0:
        return cotangent
    lines = np.moveaxis(x, axis, -1)
    arriving = np.moveaxis(cotangent, axis, -1)
    share = np.zeros_like(lines)
    for place in range(lines.shape[-1]):
        largest = lines[..., : place + 1].max(axis=-1, keepdims=True)
        attains = lines[..., : place + 1] == largest
        share[..., : place + 1] += attains * arriving[..., place : place + 1]
    return np.moveaxis(share, -1, axis)


def without_padding(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Sum the gradient of the bias over the places that the padding of the output has not added."""
    width = node.attributes["output_padding"]
    if right[2] is None or not width:
        return right
    added = cotangent[..., -width:]
    return only(2, right[2] - added.sum(axis=tuple({0, added.ndim - 1} - {added.ndim - 2})), right)


def overwritten(node: Node, cotangent: Array) -> Array:
    """Return the cotangent without what was written to."""
    kept = cotangent.copy()
    kept[np.asarray(node.attributes["indices"], dtype=np.intp)] = 0
    return kept


WINDOW_FAULTS: tuple[Fault, ...] = (
    misruled(
        "conv1d",
        "turns round the gradient of a kernel that is dilated",
        "generic: dilation in the gradient only",
        lambda right, _g, node: (
            only(1, right[1][..., ::-1], right) if right[1] is not None and node.attributes["dilation"] > 1 else right
        ),
    ),
    misruled(
        "conv1d",
        "is off by one entry in the gradient of what conv1d has padded",
        "generic: padding in the gradient only",
        lambda right, _g, node: (
            only(0, np.roll(right[0], 1, -1), right) if right[0] is not None and node.attributes["padding"] else right
        ),
    ),
    misruled(
        "conv2d",
        "swaps height and width in the gradient of square kernels with two strides",
        "generic: right for equal strides",
        lambda right, _g, node: (
            only(1, np.swapaxes(right[1], -1, -2), right)
            if right[1] is not None
            and right[1].shape[-1] == right[1].shape[-2]
            and node.attributes["stride_h"] != node.attributes["stride_w"]
            else right
        ),
    ),
    misruled(
        "conv2d",
        "mixes the groups of a convolution up in the gradient of its kernel",
        "generic: right for one group",
        lambda right, _g, node: (
            only(1, right[1][::-1], right) if right[1] is not None and node.shapes[0][-3] > node.shapes[1][1] else right
        ),
    ),
    misruled(
        "conv_transpose1d",
        "leaves the padding of the output out of the bias of conv_transpose1d",
        "generic: an attribute that the gradient forgets",
        without_padding,
    ),
    misruled(
        "max_pool1d",
        "lets pools that overlap overwrite each other's gradients",
        "generic: scatter where scatter_add is meant",
        last_writer,
    ),
    misruled(
        "avg_pool1d",
        "counts the padding in the gradient of avg_pool1d, counted or not",
        "generic: count_include_pad in the gradient only",
        lambda _right, g, node: rule_of_steps(node, g, count_include_pad=True),
    ),
    misruled(
        "interpolate_linear",
        "does not look at align_corners in the gradient",
        "generic: an attribute that the gradient forgets",
        lambda _right, g, node: rule_of_steps(node, g, align_corners=False),
    ),
    misruled(
        "cumsum",
        "sums the cotangent of cumsum along the first axis",
        "HIPS/autograd 747b48b",
        lambda _right, g, node: rule_of_steps(node, g, axis=0),
    ),
    misruled(
        "logcumsumexp",
        "takes a negative axis of logcumsumexp for the last one",
        "generic: right for axes counted from the start",
        lambda _right, g, node: rule_of_steps(node, g, axis=max(node.attributes["axis"], -1)),
    ),
    misruled(
        "cumprod",
        "divides by the factors of cumprod, and takes NaN for zero",
        "tensorflow/tensorflow#119430",
        lambda _right, g, node: [divided_scan(node, g)],
    ),
    misruled(
        "cummax",
        "gives each of tied entries the whole cotangent of cummax",
        "pytorch/pytorch#56734",
        lambda _right, g, node: [every_tie(node, g)],
        "edges",
    ),
    misruled(
        "trapezoid",
        "takes the places of trapezoid for constants",
        "FluxML/Zygote.jl 687b3756: an operand that the rule forgets",
        lambda right, _g, node: only(1, np.zeros(node.shapes[1]), right),
    ),
    misruled(
        "scatter",
        "sends a gradient to entries that scatter has overwritten",
        "pytorch/pytorch#57006",
        lambda right, g, _node: only(0, g, right),
    ),
    misruled(
        "index_copy",
        "sends a gradient to rows that index_copy has overwritten",
        "pytorch/pytorch#473",
        lambda right, g, _node: only(0, g, right),
    ),
    misruled(
        "index_add",
        "forgets alpha in the gradient of what index_add adds",
        "generic: an attribute that the gradient forgets",
        lambda right, _g, node: right if right[1] is None else only(1, rule_of_steps(node, _g, alpha=1.0)[1], right),
    ),
    misruled(
        "index_put",
        "takes what index_put adds to for overwritten",
        "tensorflow/tensorflow#7397",
        lambda right, g, node: only(0, overwritten(node, g), right) if node.attributes["accumulate"] else right,
    ),
    misruled(
        "scatter_reduce",
        "gives entries a part in scatter_reduce that are not included",
        "generic: include_self in the gradient only",
        lambda _right, g, node: rule_of_steps(node, g, include_self=True),
    ),
    misruled(
        "gather",
        "overwrites repeated entries of gather",
        "pytorch/pytorch#57006",
        last_writer,
    ),
    misruled(
        "pad_by_copies",
        "overwrites where copies of an entry stand in a padding",
        "generic: scatter where scatter_add is meant",
        last_writer,
    ),
    misruled(
        "roll",
        "rolls the cotangent on, not back",
        "generic: right for half a turn",
        lambda _right, g, node: [np.roll(g, node.attributes["shift"], node.attributes["axis"])],
    ),
    misruled(
        "tril",
        "keeps the main diagonal in the gradient of tril, whichever was asked for",
        "HIPS/autograd 25c1b84",
        lambda _right, g, node: rule_of_steps(node, g, k=0),
    ),
)
