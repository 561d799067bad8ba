"""The JSON Schema of engine files, derived from the table of adapter fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from refgrad.documents import first_problem, message_of
from refgrad.errors import suggestion
from refgrad.native.adapter.fields import AdapterField, rows
from refgrad.native.adapter.kinds import KINDS
from refgrad.native.adapter.values import TEXT, WORDS
from refgrad.scenario.errors import shortened

LONGEST_EXPLANATION: Final = 200

FILE_FIELDS: Final[Mapping[str, AdapterField]] = MappingProxyType({
    "kind": AdapterField(
        meaning="What the file holds: an engine that records a tape, one that differentiates functions, or a family, "
        "which several files share.",
        example='"tape"',
        schema={"enum": [*KINDS, "family"]},
    ),
    "extends": AdapterField(
        meaning="Families whose fields and rows the file takes over: names of `specs/engines/families/`, or paths of "
        "files, seen from this one. The file's own fields, and rows of `operators`, `errors`, `policy` and `modules`, "
        "replace those of families, and later families those of earlier ones. The file of another engine may be "
        "extended too: fields that the other kind of engine has are left out. A `setup` whose first line is `...` "
        "goes on behind that of the family.",
        example='["numpy-like", "./my-family.toml"]',
        schema=WORDS,
    ),
    "modules": AdapterField(
        meaning="What stands for placeholders of modules in the templates of families.",
        example='{ np = "me" }',
        schema={"type": "object", "additionalProperties": dict(TEXT)},
    ),
    "calls": AdapterField(
        meaning="By module, the operators that it calls by the table's own names, with the table's own arguments and "
        'attributes, `me.sum({x}, axis={axis}, keepdims={keepdims})`; "all" for the whole table.',
        example='{ me = ["sum", "mean"] }',
        schema={"type": "object", "additionalProperties": {"anyOf": [{"const": "all"}, dict(WORDS)]}},
    ),
    "without": AdapterField(
        meaning="Operators of the families that the engine does not have.",
        example='["rot90"]',
        schema=WORDS,
    ),
})
"""The rows of fields that engine files have beside those of adapters."""


def file_fields(kind: str) -> Mapping[str, AdapterField]:
    """Return the rows of the fields that a file of a kind of engine may have, by name; a family may have all."""
    classes = KINDS.values() if kind == "family" else [KINDS[kind]]
    found = {name: row for each in classes for name, row in rows(each).items() if row.schema is not None}
    return MappingProxyType({**FILE_FIELDS, **found})


def engine_schema() -> dict[str, Any]:
    """Return the JSON Schema of an engine file, as published in specs/schema."""
    every = file_fields("family")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An engine: how its library spells what scenarios ask for, and what it promises",
        "type": "object",
        "properties": {
            name: {"description": row.meaning, **dict(row.schema or {})} for name, row in sorted(every.items())
        },
        "required": ["kind", "name"],
        "additionalProperties": False,
        "allOf": [_only_fields_of(kind, every) for kind in KINDS],
    }


def schema_text() -> str:
    """Return what specs/schema/engine.schema.json holds, for other languages to read."""
    return json.dumps(engine_schema(), indent=2) + "\n"


def problem_in(document: Mapping[str, Any]) -> str:
    """Return what is wrong with a document first of all, as `field: problem`, or nothing."""
    error = first_problem(_validator(), document)
    return "" if error is None else ": ".join(_explained(error))


def _only_fields_of(kind: str, every: Mapping[str, AdapterField]) -> dict[str, Any]:
    others = sorted(every.keys() - file_fields(kind).keys())
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": {"properties": {key: {"not": {}} for key in others}},
    }


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(engine_schema())


def _explained(error: ValidationError) -> Iterator[str]:
    place = [str(part) for part in error.instance_path]
    if isinstance(error.kind, ValidationErrorKind.AdditionalProperties):
        unknown, known = min(error.kind.unexpected), _known_beside(error)
        yield ".".join([*place, unknown])
        yield f"no such field{suggestion(unknown, known) or ';'} {_among(known, place)}"
    else:
        yield from [".".join(place)] if place else []
        foreign = isinstance(error.kind, ValidationErrorKind.Not)
        yield "this kind of engine has no such field" if foreign else shortened(message_of(error), LONGEST_EXPLANATION)


def _known_beside(error: ValidationError) -> Mapping[str, Any]:
    """Return the fields that stand where an unknown one was found."""
    schema: Any = engine_schema()
    for part in error.schema_path[:-1]:
        schema = schema[part]
    return dict(schema.get("properties", {}))


def _among(known: Mapping[str, Any], place: list[str]) -> str:
    return f"there are {', '.join(known)}" if place else "docs/reference/adapter-fields.md lists them"
