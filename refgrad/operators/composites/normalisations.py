"""Softmax and related functions, and normalisation layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.operator import Composite, Operators, refuse_size
from refgrad.operators.structures.reductions import Axes, size_along


def softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return exponentials over their sum along ``axis``. Raises ValueError for no entries, as the shifted form does."""
    _refuse_no_entries(x, axis)
    exponentials = ops.exp(x)
    return ops.divide(exponentials, ops.sum(exponentials, axis=axis, keepdims=True))


def _refuse_no_entries(x: Any, axis: int) -> None:
    if size_along(x.shape, axis) == 0:
        raise ValueError("there is no largest of no entries")


def shifted_softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the softmax of ``x`` minus its largest entry, so that no exponential overflows."""
    return softmax(ops, ops.subtract(x, ops.max(x, axis=axis, keepdims=True)), axis=axis)


def log_softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return ``x`` minus the log of the sum of its exponentials along ``axis``. Raises ValueError for no entries."""
    _refuse_no_entries(x, axis)
    return ops.subtract(x, ops.log(ops.sum(ops.exp(x), axis=axis, keepdims=True)))


def shifted_log_softmax(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the log-softmax of ``x`` minus its largest entry, so that no exponential overflows."""
    return log_softmax(ops, ops.subtract(x, ops.max(x, axis=axis, keepdims=True)), axis=axis)


def softmin(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return exponentials of ``-x`` over their sum along ``axis``."""
    return softmax(ops, ops.negative(x), axis=axis)


def shifted_softmin(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the shifted softmax of ``-x``."""
    return shifted_softmax(ops, ops.negative(x), axis=axis)


def standardized(ops: Operators, x: Any, axis: Axes, eps: float) -> Any:
    """Return (x - mean) / sqrt(variance + eps) along the axes. Raises ValueError for no entries."""
    if size_along(x.shape, axis) == 0:
        raise ValueError("there is no mean of no entries")
    deviations = ops.subtract(x, ops.mean(x, axis=axis, keepdims=True))
    variance = ops.mean(ops.square(deviations), axis=axis, keepdims=True)
    return ops.divide(deviations, ops.sqrt(ops.add(variance, eps)))


def affine(ops: Operators, x: Any, weight: Any, bias: Any) -> Any:
    """Scale and shift each channel; channels are the second-to-last axis of ``x``."""
    scaled = ops.multiply(x, ops.reshape(weight, shape=(*weight.shape, 1)))
    return ops.add(scaled, ops.reshape(bias, shape=(*bias.shape, 1)))


def standardize(ops: Operators, x: Any, *, axis: Axes, eps: float) -> Any:
    """Return (x - mean) / sqrt(variance + eps) along the axes."""
    return standardized(ops, x, axis, eps)


def layer_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize the last axis, then scale and shift its entries."""
    return ops.add(ops.multiply(standardized(ops, x, -1, eps), weight), bias)


def rms_norm(ops: Operators, x: Any, weight: Any, *, eps: float) -> Any:
    """Divide the last axis by sqrt(mean square + eps), then scale its entries."""
    if x.shape[-1] == 0:
        raise ValueError("there is no mean of no entries")
    mean = ops.mean(ops.square(x), axis=-1, keepdims=True)
    return ops.multiply(ops.divide(x, ops.sqrt(ops.add(mean, eps))), weight)


def batch_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize each channel over the batch and its entries, then scale and shift it (training mode)."""
    _require_several(x.shape[0] * x.shape[2], x.shape[1])
    return affine(ops, standardized(ops, x, (0, 2), eps), weight, bias)


def batch_norm_inference(ops: Operators, x: Any, weight: Any, bias: Any, *, mean: float, var: float, eps: float) -> Any:
    """Standardize each channel by a fixed mean and variance, then scale and shift it (inference mode)."""
    _require_several(math.inf, x.shape[1])
    return affine(ops, ops.divide(ops.subtract(x, mean), math.sqrt(var + eps)), weight, bias)


def group_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> Any:
    """Standardize groups of channels, then scale and shift each channel."""
    batch, channels, length = x.shape
    if channels % groups:
        raise ValueError(f"{channels} channels do not make {groups} groups of one size")
    _require_several(channels // groups * length, channels)
    grouped = standardized(ops, ops.reshape(x, shape=(batch, groups, channels // groups * length)), -1, eps)
    return affine(ops, ops.reshape(grouped, shape=x.shape), weight, bias)


def instance_norm(ops: Operators, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Standardize each channel of each instance, then scale and shift it."""
    _require_several(x.shape[2], x.shape[0] * x.shape[1])
    return affine(ops, standardized(ops, x, -1, eps), weight, bias)


def _require_several(count: float, channels: int) -> None:
    """Raise ValueError for channels of one entry, without spread, and for no channels, an IndexError in PyTorch."""
    if count < 2 or channels == 0:  # noqa: PLR2004
        raise ValueError(f"{channels} channels of {count} entries are too few to be normalised")


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


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "softmax": Composite(softmax, shifted_softmax),
    "log_softmax": Composite(log_softmax, shifted_log_softmax),
    "softmin": Composite(softmin, shifted_softmin),
    "standardize": Composite(standardize),
    "layer_norm": Composite(layer_norm),
    "rms_norm": Composite(rms_norm),
    "batch_norm": Composite(batch_norm),
    "batch_norm_inference": Composite(batch_norm_inference),
    "group_norm": Composite(group_norm),
    "instance_norm": Composite(instance_norm),
    "local_response_norm": Composite(local_response_norm),
    "normalize": Composite(normalize),
    "cosine_similarity": Composite(cosine_similarity),
})
