"""Constants: the numbers of a leaf, a seed or a tangent, exact to the bit."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from refgrad.errors import suggestion
from refgrad.scenario import tokens
from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.formats import FORMATS, numpy_dtype, rounded

MAXIMUM_DIMENSIONS: Final = 32
# Largest product of the lengths other than 0, so that NumPy can create every array, empty ones too.
MAXIMUM_SIZE: Final = 2**31


@dataclass(frozen=True, slots=True)
class ElementType:
    """The format of the elements of one dtype: packed (a code of `struct`, little-endian) and as text."""

    code: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]


ELEMENT_TYPES: Final[Mapping[str, ElementType]] = MappingProxyType({
    "float64": ElementType("d", tokens.read_float, tokens.write_float),
    "float32": ElementType("f", tokens.read_float, tokens.write_float),
    "float16": ElementType("e", tokens.read_float, tokens.write_float),
    "bfloat16": ElementType("H", tokens.read_bfloat16, tokens.write_bfloat16),
    "int64": ElementType("q", tokens.read_integer, str),
    "bool": ElementType("?", tokens.read_boolean, tokens.write_boolean),
})

FLOATING: Final = tuple(dtype for dtype in FORMATS if dtype in ELEMENT_TYPES)
"""Floating dtypes of constants."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An array: dtype (one of ELEMENT_TYPES), shape, and little-endian bytes in C order.

    Constants are equal if all their bits are: NaN equals itself and -0.0 differs from 0.0. There is only one NaN: the
    payload and the sign of a NaN are not kept, since engines do not keep them either.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        """Check that dtype, shape and bytes match, and replace every NaN by the same one."""
        element = _element_type(self.dtype)
        _check_shape(self.shape)
        check_type("data", self.data, bytes)
        length = struct.calcsize(f"<{self.size}{element.code}")
        if len(self.data) != length:
            raise ScenarioError(f"the data of a {self.type_text} must be {length} bytes")
        if self.dtype in FORMATS:
            _unify_nans(self)
        elif self.dtype == "bool" and max(self.data, default=0) > 1:
            raise ScenarioError("the bytes of a bool must be 0 or 1")

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def type_text(self) -> str:
        """Dtype and shape, e.g. float64[2]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @classmethod
    def of(cls, array: NDArray[Any], dtype: str | None = None) -> Constant:
        """Return the constant that holds an array, rounded to ``dtype`` if that is not None or the array's own.

        The dtype must be one of ELEMENT_TYPES; any byte order is accepted. Raises ScenarioError where a finite number
        is too large.
        """
        own = "float64" if array.dtype == np.float64 else array.dtype.name  # NumPy makes a name anew each time
        dtype = own if dtype is None else dtype
        _element_type(dtype)
        if dtype in FORMATS and dtype != own:
            array = _narrowed(array, dtype)
        if dtype == "bfloat16":
            return cls(dtype, array.shape, (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes())
        return cls(dtype, array.shape, array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())

    def to_numpy(self) -> NDArray[Any]:
        """Return a new, writable array of this shape and dtype, which is float32 for bfloat16 (NumPy lacks it)."""
        if self.dtype == "bfloat16":
            return _numbers(self).reshape(self.shape)
        stored = np.ndarray(self.shape, f"<{ELEMENT_TYPES[self.dtype].code}", bytearray(self.data))
        return stored.astype(self.dtype, copy=False)

    def words(self) -> list[str]:
        """Return the text of every element, in C order."""
        element = _element_type(self.dtype)
        return [element.write(number) for number in struct.unpack(f"<{self.size}{element.code}", self.data)]

    @classmethod
    def from_words(cls, dtype: str, shape: tuple[int, ...], words: Sequence[str]) -> Constant:
        """Return the constant with elements of these texts, each rounded to the nearest number of the dtype."""
        element = _element_type(dtype)
        _check_shape(shape)
        size = math.prod(shape)
        if len(words) != size:
            raise ScenarioError(f"shape {quoted(shape)} needs {size} value{'s' * (size != 1)}, not {len(words)}")
        return cls(dtype, shape, _pack(dtype, [element.read(word) for word in words]))

    def to_text(self) -> str:
        """Return dtype, shape and values, e.g. float64[2] {0x1p+0 nan}."""
        return f"{self.type_text} {{{' '.join(self.words())}}}"

    @classmethod
    def from_text(cls, cursor: tokens.Cursor) -> Constant:
        """Read the text that `to_text` returns."""
        dtype = cursor.take("a dtype")
        _element_type(dtype)
        cursor.expect("[")
        shape = _read_shape(cursor.take_until("]"))
        cursor.expect("{")
        return cls.from_words(dtype, shape, cursor.take_until("}"))

    def to_json(self) -> dict[str, Any]:
        """Return dtype, shape, and the values as in the text form."""
        return {"dtype": self.dtype, "shape": list(self.shape), "values": self.words()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Constant:
        """Read the members that `to_json` returns."""
        return cls.from_words(fields["dtype"], tuple(fields["shape"]), fields["values"])


def _element_type(dtype: str) -> ElementType:
    element = ELEMENT_TYPES.get(dtype)
    if element is None:
        raise ScenarioError(f"unknown dtype {quoted(dtype)}{suggestion(dtype, ELEMENT_TYPES)}")
    return element


def _check_shape(shape: tuple[int, ...]) -> None:
    check_type("shape", shape, tuple)
    if any(type(length) is not int or length < 0 for length in shape):
        raise ScenarioError(f"the lengths of a shape must be integers that are not negative, not {quoted(shape)}")
    if len(shape) > MAXIMUM_DIMENSIONS:
        raise ScenarioError(f"a shape may have at most {MAXIMUM_DIMENSIONS} dimensions, not {len(shape)}")
    if math.prod(length or 1 for length in shape) > MAXIMUM_SIZE:
        raise ScenarioError(f"shape {quoted(shape)} is too large")


def _narrowed(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    nearest = rounded(array, dtype)
    if np.any(np.isinf(nearest) & np.isfinite(array)):
        raise ScenarioError(f"a value is too large for {dtype}")
    return nearest.astype(numpy_dtype(dtype))


def _unify_nans(constant: Constant) -> None:
    if not np.isnan(_numbers(constant)).any():
        return
    element = ELEMENT_TYPES[constant.dtype]
    words = np.frombuffer(constant.data, f"V{struct.calcsize(element.code)}").copy()
    words[np.isnan(_numbers(constant))] = np.void(_pack(constant.dtype, [element.read("nan")]))
    object.__setattr__(constant, "data", words.tobytes())


def _numbers(constant: Constant) -> NDArray[Any]:
    """Return the elements as a read-only 1-d array; bfloat16 is widened to float32 by sixteen zero bits."""
    if constant.dtype == "bfloat16":
        return (np.frombuffer(constant.data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(constant.data, f"<{ELEMENT_TYPES[constant.dtype].code}")


def _pack(dtype: str, numbers: list[Any]) -> bytes:
    try:
        return struct.pack(f"<{len(numbers)}{_element_type(dtype).code}", *numbers)
    except OverflowError:
        raise ScenarioError(f"a value is too large for {dtype}") from None


def _read_shape(words: list[str]) -> tuple[int, ...]:
    if any(word != "," for word in words[1::2]) or (words and len(words) % 2 == 0):
        raise ScenarioError(f"the lengths of a shape are separated by commas: {quoted(' '.join(words))}")
    return tuple(tokens.read_integer(word) for word in words[::2])
