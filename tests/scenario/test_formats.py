"""A format says what the numbers of its dtype are, and rounding finds the nearest of them."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.scenario.formats import FLOAT64, FORMATS, coarsest, rounded

OF_NUMPY = ("float64", "float32", "float16")
BITS_OF_BFLOAT16 = st.integers(0, 2**16 - 1).filter(lambda bits: bits & 0x7F80 != 0x7F80)


def bfloat16(bits: int) -> float:
    """Return the bfloat16 with these bits, read as the leading half of a float32."""
    return float(struct.unpack(">f", struct.pack(">HH", bits, 0))[0])


@pytest.mark.parametrize("dtype", OF_NUMPY)
def test_formats_are_those_of_numpy(dtype: str) -> None:
    info, known = np.finfo(dtype), FORMATS[dtype]
    assert known.unit == info.eps / 2
    assert known.largest == info.max
    assert known.smallest_normal == float(info.tiny)
    assert known.smallest_subnormal == float(info.smallest_subnormal)


def test_bfloat16_has_the_exponents_of_float32_and_eight_bits() -> None:
    known = FORMATS["bfloat16"]
    assert (known.largest, known.smallest_subnormal) == (bfloat16(0x7F7F), bfloat16(0x0001))
    assert (known.smallest_normal, 1 + 2 * known.unit) == (bfloat16(0x0080), bfloat16(0x3F81))


def test_narrow_formats_have_at_most_the_digits_of_float16() -> None:
    assert sorted(FORMATS.keys() - {name for name, form in FORMATS.items() if form.narrow}) == ["float32", "float64"]


@pytest.mark.parametrize("dtype", OF_NUMPY)
@given(st.floats())
def test_rounding_is_numpys(dtype: str, number: float) -> None:
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(rounded(number, dtype), np.float64(number).astype(dtype).astype(np.float64))


@given(BITS_OF_BFLOAT16, st.floats(-1, 1))
def test_rounding_to_bfloat16_finds_the_nearest(bits: int, part: float) -> None:
    number = bfloat16(bits)
    above = bfloat16(bits + 1) if (bits + 1) & 0x7F80 != 0x7F80 else number
    between = number + (above - number) * abs(part) * 0.499
    assert rounded(between, "bfloat16") == number
    assert rounded(-between, "bfloat16") == -number


def test_rounding_to_bfloat16_takes_the_even_one_of_two() -> None:
    assert rounded([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-40], "bfloat16").tolist() == [
        1.0,
        1 + 2.0**-6,
        1 + 2.0**-7,
    ]


@given(st.floats(), st.sampled_from(sorted(FORMATS)))
def test_what_was_rounded_stays(number: float, dtype: str) -> None:
    np.testing.assert_array_equal(rounded(rounded(number, dtype), dtype), rounded(number, dtype))


def test_the_coarsest_of_several_is_as_coarse_as_each() -> None:
    both = coarsest(["float16", "bfloat16"])
    assert both.bits == FORMATS["bfloat16"].bits
    assert both.largest == FORMATS["float16"].largest
    assert coarsest(["float64", "float32", "bool"]) == FORMATS["float32"]
    assert coarsest(["bool", "int64"]) == coarsest([]) == FLOAT64
