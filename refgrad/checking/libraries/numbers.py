"""Arrays of real numbers that stand for the entries of tensors: complex ones as pairs, halves in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.scenario.formats import FORMATS, numpy_dtype

Array = npt.NDArray[Any]
Arrays = tuple[Array, ...]

COMPLEX_PARTS = {"complex64": "float32", "complex128": "float64"}
"""The dtype of the two parts of a complex number."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the entries of a tensor are: the name of its dtype, and the strides of one whose memory is not in order."""

    dtype: str
    strides: tuple[int, ...] | None = None

    @property
    def is_complex(self) -> bool:
        """Whether each entry is a pair of numbers."""
        return self.dtype in COMPLEX_PARTS

    @property
    def floating(self) -> bool:
        """Whether it can be differentiated by."""
        return self.is_complex or self.dtype in FORMATS

    @property
    def part(self) -> str:
        """The floating dtype of an entry, or of the parts of a complex one."""
        return COMPLEX_PARTS.get(self.dtype, self.dtype)


def is_numeric(dtype: Any) -> bool:
    """Whether a dtype is one of numbers that numpy can hold: not of objects, texts, times, records or random keys."""
    if not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)  # V: bfloat16 and its like


def as_real(array: Array) -> Array:
    """Return a copy in which a complex array has another axis, for the real and the imaginary part."""
    if array.dtype.kind != "c":
        return np.array(array)
    return np.stack([array.real, array.imag], axis=-1)


def as_given(array: Array, kind: Kind) -> Array:
    """Return an array of a kind, of its real form; halves stay float32 or float64, whichever it is."""
    if kind.is_complex:
        return np.asarray((array[..., 0] + 1j * array[..., 1]).astype(kind.dtype))
    return array.astype(numpy_dtype(kind.dtype), copy=False) if kind.dtype in FORMATS else array
