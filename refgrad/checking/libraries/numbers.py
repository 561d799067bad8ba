"""Arrays of real numbers for the entries of tensors: complex entries as pairs, halves in float32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.scenario.formats import FORMATS, numpy_dtype

Array = npt.NDArray[Any]
Arrays = tuple[Array, ...]

COMPLEX_PARTS = {"complex64": "float32", "complex128": "float64"}
"""Dtype of the two parts of a complex number."""

NEARBY_TOLERANCE: Mapping[str, float] = MappingProxyType({
    "float64": 1e-10,
    "float32": 1e-4,
    "float16": 3e-2,
    "bfloat16": 0.2,
})
"""Relative tolerance for two computations of one value: far more than rounding, far less than a missed value causes."""

CANCELLED = 2.0**-10
"""Fraction of the largest entry that smaller entries, as differences of larger numbers, are compared as."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The dtype of a tensor, and its strides if its memory is not in order."""

    dtype: str
    strides: tuple[int, ...] | None = None

    @property
    def is_complex(self) -> bool:
        """Return True if each entry is a pair of numbers."""
        return self.dtype in COMPLEX_PARTS

    @property
    def floating(self) -> bool:
        """Return True if tensors of this kind can be differentiated by."""
        return self.is_complex or self.dtype in FORMATS

    @property
    def part(self) -> str:
        """Floating dtype of an entry, or of the parts of a complex one."""
        return COMPLEX_PARTS.get(self.dtype, self.dtype)


def is_numeric(dtype: Any) -> bool:
    """Return True if a dtype holds numbers: no objects, strings, times, records or random keys."""
    if not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)  # V: bfloat16 and its like


def as_real(array: Array) -> Array:
    """Return a copy in which a complex array has one more axis, for the real and the imaginary part."""
    if array.dtype.kind != "c":
        return np.array(array)
    return np.stack([array.real, array.imag], axis=-1)


def as_given(array: Array, kind: Kind) -> Array:
    """Return an array of a kind from its real form. Halves remain float32 or float64."""
    if kind.is_complex:
        return np.asarray((array[..., 0] + 1j * array[..., 1]).astype(kind.dtype))
    return array.astype(numpy_dtype(kind.dtype), copy=False) if kind.dtype in FORMATS else array


def numeric(array: Array) -> Array:
    """Return booleans as numbers, which can be subtracted."""
    return array.astype(np.float64) if array.dtype.kind == "b" else array


def near(output: Array, value: Array, tolerance: float) -> bool:
    """Return True if finite entries agree within a relative tolerance, which is larger for differences of others."""
    output, value = numeric(output), numeric(value)
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(output), np.abs(output), 0.0)
        size = np.maximum(sizes, float(np.max(sizes, initial=0.0)) * CANCELLED)
        return bool(np.all((np.abs(output - value) <= tolerance * size) | ~np.isfinite(output)))
