"""The values that an attribute of an operator may have, and their spelling."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, Final, TypeAlias

from refgrad.scenario import tokens
from refgrad.scenario.errors import ScenarioError, quoted

AttributeValue: TypeAlias = "bool | int | float | str | Slice | tuple[AttributeValue, ...] | None"

MAXIMUM_DEPTH: Final = 16
_WORDS: Final[Mapping[str, bool | None]] = MappingProxyType({"none": None, "true": True, "false": False})


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice that can be hashed; each part is an integer or None, and the step is not 0."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None

    def __post_init__(self) -> None:
        """Check the three parts."""
        for part in (self.start, self.stop, self.step):
            if part is not None:
                tokens.checked_integer(part)
        if self.step == 0:
            raise ScenarioError("the step of a slice must not be 0")

    def to_native(self) -> slice:
        """Return Python's own slice."""
        return slice(self.start, self.stop, self.step)

    def to_text(self) -> str:
        """Return the slice as Python spells it: 1:5:2, ::-1, `:`."""
        words = ["" if part is None else str(part) for part in (self.start, self.stop, self.step)]
        return ":".join(words if words[2] else words[:2])


def check_value(value: object, depth: int = 0) -> None:
    """Raise ScenarioError for what is not an attribute value, and for tuples nested deeper than MAXIMUM_DEPTH."""
    if type(value) is tuple:
        if depth == MAXIMUM_DEPTH:
            raise ScenarioError(f"tuples are nested more than {MAXIMUM_DEPTH} deep")
        # Indices may be thousands of integers.
        for item in (min(value), max(value)) if set(map(type, value)) == {int} else value:
            check_value(item, depth + 1)
    elif type(value) is int:
        tokens.checked_integer(value)
    elif type(value) not in _SPELLINGS:
        raise ScenarioError(f"an attribute cannot be a {type(value).__name__}")


def write_value(value: AttributeValue) -> str:
    """Return the text of an attribute value."""
    return _SPELLINGS[type(value)].to_text(value)


def encode_value(value: AttributeValue) -> Any:
    """Return the JSON form: null, true, 3, "s", [1, 2], {"float": "0x1.8p+0"}, {"slice": [1, 5, null]}."""
    return _SPELLINGS[type(value)].to_json(value)


def decode_value(encoded: Any) -> AttributeValue:
    """Read the JSON form that `encode_value` returns, which must satisfy the schema."""
    if isinstance(encoded, list):
        return tuple(decode_value(item) for item in encoded)
    if isinstance(encoded, dict):
        return tokens.read_float(encoded["float"]) if "float" in encoded else Slice(*encoded["slice"])
    if isinstance(encoded, float):  # JSON Schema accepts 2.0 as an integer
        raise ScenarioError(f'a float is written {{"float": "{tokens.write_float(encoded)}"}}, not {quoted(encoded)}')
    value: AttributeValue = encoded
    return value


def read_value(cursor: tokens.Cursor, depth: int = 0) -> AttributeValue:
    """Read the text that `write_value` returns. Decimal numbers are allowed: a point or an exponent makes a float."""
    if cursor.accept("("):
        return _read_tuple(cursor, depth)
    first = None if cursor.peek() == ":" else _read_word(cursor.take("a value"))
    if cursor.peek() != ":":
        return first
    return _read_slice(cursor, first)


def _read_tuple(cursor: tokens.Cursor, depth: int) -> tuple[AttributeValue, ...]:
    if depth == MAXIMUM_DEPTH:
        raise ScenarioError(f"tuples are nested more than {MAXIMUM_DEPTH} deep")
    items: list[AttributeValue] = []
    while not cursor.accept(")"):
        items.append(read_value(cursor, depth + 1))
        if cursor.accept(","):
            continue
        cursor.expect(")")
        if len(items) == 1:
            raise ScenarioError("a tuple of one item is written with a comma: (1,)")
        break
    return tuple(items)


def _read_slice(cursor: tokens.Cursor, first: AttributeValue) -> Slice:
    if first is not None and type(first) is not int:
        raise ScenarioError(f"{quoted(first)} cannot be the start of a slice")
    parts = [first, None, None]
    for at in (1, 2):
        if cursor.accept(":") and tokens.is_integer(cursor.peek()):
            parts[at] = tokens.read_integer(cursor.take("an integer"))
    return Slice(*parts)


def _read_word(word: str) -> AttributeValue:
    if word in _WORDS:
        return _WORDS[word]
    if word.startswith('"'):
        return _read_string(word)
    if tokens.is_integer(word):
        return tokens.read_integer(word)
    if tokens.is_float(word):
        return tokens.read_float(word)
    raise ScenarioError(f"{quoted(word)} is no value: write none, true, false, a number, a string, a slice or a tuple")


def _read_string(word: str) -> str:
    try:
        text: str = json.loads(word)
    except ValueError:
        raise ScenarioError(f"{quoted(word)} is not a string of JSON") from None
    return text


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The text and JSON forms of values of one type."""

    to_text: Callable[[Any], str]
    to_json: Callable[[Any], Any]


def _write_tuple(values: tuple[AttributeValue, ...]) -> str:
    comma = "," if len(values) == 1 else ""
    return f"({', '.join(map(write_value, values))}{comma})"


def _same(value: object) -> object:
    return value


_SPELLINGS: Final[Mapping[type, _Spelling]] = MappingProxyType({
    NoneType: _Spelling(lambda _: "none", _same),
    bool: _Spelling(tokens.write_boolean, _same),
    int: _Spelling(str, _same),
    float: _Spelling(tokens.write_float, lambda number: {"float": tokens.write_float(number)}),
    str: _Spelling(json.dumps, _same),
    Slice: _Spelling(Slice.to_text, lambda part: {"slice": [part.start, part.stop, part.step]}),
    tuple: _Spelling(_write_tuple, lambda values: [encode_value(item) for item in values]),
})
