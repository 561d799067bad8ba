"""Classification losses of class scores. Classes are the second axis, or the only one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.layers.losses import reduced

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
    "nll_loss": Composite(nll_loss),
    "cross_entropy": Composite(cross_entropy),
    "soft_cross_entropy": Composite(soft_cross_entropy),
    "multi_margin_loss": Composite(multi_margin_loss),
})
