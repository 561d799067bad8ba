"""Losses of numbers, probabilities and margins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators

REDUCTIONS: Mapping[str, Callable[[Operators, Any], Any]] = MappingProxyType({
    "mean": lambda ops, losses: ops.mean(losses),
    "sum": lambda ops, losses: ops.sum(losses),
    "none": lambda _ops, losses: losses,
})


def reduced(ops: Operators, losses: Any, reduction: str) -> Any:
    """Return the mean or the sum of losses, or all of them."""
    return REDUCTIONS[reduction](ops, losses)


def mse_loss(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Squared differences."""
    return reduced(ops, ops.square(ops.subtract(x, y)), reduction)


def l1_loss(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Absolute differences."""
    return reduced(ops, ops.abs(ops.subtract(x, y)), reduction)


def _huber(ops: Operators, x: Any, y: Any, delta: float) -> Any:
    """Half the square of a difference d up to ``delta``, and a line beyond: c (d - c / 2), where c is d, limited."""
    difference = ops.subtract(x, y)
    limited = ops.maximum(ops.minimum(difference, delta), -delta)
    return ops.multiply(limited, ops.subtract(difference, ops.divide(limited, 2.0)))


def huber_loss(ops: Operators, x: Any, y: Any, *, delta: float, reduction: str) -> Any:
    """Half of squared differences up to ``delta``, and ``delta`` times what is linear beyond."""
    return reduced(ops, _huber(ops, x, y, delta), reduction)


def smooth_l1_loss(ops: Operators, x: Any, y: Any, *, beta: float, reduction: str) -> Any:
    """The Huber loss divided by its threshold: absolute differences, rounded off up to ``beta``."""
    return reduced(ops, ops.divide(_huber(ops, x, y, beta), beta), reduction)


def binary_cross_entropy(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """Information that a truth ``y`` still has where the probability of 1 was said to be ``x``."""
    ones, zeros = ops.xlogy(y, x), ops.xlogy(ops.subtract(1.0, y), ops.subtract(1.0, x))
    return reduced(ops, ops.negative(ops.add(ones, zeros)), reduction)


def binary_cross_entropy_with_logits(ops: Operators, x: Any, y: Any, *, reduction: str) -> Any:
    """The same where ``x`` is the logarithm of the odds."""
    return reduced(ops, ops.subtract(ops.softplus(x), ops.multiply(x, y)), reduction)


def kl_div(ops: Operators, x: Any, y: Any, *, log_target: bool, reduction: str) -> Any:
    """What a distribution ``y``, or one whose logarithm is ``y``, has beyond the one whose logarithm is ``x``.

    A ``batchmean`` divides the sum by the length of the first axis. Raises ValueError where there is none.
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
    """Negative logarithm of a normal density at ``y`` with the mean ``x``, with its constant if ``full``."""
    distance = ops.divide(ops.square(ops.subtract(x, y)), var)
    losses = ops.multiply(0.5, ops.add(ops.log(var), distance))
    return reduced(ops, ops.add(losses, 0.5 * log(2 * pi)) if full else losses, reduction)


def poisson_nll_loss(ops: Operators, x: Any, y: Any, *, log_input: bool, eps: float, reduction: str) -> Any:
    """Negative logarithm of Poisson's probability of ``y`` with the mean exp(x), or x, without its constant."""
    if log_input:
        return reduced(ops, ops.subtract(ops.exp(x), ops.multiply(y, x)), reduction)
    return reduced(ops, ops.subtract(x, ops.multiply(y, ops.log(ops.add(x, eps)))), reduction)


def soft_margin_loss(ops: Operators, x: Any, positive: Any, *, reduction: str) -> Any:
    """log(1 + exp(-x)) where the truth is positive, log(1 + exp(x)) elsewhere."""
    return reduced(ops, ops.softplus(ops.where(positive, ops.negative(x), x)), reduction)


def hinge_embedding_loss(ops: Operators, x: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """Distances where the truth is positive, what they lack to a margin elsewhere."""
    lacking = ops.relu(ops.subtract(margin, x))
    return reduced(ops, ops.where(positive, x, lacking), reduction)


def margin_ranking_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """What ``x`` lacks to be a margin above ``y`` where that is true, below it elsewhere."""
    ahead = ops.subtract(x, y)
    signed = ops.where(positive, ops.negative(ahead), ahead)
    return reduced(ops, ops.relu(ops.add(signed, margin)), reduction)


def cosine_embedding_loss(ops: Operators, x: Any, y: Any, positive: Any, *, margin: float, reduction: str) -> Any:
    """One less the cosine where vectors belong together, what it is above a margin elsewhere.

    Squared lengths are taken together with 1e-12, rounded to float32, as PyTorch takes them.
    """
    tiny = float(np.float32(1e-12))
    squares = [ops.add(ops.sum(ops.square(vector), axis=-1), tiny) for vector in (x, y)]
    cosine = ops.divide(ops.sum(ops.multiply(x, y), axis=-1), ops.sqrt(ops.multiply(*squares)))
    apart = ops.relu(ops.subtract(cosine, margin))
    return reduced(ops, ops.where(positive, ops.subtract(1.0, cosine), apart), reduction)


def triplet_margin_loss(
    ops: Operators, anchor: Any, positive: Any, negative: Any, *, margin: float, eps: float, reduction: str
) -> Any:
    """What an anchor's distance from the negative lacks to be a margin above that from the positive."""
    offsets = (ops.add(ops.subtract(anchor, other), eps) for other in (positive, negative))
    near, far = (ops.l2_norm(offset, axis=-1) for offset in offsets)
    return reduced(ops, ops.relu(ops.add(ops.subtract(near, far), margin)), reduction)


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
})
