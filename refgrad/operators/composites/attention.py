"""Embeddings, gated linear units and attention."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.operators.composites.axes import length_along, stretch
from refgrad.operators.operator import Composite, Operators

MASKED: Final = -1e4
"""Replacement for masked scores in a maximum: lower than the scores that occur, and finite in every dtype."""


def embedding(ops: Operators, weight: Any, *, indices: Any) -> Any:
    """Return the rows of a table at indices."""
    return ops.take(weight, axis=0, indices=indices)


def _halves(ops: Operators, x: Any, axis: int) -> tuple[Any, Any]:
    length = length_along(x, axis)
    if length % 2:
        raise ValueError(f"{length} entries do not make two halves")
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
    if width == 0 or key.shape[-2] == 0:
        raise ValueError("attention needs a key, and vectors that have entries")
    axes = (*range(len(key.shape) - 2), len(key.shape) - 1, len(key.shape) - 2)
    return ops.divide(ops.matmul(query, ops.transpose(key, axes=axes)), sqrt(width))


def _attended(ops: Operators, scores: Any, mask: Any, value: Any) -> Any:
    weights = ops.where(mask, ops.exp(scores), 0.0)
    shares = ops.divide(weights, ops.sum(weights, axis=-1, keepdims=True))
    return ops.matmul(shares, value)


def _shifted(ops: Operators, scores: Any, mask: Any) -> Any:
    """Return the admitted scores minus the largest of them, and 0 for masked scores, which get no gradient."""
    admitted = ops.where(mask, scores, MASKED)
    return ops.where(mask, ops.subtract(scores, ops.max(admitted, axis=-1, keepdims=True)), 0.0)


def _earlier(query: Any, key: Any) -> Any:
    return np.tri(query.shape[-2], key.shape[-2], dtype=bool)


def masked_attention(ops: Operators, query: Any, key: Any, value: Any, mask: Any) -> Any:
    """Return scaled dot-product attention over the keys that a boolean mask admits."""
    return _attended(ops, _scores(ops, query, key), mask, value)


def shifted_masked_attention(ops: Operators, query: Any, key: Any, value: Any, mask: Any) -> Any:
    """Return :func:`masked_attention`, with the largest admitted score subtracted from the scores."""
    return _attended(ops, _shifted(ops, _scores(ops, query, key), mask), mask, value)


def attention(ops: Operators, query: Any, key: Any, value: Any, *, is_causal: bool) -> Any:
    """Return scaled dot-product attention: means of the values, weighted by softmax of the scaled scores.

    With ``is_causal``, each query is restricted to the keys up to its own position.
    """
    mask = _earlier(query, key) if is_causal else np.ones((query.shape[-2], key.shape[-2]), dtype=bool)
    return masked_attention(ops, query, key, value, ops.constant(mask))


def shifted_attention(ops: Operators, query: Any, key: Any, value: Any, *, is_causal: bool) -> Any:
    """Return :func:`attention`, with the largest admitted score subtracted from the scores."""
    mask = _earlier(query, key) if is_causal else np.ones((query.shape[-2], key.shape[-2]), dtype=bool)
    return shifted_masked_attention(ops, query, key, value, ops.constant(mask))


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "embedding": Composite(embedding),
    "glu": Composite(glu),
    "swiglu": Composite(swiglu),
    "scaled_dot_product_attention": Composite(attention, shifted_attention),
    "masked_dot_product_attention": Composite(masked_attention, shifted_masked_attention),
})
