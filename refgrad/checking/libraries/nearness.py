"""Values that are the same but for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from refgrad.checking.libraries.numbers import Array

NEARBY_TOLERANCE: Mapping[str, float] = MappingProxyType({
    "float64": 1e-10,
    "float32": 1e-4,
    "float16": 3e-2,
    "bfloat16": 0.2,
})
"""Relative difference allowed there: far more than rounding, far less than what a value that was missed would do."""

CANCELLED = 2.0**-10
"""An entry smaller than this part of the largest owes that to cancellation, and is compared with this part."""


def numeric(array: Array) -> Array:
    """Return truth values as numbers, which can be subtracted."""
    return array.astype(np.float64) if array.dtype.kind == "b" else array


def near(output: Array, value: Array, tolerance: float) -> bool:
    """Whether values that are finite are the same to so many digits, but for those that cancellation made small."""
    output, value = numeric(output), numeric(value)
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(output), np.abs(output), 0.0)
        size = np.maximum(sizes, float(np.max(sizes, initial=0.0)) * CANCELLED)
        return bool(np.all((np.abs(output - value) <= tolerance * size) | ~np.isfinite(output)))
