"""Mistakes in rules of layers and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.faulty_engines.fault import Fault
from tests.faulty_engines.rules.fused_fault import misruled
from tests.faulty_engines.rules.window_faults import only
from tests.faulty_engines.tapes.fused_tape import pulled, rule_of_steps
from tests.faulty_engines.tapes.tape import Array, Contributions, Node


def by_constants(node: Node, cotangent: Array, axes: int | Sequence[int]) -> Array:
    """Return the gradient of a layer's input as if mean and variance along the axes were constants."""
    x, weight = node.saved("x"), node.saved("weight")
    spread = np.sqrt(np.var(x, axis=tuple(np.atleast_1d(axes)), keepdims=True) + node.attributes["eps"])
    scale = weight if axes == -1 else weight[:, None]
    return np.asarray(cotangent * scale / spread)


def mean_over_batch(right: list[Any], node: Node, index: int) -> Any:
    """Return the gradient of a parameter divided by how many share it, at least one."""
    return right[index] / max(1, node.array.size // max(1, right[index].size))


def beyond(node: Node) -> Array:
    """Whether a difference lies beyond the threshold of the Huber loss."""
    return np.asarray(np.abs(node.saved("x") - node.saved("y")) > node.attributes["delta"])


def unmasked(node: Node, cotangent: Array) -> list[Array | None]:
    """Return what attention without a mask sends."""
    operands = [node.saved(name) for name in ("query", "key", "value")]
    attributes = {"is_causal": False}
    return [*pulled("scaled_dot_product_attention", operands, node.needs[:3], cotangent, attributes), None]


def at_no_distance(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Return the gradient of a variance as if the mean were met."""
    if right[2] is None:
        return right
    operands = [node.saved("x"), node.saved("x"), node.saved("var")]
    return only(2, pulled("gaussian_nll_loss", operands, node.needs, cotangent, node.attributes)[2], right)


LAYER_FAULTS: tuple[Fault, ...] = (
    misruled(
        "softmax",
        "leaves the sum out of the gradient of softmax",
        "generic: the diagonal of the Jacobian alone",
        lambda _right, g, node: [g * node.array],
    ),
    misruled(
        "log_softmax",
        "sums over the last axis in the gradient of log_softmax",
        "HIPS/autograd 747b48b",
        lambda _right, g, node: [g - np.exp(node.array) * g.sum(axis=-1, keepdims=True)] if g.ndim else [g * 0],
    ),
    misruled(
        "scaled_dot_product_attention",
        "forgets to scale the gradient of queries",
        "generic: right for vectors of one entry",
        lambda right, _g, node: right if right[0] is None else only(0, right[0] * np.sqrt(node.shapes[0][-1]), right),
    ),
    misruled(
        "scaled_dot_product_attention",
        "lets keys look ahead in the gradient of causal attention",
        "generic: an attribute that the gradient forgets",
        lambda right, g, node: (
            right if right[1] is None else only(1, rule_of_steps(node, g, is_causal=False)[1], right)
        ),
    ),
    misruled(
        "masked_dot_product_attention",
        "forgets the mask in the gradient of values",
        "generic: an operand that the rule forgets",
        lambda right, g, node: right if right[2] is None else only(2, unmasked(node, g)[2], right),
    ),
    misruled(
        "glu",
        "swaps the halves of a gate in the gradient",
        "generic: right where both halves are equal",
        lambda right, _g, node: [
            np.roll(right[0], right[0].shape[node.attributes["axis"]] // 2, node.attributes["axis"])
        ],
    ),
    misruled(
        "embedding",
        "spares the row of index zero in the gradient of a table",
        "generic: a padding index that nobody asked for",
        lambda right, _g, _node: [np.concatenate([right[0][:1] * 0, right[0][1:]])],
    ),
    misruled(
        "layer_norm",
        "takes mean and variance for constants in the gradient of layer_norm",
        "pytorch/pytorch#186256: saved statistics, at the first order",
        lambda right, g, node: right if right[0] is None else only(0, by_constants(node, g, -1), right),
    ),
    misruled(
        "layer_norm",
        "averages the gradient of the bias of layer_norm over the batch",
        "variant of nd4j#2424",
        lambda right, _g, node: right if right[2] is None else only(2, mean_over_batch(right, node, 2), right),
    ),
    misruled(
        "batch_norm",
        "takes mean and variance for constants in the gradient of batch_norm",
        "generic: the mode of inference in the gradient only",
        lambda right, g, node: right if right[0] is None else only(0, by_constants(node, g, (0, 2)), right),
    ),
    misruled(
        "group_norm",
        "has one group in the gradient of group_norm",
        "generic: an attribute that the gradient forgets",
        lambda _right, g, node: rule_of_steps(node, g, groups=1),
    ),
    misruled(
        "rms_norm",
        "leaves eps out of the gradient of rms_norm",
        "generic: wrong by some millionths",
        lambda right, g, node: right if right[0] is None else only(0, rule_of_steps(node, g, eps=0.0)[0], right),
    ),
    misruled(
        "local_response_norm",
        "takes the neighbours for constants in the gradient of local_response_norm",
        "generic: the diagonal of the Jacobian alone",
        lambda _right, g, node: rule_of_steps(
            node, g, size=1, alpha=node.attributes["alpha"] / node.attributes["size"]
        ),
    ),
    misruled(
        "mse_loss",
        "sums in the gradient of mse_loss, whichever reduction was asked for",
        "pytorch/pytorch#59477: a reduction that the rule forgets",
        lambda right, g, node: (
            right if node.attributes["reduction"] == "none" else rule_of_steps(node, g, reduction="sum")
        ),
    ),
    misruled(
        "kl_div",
        "divides by the number of entries in the gradient of a mean over the batch",
        "generic: a reduction that the rule takes for another",
        lambda right, g, node: (
            rule_of_steps(node, g, reduction="mean") if node.attributes["reduction"] == "batchmean" else right
        ),
    ),
    misruled(
        "cross_entropy",
        "forgets label smoothing in the gradient",
        "generic: an attribute that the gradient forgets",
        lambda _right, g, node: rule_of_steps(node, g, label_smoothing=0.0),
    ),
    misruled(
        "huber_loss",
        "has a slope of one beyond the threshold of huber_loss",
        "generic: right for the default threshold",
        lambda right, _g, node: [
            None if share is None else np.where(beyond(node), share / node.attributes["delta"], share)
            for share in right
        ],
    ),
    misruled(
        "binary_cross_entropy",
        "takes the targets of binary_cross_entropy for constants",
        "FluxML/Zygote.jl 687b3756: an operand that the rule forgets",
        lambda right, _g, node: only(1, np.zeros(node.shapes[1]), right),
    ),
    misruled(
        "gaussian_nll_loss",
        "leaves the distance out of the gradient of a variance",
        "generic: one of two terms",
        at_no_distance,
    ),
    misruled(
        "var",
        "divides by all entries in the gradient of a corrected variance",
        "generic: an attribute that the gradient forgets",
        lambda _right, g, node: rule_of_steps(node, g, correction=0),
    ),
    misruled(
        "l2_norm",
        "gives a slope of two where a norm is zero",
        "pytorch/pytorch#2421, #2721: there NaN, which is a convention",
        lambda right, _g, node: [np.where(np.broadcast_to(_kept(node) == 0, right[0].shape), 2.0, right[0])],
        "edges",
    ),
    misruled(
        "logsumexp",
        "spreads the cotangent of logsumexp evenly where dimensions are kept",
        "generic: keepdims in the gradient only",
        lambda right, g, node: (
            [np.broadcast_to(g / max(1, right[0].size // max(1, g.size)), right[0].shape)]
            if node.attributes["keepdims"]
            else right
        ),
    ),
    misruled(
        "median",
        "gives the lower of two middle entries all that a median sends",
        "generic: another convention forward than in the gradient",
        lambda _right, g, node: pulled("lower_median", [node.saved("x")], node.needs, g, node.attributes),
    ),
    misruled(
        "sort",
        "sends the cotangent of a descending sort where an ascending one took its entries",
        "generic: an attribute that the gradient forgets",
        lambda _right, g, node: rule_of_steps(node, g, descending=False),
    ),
)


def _kept(node: Node) -> Array:
    """Return a reduced value in a shape that meets the operand's."""
    axis = node.attributes["axis"]
    shape = np.add.reduce(np.empty(node.shapes[0]), axis=axis, keepdims=True).shape
    return node.array.reshape(shape)
