"""Losses of regression and classification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.operators.operator import Composite, Operators

REDUCTIONS: Mapping[str, Callable[[Operators, Any], Any]] = MappingProxyType({
    "mean": lambda ops, losses: ops.mean(losses),
    "sum": lambda ops, losses: ops.sum(losses),
    "none": lambda _ops, losses: losses,
})


def reduced(ops: Operators, losses: Any, reduction: str) -> Any:
    """Return the mean or the sum of the losses, or the losses themselves."""
    return REDUCTIONS[reduction](ops, losses)


def mse_loss(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Return the squared differences."""
    return reduced(ops, ops.square(ops.subtract(x, y)), reduction)


def l1_loss(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Return the absolute differences."""
    return reduced(ops, ops.abs(ops.subtract(x, y)), reduction)


def _huber(ops: Operators, x: Any, y: Any, delta: float) -> Any:
    """Return c (d - c / 2), where d is the difference, and c is d clipped to [-delta, delta]."""
    difference = ops.subtract(x, y)
    limited = ops.maximum(ops.minimum(difference, delta), -delta)
    return ops.multiply(limited, ops.subtract(difference, ops.divide(limited, 2.0)))


def huber_loss(ops: Operators, x: Any, y: Any, *, delta: float, reduction: str) -> Any:
    """Return the Huber loss: half the squared difference up to ``delta``, and linear with slope ``delta`` beyond."""
    return reduced(ops, _huber(ops, x, y, delta), reduction)


def smooth_l1_loss(ops: Operators, x: Any, y: Any, *, beta: float, reduction: str) -> Any:
    """Return the Huber loss with threshold ``beta``, divided by ``beta``: absolute differences, smooth near 0."""
    return reduced(ops, ops.divide(_huber(ops, x, y, beta), beta), reduction)


def binary_cross_entropy(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Return the binary cross-entropy of prediction ``x`` and target ``y``."""
    ones, zeros = ops.xlogy(y, x), ops.xlogy(ops.subtract(1.0, y), ops.subtract(1.0, x))
    return reduced(ops, ops.negative(ops.add(ones, zeros)), reduction)


def binary_cross_entropy_with_logits(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Return the binary cross-entropy of logits ``x`` and target ``y``."""
    return reduced(ops, ops.subtract(ops.softplus(x), ops.multiply(x, y)), reduction)


def kl_div(ops: Operators, x: Any, y: Any, *, log_target: bool, reduction: str) -> Any:
    """Return the Kullback-Leibler divergence of a target from log-probabilities ``x``.

    The target is ``y``, or exp(y) with ``log_target``. A ``batchmean`` divides the sum by the length of the first axis.
    Raises ValueError if there is no such axis or it is empty.
    """
    if log_target:
        losses = ops.multiply(ops.exp(y), ops.subtract(y, x))
    else:
        losses = ops.subtract(ops.xlogy(y, y), ops.multiply(y, x))
    if reduction != "batchmean":
        return reduced(ops, losses, reduction)
    if not any(x.shape[:1]):
        raise ValueError(f"an array of shape {x.shape} is no batch")
    return ops.divide(ops.sum(losses), float(x.shape[0]))


def gaussian_nll_loss(ops: Operators, x: Any, y: Any, var: Any, *, full: bool, reduction: str) -> Any:
    """Return the negative log-density at ``y`` of a normal with mean ``x``, including the constant if ``full``."""
    distance = ops.divide(ops.square(ops.subtract(x, y)), var)
    losses = ops.multiply(0.5, ops.add(ops.log(var), distance))
    return reduced(ops, ops.add(losses, 0.5 * log(2 * pi)) if full else losses, reduction)


def poisson_nll_loss(ops: Operators, x: Any, y: Any, *, log_input: bool, eps: float, reduction: str) -> Any:
    """Return the negative Poisson log-likelihood of ``y`` with mean exp(x) or x, without the constant log(y!)."""
    if log_input:
        return reduced(ops, ops.subtract(ops.exp(x), ops.multiply(y, x)), reduction)
    return reduced(ops, ops.subtract(x, ops.multiply(y, ops.log(ops.add(x, eps)))), reduction)


def soft_margin_loss(ops: Operators, x: Any, positive: Any, *, reduction: str) -> Any:
    """Return log(1 + exp(-x)) where ``positive``, and log(1 + exp(x)) elsewhere."""
    return reduced(ops, ops.softplus(ops.where(positive, ops.negative(x), x)), reduction)


def hinge_embedding_loss(ops: Operators, x: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """Return x where ``positive``, and max(0, margin - x) elsewhere."""
    lacking = ops.relu(ops.subtract(margin, x))
    return reduced(ops, ops.where(positive, x, lacking), reduction)


def margin_ranking_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """Return max(0, y - x + margin) where ``positive``, and max(0, x - y + margin) elsewhere."""
    ahead = ops.subtract(x, y)
    signed = ops.where(positive, ops.negative(ahead), ahead)
    return reduced(ops, ops.relu(ops.add(signed, margin)), reduction)


def cosine_embedding_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """Return 1 - cos(x, y) where ``positive``, and max(0, cos(x, y) - margin) elsewhere.

    As in PyTorch, 1e-12, rounded to float32, is added to the squared lengths.
    """
    tiny = float(np.float32(1e-12))
    squares = [ops.add(ops.sum(ops.square(vector), axis=-1), tiny) for vector in (x, y)]
    cosine = ops.divide(ops.sum(ops.multiply(x, y), axis=-1), ops.sqrt(ops.multiply(*squares)))
    apart = ops.relu(ops.subtract(cosine, margin))
    return reduced(ops, ops.where(positive, ops.subtract(1.0, cosine), apart), reduction)


def triplet_margin_loss(
    ops: Operators, anchor: Any, positive: Any, negative: Any, *, margin: float, eps: float, reduction: str
) -> Any:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), with Euclidean distances d."""
    offsets = (ops.add(ops.subtract(anchor, other), eps) for other in (positive, negative))
    near, far = (ops.l2_norm(offset, axis=-1) for offset in offsets)
    return reduced(ops, ops.relu(ops.add(ops.subtract(near, far), margin)), reduction)


Target = int | tuple[Any, ...]


def class_axis(shape: tuple[int, ...]) -> int:
    """Return the axis of the classes. Raises ValueError for a scalar."""
    if not shape:
        raise ValueError("a number is no array of scores")
    return 1 if len(shape) > 1 else 0


def chosen(shape: tuple[int, ...], target: Target) -> npt.NDArray[np.float64]:
    """Return the one-hot encoding of the target classes. Raises ValueError for a target that does not fit."""
    axis = class_axis(shape)
    rest = (*shape[:axis], *shape[axis + 1 :])
    classes = np.asarray(target, dtype=np.intp)
    if classes.shape != rest and (classes.size or 0 not in rest):
        raise ValueError(f"scores of shape {shape} need classes of shape {rest}, not {classes.shape}")
    classes = classes.reshape(rest)
    if classes.size and not 0 <= classes.min() <= classes.max() < shape[axis]:
        raise ValueError(f"there are {shape[axis]} classes, but class {classes.max()} is right")
    return np.moveaxis((classes[..., None] == np.arange(shape[axis])).astype(np.float64), -1, axis)


def nll_loss(ops: Operators, x: Any, *, target: Target, reduction: str) -> Any:
    """Return the negative of the entry of the target class."""
    weights = ops.constant(chosen(x.shape, target))
    return reduced(ops, ops.negative(ops.sum(ops.multiply(x, weights), axis=class_axis(x.shape))), reduction)


def soft_cross_entropy(ops: Operators, x: Any, target: Any, *, label_smoothing: float, reduction: str) -> Any:
    """Return the cross-entropy of the softmax of ``x`` with class probabilities, after label smoothing."""
    axis = class_axis(x.shape)
    if x.shape[axis] == 0:
        raise ValueError("there is no class")
    even = label_smoothing / x.shape[axis]
    weights = ops.add(ops.multiply(target, 1 - label_smoothing), even)
    terms = ops.multiply(weights, ops.log_softmax(x, axis=axis))
    return reduced(ops, ops.negative(ops.sum(terms, axis=axis)), reduction)


def cross_entropy(ops: Operators, x: Any, *, target: Target, label_smoothing: float, reduction: str) -> Any:
    """Return the cross-entropy of the softmax of ``x`` with the target classes, after label smoothing."""
    weights = ops.constant(chosen(x.shape, target))
    return soft_cross_entropy(ops, x, weights, label_smoothing=label_smoothing, reduction=reduction)


def multi_margin_loss(ops: Operators, x: Any, *, target: Target, margin: float, p: int, reduction: str) -> Any:
    """Return the sum of max(0, margin - x[target] + x[i]) ** p over the other classes i, over the number of classes."""
    if len(x.shape) > 2:  # noqa: PLR2004 (PyTorch takes a batch of scores, or one)
        raise ValueError("scores are a matrix or a vector")
    right = chosen(x.shape, target)
    axis = class_axis(x.shape)
    own = ops.sum(ops.multiply(x, ops.constant(right)), axis=axis, keepdims=True)
    lacking = ops.relu(ops.add(ops.subtract(x, own), margin))
    powers = ops.square(lacking) if p == 2 else lacking  # noqa: PLR2004 (the bounds of p are 1 and 2)
    others = ops.multiply(powers, ops.constant(1 - right))
    return reduced(ops, ops.divide(ops.sum(others, axis=axis), float(x.shape[axis])), reduction)


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "mse_loss": Composite(mse_loss),
    "l1_loss": Composite(l1_loss),
    "huber_loss": Composite(huber_loss),
    "smooth_l1_loss": Composite(smooth_l1_loss),
    "binary_cross_entropy": Composite(binary_cross_entropy),
    "binary_cross_entropy_with_logits": Composite(binary_cross_entropy_with_logits),
    "kl_div": Composite(kl_div),
    "gaussian_nll_loss": Composite(gaussian_nll_loss),
    "poisson_nll_loss": Composite(poisson_nll_loss),
    "soft_margin_loss": Composite(soft_margin_loss),
    "hinge_embedding_loss": Composite(hinge_embedding_loss),
    "margin_ranking_loss": Composite(margin_ranking_loss),
    "cosine_embedding_loss": Composite(cosine_embedding_loss),
    "triplet_margin_loss": Composite(triplet_margin_loss),
    "nll_loss": Composite(nll_loss),
    "cross_entropy": Composite(cross_entropy),
    "soft_cross_entropy": Composite(soft_cross_entropy),
    "multi_margin_loss": Composite(multi_margin_loss),
})
