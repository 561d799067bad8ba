"""Floating-point formats: the precision and the range of the numbers of a dtype."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.documents import parsed_toml
from refgrad.specification import shipped_path


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format.

    ``bits`` is its precision, the leading bit included. Finite numbers are at most ``largest`` in magnitude. Numbers
    from ``smallest_normal`` upwards have all their bits; numbers below are multiples of ``smallest_subnormal``.
    ``underflow`` is the largest error of a result that is caused by its small size: a subnormal, or the whole result
    where hardware flushes subnormals to zero.
    """

    bits: int
    largest: float
    smallest_normal: float
    smallest_subnormal: float
    underflow: float

    @property
    def unit(self) -> float:
        """Unit roundoff: the largest relative error of rounding a number to nearest."""
        return 2.0**-self.bits

    @property
    def narrow(self) -> bool:
        """True if the format has at most as many significant bits as float16."""
        return self.bits <= FORMATS["float16"].bits

    @property
    def bits_of_largest(self) -> int:
        """The largest number as an integer with the bits that it has in memory."""
        mantissa, exponent = math.frexp(self.largest)
        return int((exponent - math.frexp(self.smallest_normal)[1] + 2 * mantissa) * 2 ** (self.bits - 1))


def _format(dtype: str, missing: int = 0, *, flushed: bool = True) -> Format:
    """Return the format of a dtype of NumPy without its last ``missing`` bits."""
    layout = np.finfo(dtype)
    bits, normal = int(layout.nmant) + 1 - missing, float(layout.smallest_normal)
    epsilon = 2.0 ** (1 - bits)
    largest = (2 - epsilon) * 2.0 ** (int(layout.maxexp) - 1)
    return Format(bits, largest, normal, normal * epsilon, normal if flushed else normal * epsilon)


FORMATS: Final[Mapping[str, Format]] = MappingProxyType({
    "float64": _format("float64"),
    "float32": _format("float32"),
    "float16": _format("float16", flushed=False),
    "bfloat16": _format("float32", 16),
    **{name: Format(**row) for name, row in parsed_toml(shipped_path("numbers", "formats.toml")).items()},
})
"""IEEE 754 binary64, binary32 and binary16, bfloat16 (binary32 without the last 16 bits), and formats of 8 bits.

Results of float16 are float32 rounded once more, on processors and in software, so they lose bits but are not flushed.
"""

FLOAT64: Final = FORMATS["float64"]


def coarsest(dtypes: Iterable[str]) -> Format:
    """Return the format that is as coarse as each of these dtypes; dtypes that are not floating are ignored.

    float16 and bfloat16 together have 8 bits and the range of float16. Without any floating dtype it is float64.
    """
    return _coarsest(frozenset(FORMATS.keys() & set(dtypes)))


@cache
def _coarsest(dtypes: frozenset[str]) -> Format:
    formats = [FORMATS[dtype] for dtype in dtypes] or [FLOAT64]
    return Format(
        bits=min(each.bits for each in formats),
        largest=min(each.largest for each in formats),
        smallest_normal=max(each.smallest_normal for each in formats),
        smallest_subnormal=max(each.smallest_subnormal for each in formats),
        underflow=max(each.underflow for each in formats),
    )


def least_precise(dtypes: Iterable[str]) -> str:
    """Return the dtype with the fewest digits, or float64 if none is floating. Others are ignored."""
    return min(FORMATS.keys() & set(dtypes), key=lambda dtype: FORMATS[dtype].bits, default="float64")


def rounded(numbers: npt.ArrayLike, dtype: str) -> npt.NDArray[np.float64]:
    """Return the numbers (float64) rounded to the nearest of a dtype, ties to even; infinite where too large."""
    array = np.asarray(numbers, dtype=np.float64)
    if dtype == "float64":
        return array
    form = FORMATS[dtype]
    _, exponents = np.frexp(np.where(np.isfinite(array), array, 1.0))
    spacing = np.maximum(np.ldexp(1.0, exponents - form.bits), form.smallest_subnormal)
    with np.errstate(over="ignore"):
        nearest = np.rint(array / spacing) * spacing
    return np.where(np.abs(nearest) > form.largest, np.copysign(np.inf, array), nearest)


@cache
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return the NumPy dtype that holds all numbers of a dtype: its own, or float32 if NumPy lacks it, as bfloat16."""
    return np.dtype(dtype if hasattr(np, dtype) else "float32")
