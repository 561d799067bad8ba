"""The tokens of one line: names, numbers to the bit, and a cursor that reads them."""

from __future__ import annotations

import math
import re
import struct
from keyword import iskeyword

import numpy as np

from refgrad.scenario.errors import ScenarioError, alternatives, quoted
from refgrad.scenario.formats import rounded

SMALLEST_INTEGER = int(np.iinfo(np.int64).min)
LARGEST_INTEGER = int(np.iinfo(np.int64).max)
_LONGEST_INTEGER = len(str(SMALLEST_INTEGER))
_INTEGER = re.compile("[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(0x[0-9a-f]+(\.[0-9a-f]*)?p[+-]?[0-9]+|[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|inf)|nan",
)
_BOOLEANS = ("false", "true")

# An unclosed quote matches the rest of the line, so that reading takes linear time.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[=\[\](){},:]|#.*|[^\s=\[\](){},:"#]+|".*')
_CLOSED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_END = ""


def checked_identifier(name: object) -> str:
    """Return the name. Raises ScenarioError unless it is an ASCII Python identifier and no keyword of Python.

    Only ASCII is allowed, since Python takes several spellings of one letter for the same name and other languages do
    not.
    """
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
        raise ScenarioError(f"{quoted(name)} is not an identifier")
    if iskeyword(name):
        raise ScenarioError(f"{name!r} is a Python keyword, not an identifier")
    return name


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


def tokenize(line: str) -> list[str]:
    """Return the tokens of a line without its comment. Raises ScenarioError if a string is not closed."""
    tokens: list[str] = _TOKEN.findall(line)
    if tokens and tokens[-1].startswith("#"):
        del tokens[-1]
    if tokens and tokens[-1].startswith('"') and not _CLOSED_STRING.fullmatch(tokens[-1]):
        raise ScenarioError(f"the string {quoted(tokens[-1])} is not closed")
    return tokens


class Cursor:
    """A position in the tokens of one line, from which a step is read."""

    __slots__ = ("_position", "_tokens")

    def __init__(self, tokens: list[str]) -> None:
        """Start at the first token."""
        self._tokens = tokens
        self._position = 0

    def peek(self, ahead: int = 0) -> str:
        """Return a token without moving; an empty string past the end."""
        position = self._position + ahead
        return self._tokens[position] if position < len(self._tokens) else _END

    def at_end(self) -> bool:
        """Return True if all tokens have been read."""
        return self._position >= len(self._tokens)

    def take(self, expected: str) -> str:
        """Return the next token. If there is none, raise ScenarioError, which names ``expected`` as missing."""
        if self.at_end():
            raise ScenarioError(f"the line ends where {expected} should be")
        self._position += 1
        return self._tokens[self._position - 1]

    def accept(self, token: str) -> bool:
        """Skip the next token if it is this one, and return True if it was."""
        accepted = self.peek() == token
        self._position += accepted
        return accepted

    def expect(self, *tokens: str) -> None:
        """Skip the next token. Raises ScenarioError if it is none of these."""
        expected = alternatives([repr(token) for token in tokens])
        actual = self.take(expected)
        if actual not in tokens:
            raise ScenarioError(f"{quoted(actual)} stands where {expected} should be")

    def take_identifier(self, expected: str) -> str:
        """Return the next token, which must be an identifier."""
        return checked_identifier(self.take(expected))

    def take_until(self, token: str) -> list[str]:
        """Return all tokens before this one, and skip it. Raises ScenarioError if there is none."""
        try:
            end = self._tokens.index(token, self._position)
        except ValueError:
            raise ScenarioError(f"the line ends where {token!r} should be") from None
        taken = self._tokens[self._position : end]
        self._position = end + 1
        return taken

    def finish(self) -> None:
        """Raise ScenarioError if tokens are left on the line."""
        if not self.at_end():
            raise ScenarioError(f"{quoted(self.peek())} follows what should be the end of the line")
