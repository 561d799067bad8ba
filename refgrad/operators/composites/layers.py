"""Layers of neural networks: softmax, normalisation, embedding, gated linear units and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from refgrad.operators.composites.axes import length_along, stretch
from refgrad.operators.operator import Operators, refuse_size, require
from refgrad.operators.structures import Axes, size_along, swapped


def certified_softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return exponentials over their sum along ``axis``. Raises ValueError for no entries, as the shifted form does."""
    _refuse_no_entries(x, axis, "largest")
    exponentials = ops.exp(x)
    return ops.divide(exponentials, ops.sum(exponentials, axis=axis, keepdims=True))


def _refuse_no_entries(x: Any, axis: Axes, what: str) -> None:
    require(size_along(x.shape, axis) > 0, f"there is no {what} of no entries")


def certified_log_softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return ``x`` minus the log of the sum of its exponentials along ``axis``. Raises ValueError for no entries."""
    _refuse_no_entries(x, axis, "largest")
    return ops.subtract(x, ops.log(ops.sum(ops.exp(x), axis=axis, keepdims=True)))


def shifted(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that applies ``plain`` to ``x - max(x)``, so that no exponential overflows."""
    return lambda ops, x, *, axis: plain(ops, ops.subtract(x, ops.max(x, axis=axis, keepdims=True)), axis=axis)


def negated(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that applies ``plain`` to ``-x``."""
    return lambda ops, x, *, axis: plain(ops, ops.negative(x), axis=axis)


softmax, log_softmax = map(shifted, (certified_softmax, certified_log_softmax))
softmin, certified_softmin = map(negated, (softmax, certified_softmax))


def standardize(ops: Operators, x: Any, *, axis: Axes, eps: float) -> Any:
    """Return (x - mean) / sqrt(variance + eps) along the axes. Raises ValueError for no entries."""
    _refuse_no_entries(x, axis, "mean")
    deviations = ops.subtract(x, ops.mean(x, axis=axis, keepdims=True))
    variance = ops.mean(ops.square(deviations), axis=axis, keepdims=True)
    return ops.divide(deviations, ops.sqrt(ops.add(variance, eps)))


def affine(ops: Operators, x: Any, weight: Any, bias: Any) -> Any:
    """Scale and shift each channel; channels are the second axis of ``x``."""
    shape = (*weight.shape, *(1 for _ in x.shape[2:]))
    return ops.add(ops.multiply(x, ops.reshape(weight, shape=shape)), ops.reshape(bias, shape=shape))


def layer_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize the last axis, then scale and shift its entries."""
    return ops.add(ops.multiply(standardize(ops, x, axis=-1, eps=eps), weight), bias)


def rms_norm(ops: Operators, x: Any, weight: Any, *, eps: float) -> Any:
    """Divide the last axis by sqrt(mean square + eps), then scale its entries."""
    _refuse_no_entries(x, -1, "mean")
    mean = ops.mean(ops.square(x), axis=-1, keepdims=True)
    return ops.multiply(ops.divide(x, ops.sqrt(ops.add(mean, eps))), weight)


def batch_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize each channel over the batch and its entries, then scale and shift it (training mode)."""
    axes = (0, *range(2, len(x.shape)))
    _require_several(size_along(x.shape, axes), x.shape[1])
    return affine(ops, standardize(ops, x, axis=axes, eps=eps), weight, bias)


def batch_norm_inference(ops: Operators, x: Any, weight: Any, bias: Any, *, mean: float, var: float, eps: float) -> Any:
    """Standardize each channel by a fixed mean and variance, then scale and shift it (inference mode)."""
    _require_several(math.inf, x.shape[1])
    return affine(ops, ops.divide(ops.subtract(x, mean), math.sqrt(var + eps)), weight, bias)


def group_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> Any:
    """Standardize groups of channels, then scale and shift each channel."""
    batch, channels, *lengths = x.shape
    require(channels % groups == 0, f"{channels} channels do not make {groups} groups of one size")
    size = channels // groups * math.prod(lengths)
    _require_several(size, channels)
    grouped = ops.reshape(x, shape=(batch, groups, size))
    return affine(ops, ops.reshape(standardize(ops, grouped, axis=-1, eps=eps), shape=x.shape), weight, bias)


def instance_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize each channel of each instance, then scale and shift it."""
    axes = tuple(range(2, len(x.shape)))
    _require_several(size_along(x.shape, axes), x.shape[0] * x.shape[1])
    return affine(ops, standardize(ops, x, axis=axes, eps=eps), weight, bias)


def _require_several(count: float, channels: int) -> None:
    """Raise ValueError for channels of one entry, which have no spread, or if there are none (PyTorch: IndexError)."""
    require(count > 1 and channels > 0, f"{channels} channels of {count} entries are too few to be normalised")


def local_response_norm(ops: Operators, x: Any, *, size: int, alpha: float, beta: float, k: float) -> Any:
    """Divide by (k + alpha times the mean square of ``size`` neighbouring channels) to the power ``beta``.

    Missing channels count as 0 (A. Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks,
    2012, 3.3).
    """
    channels = x.shape[1]
    refuse_size(channels**2)
    near = np.subtract.outer(np.arange(channels), np.arange(channels))
    window = (near <= size // 2) & (near >= -((size - 1) // 2))
    sums = ops.matmul(ops.constant(window.astype(np.float64)), ops.square(x))
    divisor = ops.power(ops.add(ops.multiply(sums, alpha / size), k), beta)
    return ops.divide(x, divisor)


def normalize(ops: Operators, x: Any, *, axis: int, eps: float) -> Any:
    """Divide by the Euclidean length along ``axis``, or by ``eps`` where that is larger."""
    length = ops.l2_norm(x, axis=axis, keepdims=True)
    return ops.divide(x, ops.maximum(length, eps))


def cosine_similarity(ops: Operators, x: Any, y: Any, *, axis: int, eps: float) -> Any:
    """Return the dot product of vectors along ``axis`` divided by their lengths, each of which is at least ``eps``."""
    products = ops.multiply(normalize(ops, x, axis=axis, eps=eps), normalize(ops, y, axis=axis, eps=eps))
    return ops.sum(products, axis=axis)


MASKED: Final = -1e4
"""Replacement for masked scores in a maximum: lower than the scores that occur, and finite in every dtype."""


def embedding(ops: Operators, weight: Any, *, indices: Any) -> Any:
    """Return the rows of a table at indices."""
    return ops.take(weight, axis=0, indices=indices)


def _halves(ops: Operators, x: Any, axis: int) -> tuple[Any, Any]:
    length = length_along(x, axis)
    require(length % 2 == 0, f"{length} entries do not make two halves")
    return stretch(ops, x, axis, 0, length // 2), stretch(ops, x, axis, length // 2, length)


def glu(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the first half of an axis times the logistic function of the second."""
    first, second = _halves(ops, x, axis)
    return ops.multiply(first, ops.sigmoid(second))


def swiglu(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the second half of an axis times the SiLU of the first."""
    first, second = _halves(ops, x, axis)
    return ops.multiply(ops.silu(first), second)


def _scores(ops: Operators, query: Any, key: Any) -> Any:
    width = query.shape[-1]
    require(width > 0 and key.shape[-2] > 0, "attention needs a key, and vectors that have entries")
    return ops.divide(ops.matmul(query, swapped(ops, key)), math.sqrt(width))


def _attended(ops: Operators, scores: Any, mask: Any, value: Any) -> Any:
    weights = ops.where(mask, ops.exp(scores), 0.0)
    shares = ops.divide(weights, ops.sum(weights, axis=-1, keepdims=True))
    return ops.matmul(shares, value)


def certified_masked_dot_product_attention(ops: Operators, query: Any, key: Any, value: Any, mask: Any) -> Any:
    """Return scaled dot-product attention over the keys that a boolean mask admits."""
    return _attended(ops, _scores(ops, query, key), mask, value)


def masked_dot_product_attention(ops: Operators, query: Any, key: Any, value: Any, mask: Any) -> Any:
    """Return this attention with the largest admitted score subtracted; masked scores are 0 and get no gradient."""
    scores = _scores(ops, query, key)
    admitted = ops.where(mask, scores, MASKED)
    shifted = ops.where(mask, ops.subtract(scores, ops.max(admitted, axis=-1, keepdims=True)), 0.0)
    return _attended(ops, shifted, mask, value)


def _admitted(ops: Operators, query: Any, key: Any, *, is_causal: bool) -> Any:
    shape = query.shape[-2], key.shape[-2]
    return ops.constant(np.tri(*shape, dtype=bool) if is_causal else np.ones(shape, dtype=bool))


def certified_scaled_dot_product_attention(ops: Operators, query: Any, key: Any, value: Any, *, is_causal: bool) -> Any:
    """Return scaled dot-product attention: means of the values, weighted by softmax of the scaled scores.

    With ``is_causal``, each query is restricted to the keys up to its own position.
    """
    mask = _admitted(ops, query, key, is_causal=is_causal)
    return certified_masked_dot_product_attention(ops, query, key, value, mask)


def scaled_dot_product_attention(ops: Operators, query: Any, key: Any, value: Any, *, is_causal: bool) -> Any:
    """Return scaled dot-product attention, with the largest admitted score subtracted from the scores."""
    return masked_dot_product_attention(ops, query, key, value, _admitted(ops, query, key, is_causal=is_causal))
