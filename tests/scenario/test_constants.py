"""A constant holds its numbers to the bit."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given

from refgrad.scenario import Constant, ScenarioError, parse
from refgrad.scenario.formats import numpy_dtype
from tests.effort import each
from tests.scenario.arbitrary_scenarios import constants

ONE = struct.pack("<d", 1.0)


@given(constants())
def test_an_array_comes_back_bit_for_bit(constant: Constant) -> None:
    array = constant.to_numpy()
    assert array.dtype == numpy_dtype(constant.dtype)
    assert array.shape == constant.shape
    assert array.flags.writeable
    assert Constant.of(array, constant.dtype) == constant


@each(
    ("array", "text"),
    [
        (np.array([1.5, -0.5]), "float64[2] {0x1.8p+0 -0x1p-1}"),
        (np.array(1.0), "float64[] {0x1p+0}"),
        (np.array([[0.0, -0.0]]), "float64[1, 2] {0x0p+0 -0x0p+0}"),
        (np.array([math.nan, math.inf, -math.inf]), "float64[3] {nan inf -inf}"),
        (np.array([5e-324]), "float64[1] {0x0.0000000000001p-1022}"),
        (np.array([0.1], np.float32), "float32[1] {0x1.99999ap-4}"),
        (np.array([0.1, 65504.0, 6e-8], np.float16), "float16[3] {0x1.998p-4 0x1.ffcp+15 0x1p-24}"),
        (np.array([-(2**63)]), "int64[1] {-9223372036854775808}"),
        (np.array([True, False]), "bool[2] {true false}"),
        (np.zeros((2, 0, 3)), "float64[2, 0, 3] {}"),
    ],
)
def test_the_text_of_a_constant_is_canonical(array: np.ndarray, text: str) -> None:
    assert Constant.of(array).to_text() == text
    assert parse(f"x = leaf {text}").leaves[0].value == Constant.of(array)


def test_nan_equals_itself_whatever_its_bits() -> None:
    odd_nan = struct.pack("<Q", 0xFFF8_0000_0000_1234)
    assert Constant("float64", (), odd_nan) == Constant.of(np.array(math.nan))


def test_nan_does_not_change_its_neighbours() -> None:
    values = np.array([-0.0, math.nan, 3.0], np.float32)
    assert Constant.of(values).words() == ["-0x0p+0", "nan", "0x1.8p+1"]


def test_negative_zero_differs_from_zero() -> None:
    assert Constant.of(np.array(0.0)) != Constant.of(np.array(-0.0))


def test_order_and_byte_order_of_an_array_do_not_matter() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert Constant.of(np.asfortranarray(array)) == Constant.of(array)
    assert Constant.of(array.astype(">f8")) == Constant.of(array)
    assert Constant.of(array[:, ::-1]).words()[:3] == ["0x1p+1", "0x1p+0", "0x0p+0"]


def test_an_array_taken_out_is_not_shared() -> None:
    constant = Constant.of(np.zeros(2))
    constant.to_numpy()[0] = 1.0
    assert constant == Constant.of(np.zeros(2))


@each(
    ("dtype", "shape", "data", "rule"),
    [
        ("float8", (), b"", "unknown dtype 'float8', did you mean 'float64'?"),
        ("float64", [1], ONE, "shape must be tuple, not list"),
        ("float64", (-1,), ONE, "the lengths of a shape must be integers that are not negative, not (-1,)"),
        ("float64", (True,), ONE, "the lengths of a shape must be integers that are not negative, not (True,)"),
        ("float64", (1,) * 33, ONE, "a shape may have at most 32 dimensions, not 33"),
        ("float64", (0, 2**31 + 1), b"", "shape (0, 2147483649) is too large"),
        ("float64", (10**5000,), ONE, "shape a tuple too long to show is too large"),
        ("float64", (2,), ONE, "the data of a float64[2] must be 16 bytes"),
        ("float64", (1,), bytearray(ONE), "data must be bytes, not bytearray"),
        ("bool", (1,), b"\x02", "the bytes of a bool must be 0 or 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(dtype: str, shape: tuple[int, ...], data: bytes, rule: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Constant(dtype, shape, data)
    assert str(caught.value) == rule


def test_an_array_of_another_dtype_is_refused() -> None:
    with pytest.raises(ScenarioError, match="unknown dtype 'complex128'"):
        Constant.of(np.zeros(2, np.complex128))


def test_bfloat16_is_the_leading_half_of_float32() -> None:
    array = np.array([1.0, -2.5, 3.0e38], np.float32)
    constant = Constant.of(array, "bfloat16")
    assert constant.data == b"".join(number.tobytes()[2:] for number in array[:2]) + constant.data[4:]
    assert constant.to_text().startswith("bfloat16[3] {0x1p+0 -0x1.4p+1 ")
    assert constant.to_numpy().dtype == np.float32
    assert Constant.of(constant.to_numpy(), "bfloat16") == constant


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_nan_of_sixteen_bits_has_one_spelling(dtype: str) -> None:
    odd = Constant(dtype, (2,), b"\xff\xff" + Constant.of(np.ones(1), dtype).data)
    assert odd == Constant.of(np.array([math.nan, 1.0]), dtype)


@pytest.mark.parametrize(("dtype", "number"), [("float32", 3.5e38), ("float16", 65520.0), ("bfloat16", 3.4e38)])
def test_a_number_too_large_for_a_dtype_is_refused(dtype: str, number: float) -> None:
    with pytest.raises(ScenarioError, match=f"too large for {dtype}"):
        Constant.of(np.array(number), dtype)
    with pytest.raises(ScenarioError, match=f"too large for {dtype}"):
        parse(f"x = leaf {dtype}[] {{{number}}}")
