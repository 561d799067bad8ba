"""Losses of regression and classification: functions that return the loss of each entry or each sample.

Those that do not reduce the losses themselves are composites with an attribute ``reduction``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.operators.operator import Composite, Operators, require


def reduced(losses: Callable[..., Any]) -> Composite:
    """Return the composite of the mean or the sum of the losses, or of the losses themselves (``none``)."""

    def forward(ops: Operators, *arrays: Any, reduction: str, **attributes: Any) -> Any:
        return _total(ops, losses(ops, *arrays, **attributes), reduction)

    return Composite(forward)


def _total(ops: Operators, losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else getattr(ops, reduction)(losses)


def mse_loss(ops: Operators, x: Any, y: Any) -> Any:
    """Return the squared differences."""
    return ops.square(ops.subtract(x, y))


def l1_loss(ops: Operators, x: Any, y: Any) -> Any:
    """Return the absolute differences."""
    return ops.abs(ops.subtract(x, y))


def huber_loss(ops: Operators, x: Any, y: Any, *, delta: float) -> Any:
    """Return the Huber loss: half the squared difference up to ``delta``, and linear with slope ``delta`` beyond.

    It is c (d - c / 2), where d is the difference, and c is d clipped to [-delta, delta].
    """
    difference = ops.subtract(x, y)
    limited = ops.maximum(ops.minimum(difference, delta), -delta)
    return ops.multiply(limited, ops.subtract(difference, ops.divide(limited, 2.0)))


def smooth_l1_loss(ops: Operators, x: Any, y: Any, *, beta: float) -> Any:
    """Return the Huber loss with threshold ``beta``, divided by ``beta``: absolute differences, smooth near 0."""
    return ops.divide(huber_loss(ops, x, y, delta=beta), beta)


def binary_cross_entropy(ops: Operators, x: Any, y: Any) -> Any:
    """Return the binary cross-entropy of prediction ``x`` and target ``y``."""
    ones, zeros = ops.xlogy(y, x), ops.xlogy(ops.subtract(1.0, y), ops.subtract(1.0, x))
    return ops.negative(ops.add(ones, zeros))


def binary_cross_entropy_with_logits(ops: Operators, x: Any, y: Any) -> Any:
    """Return the binary cross-entropy of logits ``x`` and target ``y``."""
    return ops.subtract(ops.softplus(x), ops.multiply(x, y))


@Composite
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
        return _total(ops, losses, reduction)
    require(any(x.shape[:1]), f"an array of shape {x.shape} is no batch")
    return ops.divide(ops.sum(losses), float(x.shape[0]))


def gaussian_nll_loss(ops: Operators, x: Any, y: Any, var: Any, *, full: bool) -> Any:
    """Return the negative log-density at ``y`` of a normal with mean ``x``, including the constant if ``full``."""
    distance = ops.divide(ops.square(ops.subtract(x, y)), var)
    losses = ops.multiply(0.5, ops.add(ops.log(var), distance))
    return ops.add(losses, 0.5 * log(2 * pi)) if full else losses


def poisson_nll_loss(ops: Operators, x: Any, y: Any, *, log_input: bool, eps: float) -> Any:
    """Return the negative Poisson log-likelihood of ``y`` with mean exp(x) or x, without the constant log(y!)."""
    if log_input:
        return ops.subtract(ops.exp(x), ops.multiply(y, x))
    return ops.subtract(x, ops.multiply(y, ops.log(ops.add(x, eps))))


def soft_margin_loss(ops: Operators, x: Any, positive: Any) -> Any:
    """Return log(1 + exp(-x)) where ``positive``, and log(1 + exp(x)) elsewhere."""
    return ops.softplus(ops.where(positive, ops.negative(x), x))


def hinge_embedding_loss(ops: Operators, x: Any, positive: Any, *, margin: float) -> Any:
    """Return x where ``positive``, and max(0, margin - x) elsewhere."""
    return ops.where(positive, x, ops.relu(ops.subtract(margin, x)))


def margin_ranking_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float) -> Any:
    """Return max(0, y - x + margin) where ``positive``, and max(0, x - y + margin) elsewhere."""
    ahead = ops.subtract(x, y)
    return ops.relu(ops.add(ops.where(positive, ops.negative(ahead), ahead), margin))


def cosine_embedding_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float) -> Any:
    """Return 1 - cos(x, y) where ``positive``, and max(0, cos(x, y) - margin) elsewhere.

    As in PyTorch, 1e-12, rounded to float32, is added to the squared lengths.
    """
    tiny = float(np.float32(1e-12))
    squares = [ops.add(ops.sum(ops.square(vector), axis=-1), tiny) for vector in (x, y)]
    cosine = ops.divide(ops.sum(ops.multiply(x, y), axis=-1), ops.sqrt(ops.multiply(*squares)))
    apart = ops.relu(ops.subtract(cosine, margin))
    return ops.where(positive, ops.subtract(1.0, cosine), apart)


def triplet_margin_loss(ops: Operators, anchor: Any, positive: Any, negative: Any, *, margin: float, eps: float) -> Any:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), with Euclidean distances d."""
    offsets = (ops.add(ops.subtract(anchor, other), eps) for other in (positive, negative))
    near, far = (ops.l2_norm(offset, axis=-1) for offset in offsets)
    return ops.relu(ops.add(ops.subtract(near, far), margin))


Target = int | tuple[Any, ...]


def class_axis(shape: tuple[int, ...]) -> int:
    """Return the axis of the classes. Raises ValueError for a scalar."""
    require(len(shape) > 0, "a number is no array of scores")
    return 1 if len(shape) > 1 else 0


def chosen(shape: tuple[int, ...], target: Target) -> npt.NDArray[np.float64]:
    """Return the one-hot encoding of the target classes. Raises ValueError for a target that does not fit."""
    axis = class_axis(shape)
    rest = (*shape[:axis], *shape[axis + 1 :])
    classes = np.asarray(target, dtype=np.intp)
    fits = classes.shape == rest or (classes.size == 0 and 0 in rest)
    require(fits, f"scores of shape {shape} need classes of shape {rest}, not {classes.shape}")
    classes = classes.reshape(rest)
    if classes.size and not 0 <= classes.min() <= classes.max() < shape[axis]:
        raise ValueError(f"there are {shape[axis]} classes, but class {classes.max()} is right")
    return np.moveaxis((classes[..., None] == np.arange(shape[axis])).astype(np.float64), -1, axis)


def nll_loss(ops: Operators, x: Any, *, target: Target) -> Any:
    """Return the negative of the entry of the target class."""
    weights = ops.constant(chosen(x.shape, target))
    return ops.negative(ops.sum(ops.multiply(x, weights), axis=class_axis(x.shape)))


def soft_cross_entropy(ops: Operators, x: Any, target: Any, *, label_smoothing: float) -> Any:
    """Return the cross-entropy of the softmax of ``x`` with class probabilities, after label smoothing."""
    axis = class_axis(x.shape)
    require(x.shape[axis] > 0, "there is no class")
    even = label_smoothing / x.shape[axis]
    weights = ops.add(ops.multiply(target, 1 - label_smoothing), even)
    terms = ops.multiply(weights, ops.log_softmax(x, axis=axis))
    return ops.negative(ops.sum(terms, axis=axis))


def cross_entropy(ops: Operators, x: Any, *, target: Target, label_smoothing: float) -> Any:
    """Return the cross-entropy of the softmax of ``x`` with the target classes, after label smoothing."""
    weights = ops.constant(chosen(x.shape, target))
    return soft_cross_entropy(ops, x, weights, label_smoothing=label_smoothing)


def multi_margin_loss(ops: Operators, x: Any, *, target: Target, margin: float, p: int) -> Any:
    """Return the sum of max(0, margin - x[target] + x[i]) ** p over the other classes i, over the number of classes."""
    require(len(x.shape) <= 2, "scores are a matrix or a vector")  # noqa: PLR2004 (PyTorch takes a batch, or one)
    right = chosen(x.shape, target)
    axis = class_axis(x.shape)
    own = ops.sum(ops.multiply(x, ops.constant(right)), axis=axis, keepdims=True)
    lacking = ops.relu(ops.add(ops.subtract(x, own), margin))
    powers = ops.square(lacking) if p == 2 else lacking  # noqa: PLR2004 (the bounds of p are 1 and 2)
    others = ops.multiply(powers, ops.constant(1 - right))
    return ops.divide(ops.sum(others, axis=axis), float(x.shape[axis]))
