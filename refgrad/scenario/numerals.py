"""The text of a single number, which preserves every bit."""

from __future__ import annotations

import math
import re
import struct

from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.formats import rounded

SMALLEST_INTEGER = -(2**63)
LARGEST_INTEGER = 2**63 - 1
_LONGEST_INTEGER = 20
_INTEGER = re.compile("[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(0x[0-9a-f]+(\.[0-9a-f]*)?p[+-]?[0-9]+|[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|inf)|nan",
)
_BOOLEANS = ("false", "true")


def write_float(number: float) -> str:
    """Return the shortest hex text of a number: 0x1.8p+0 for 1.5; nan, inf and -inf are words."""
    mantissa, point, exponent = number.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" if point else mantissa


def is_float(word: str) -> bool:
    """Return True if a word is a float, in hex or in decimal."""
    return _FLOAT.fullmatch(word) is not None


def read_float(word: str) -> float:
    """Return the float64 nearest to a hex or decimal number. Raises ScenarioError if a finite number is too large."""
    if not is_float(word):
        raise ScenarioError(f"{quoted(word)} is not a float")
    try:
        number = float.fromhex(word) if "x" in word else float(word)
    except (OverflowError, ValueError):
        number = math.inf
    if math.isinf(number) and "inf" not in word:
        raise ScenarioError(f"{quoted(word)} is too large for float64")
    return number


def read_bfloat16(word: str) -> int:
    """Return the 16 bits of the bfloat16 nearest to a number, which are the leading half of a float32's bits."""
    number = read_float(word)
    nearest = float(rounded(number, "bfloat16"))
    if math.isinf(nearest) and math.isfinite(number):
        raise ScenarioError("a value is too large for bfloat16")
    return int.from_bytes(struct.pack("<f", nearest), "little") >> 16


def write_bfloat16(bits: int) -> str:
    """Return the text of the bfloat16 with these bits."""
    return write_float(struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0])


def is_integer(word: str) -> bool:
    """Return True if a word is an integer, of any size."""
    return _INTEGER.fullmatch(word) is not None


def read_integer(word: str) -> int:
    """Return the 64-bit integer of a decimal word. Raises ScenarioError if it is not one."""
    if not is_integer(word):
        raise ScenarioError(f"{quoted(word)} is not an integer")
    if len(word) > _LONGEST_INTEGER:
        raise ScenarioError(f"{quoted(word)} does not fit in 64 bits")
    return checked_integer(int(word))


def checked_integer(number: object) -> int:
    """Return the number. Raises ScenarioError if it is not a Python int (a bool is not) of 64 bits."""
    if type(number) is not int:
        raise ScenarioError(f"{quoted(number)} is not an integer")
    if not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
        raise ScenarioError("an integer does not fit in 64 bits")
    return number


def write_boolean(truth: bool) -> str:  # noqa: FBT001 - the value itself, not a switch
    """Return "true" or "false"."""
    return _BOOLEANS[truth]


def read_boolean(word: str) -> bool:
    """Return the boolean of the word "true" or "false"."""
    if word not in _BOOLEANS:
        raise ScenarioError(f"{quoted(word)} is not true or false")
    return word == "true"
