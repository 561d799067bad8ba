"""Codecs of the fields that hold several values: arguments, attributes, tangents, and the index of a write."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, TypeAlias

from refgrad.scenario.attributes import (
    AttributeValue,
    Slice,
    check_value,
    decode_value,
    encode_value,
    read_value,
    write_value,
)
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, check_type, quoted
from refgrad.scenario.identifiers import check_identifier
from refgrad.scenario.steps.codecs import CONSTANT, NAME, Codec, Names
from refgrad.scenario.steps.scope import Scope
from refgrad.scenario.tokens import Cursor

Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]
Tangent: TypeAlias = tuple[str, Constant]
Tangents: TypeAlias = tuple[Tangent, ...]


def _read_arguments(cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    while not cursor.at_end() and cursor.peek(1) != "=":
        found.append(cursor.take_identifier("an argument"))
    return tuple(found)


def _identifiers(names: tuple[Any, ...]) -> tuple[str, ...]:
    for name in names:
        check_identifier(name)
    return names


ARGUMENTS: Final = Codec(
    {"type": "array", "items": NAME.schema},
    read=_read_arguments,
    write=" ".join,
    types=(tuple,),
    kept=_identifiers,
    encode=list,
    decode=tuple,
    uses=lambda arguments: arguments,
    renamed=lambda arguments, names: tuple(names.get(name, name) for name in arguments),
)


def _read_attributes(cursor: Cursor) -> Attributes:
    found: list[tuple[str, AttributeValue]] = []
    while not cursor.at_end():
        name = cursor.take_identifier("an argument")
        if not cursor.accept("="):
            raise ScenarioError(f"argument {quoted(name)} follows an attribute")
        found.append((name, read_value(cursor)))
    return tuple(found)


def _sorted(attributes: Attributes) -> Attributes:
    for name, value in attributes:
        check_identifier(name)
        check_value(value)
    ordered = tuple(sorted(attributes, key=lambda pair: pair[0]))
    for (name, _), (following, _) in pairwise(ordered):
        if name == following:
            raise ScenarioError(f"attribute {quoted(name)} is given twice")
    return ordered


ATTRIBUTES: Final = Codec(
    {"type": "object", "propertyNames": NAME.schema, "additionalProperties": {"$ref": "#/$defs/attribute"}},
    read=_read_attributes,
    write=lambda attributes: " ".join(f"{name}={write_value(value)}" for name, value in attributes),
    types=(tuple,),
    kept=_sorted,
    encode=lambda attributes: {name: encode_value(value) for name, value in attributes},
    decode=lambda members: tuple((name, decode_value(value)) for name, value in members.items()),
)


def _read_tangents(cursor: Cursor) -> Tangents:
    found: list[Tangent] = []
    while not found or not cursor.at_end():
        found.append((cursor.take_identifier("a leaf's name"), Constant.from_text(cursor)))
    return tuple(found)


def _tangents(given: Any) -> Tangents:
    tangents = tuple(given)
    for leaf, tangent in tangents:
        check_identifier(leaf)
        check_type("tangent", tangent, Constant)
    return tangents


def _rename_tangents(tangents: Tangents, names: Names) -> Tangents:
    return tuple((names.get(leaf, leaf), tangent) for leaf, tangent in tangents)


def _check_tangents(scope: Scope, tangents: Tangents) -> None:
    if not tangents:
        raise ScenarioError("a jvp needs at least one leaf and its tangent")
    leaves = [leaf for leaf, _ in tangents]
    for leaf, tangent in tangents:
        _check_tangent(scope, leaf, tangent)
        if leaves.count(leaf) > 1:
            raise ScenarioError(f"{quoted(leaf)} has two tangents")


def _check_tangent(scope: Scope, leaf: str, tangent: Constant) -> None:
    due = scope.constants.get(leaf)
    if leaf not in scope.leaves or due is None:
        raise ScenarioError(f"{quoted(leaf)} is not a leaf that requires grad")
    if (tangent.dtype, tangent.shape) != (due.dtype, due.shape):
        raise ScenarioError(f"the tangent of {quoted(leaf)} is {tangent.type_text}, but it should be {due.type_text}")


TANGENTS: Final = Codec(
    {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {"leaf": NAME.schema, "tangent": CONSTANT.schema},
            "required": ["leaf", "tangent"],
            "additionalProperties": False,
        },
    },
    read=_read_tangents,
    write=lambda tangents: " ".join(f"{leaf} {tangent.to_text()}" for leaf, tangent in tangents),
    kept=_tangents,
    encode=lambda tangents: [{"leaf": leaf, "tangent": tangent.to_json()} for leaf, tangent in tangents],
    decode=lambda rows: tuple((row["leaf"], Constant.from_json(row["tangent"])) for row in rows),
    uses=lambda tangents: tuple(leaf for leaf, _ in tangents),
    renamed=_rename_tangents,
    check=_check_tangents,
)


def _index(index: Any) -> Any:
    check_value(index)
    items = () if index is None else index if isinstance(index, tuple) else (None,)
    for item in items:
        if type(item) is not int and not (isinstance(item, Slice) and (item.step or 1) > 0):
            raise ScenarioError(f"the index of a write is a tuple of integers and forward slices, not {quoted(index)}")
    return index


INDEX: Final = Codec(
    {"$ref": "#/$defs/attribute"},
    read=read_value,
    write=write_value,
    kept=_index,
    encode=encode_value,
    decode=decode_value,
)
"""Codec of a tuple with an integer or a slice of positive step for each of the first axes, or of None."""
