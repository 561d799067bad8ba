"""The JSON Schema of engine files, derived from the table of adapter fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from refgrad.native.adapter.fields import AdapterField, rows
from refgrad.native.adapter.kinds import KINDS
from refgrad.native.adapter.values import TEXT, WORDS

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
        schema={"type": "object", "additionalProperties": {**TEXT, "maxLength": 200, "pattern": r"^[^{}]*$"}},
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
"""Rows of the fields that engine files have in addition to those of adapters."""


def file_fields(kind: str) -> Mapping[str, AdapterField]:
    """Return the rows of the fields that a file of a kind may have, by name. A ``family`` may have all of them."""
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
    """Return the text of specs/schema/engine.schema.json, which other languages can read."""
    return json.dumps(engine_schema(), indent=2) + "\n"


def _only_fields_of(kind: str, every: Mapping[str, AdapterField]) -> dict[str, Any]:
    others = sorted(every.keys() - file_fields(kind).keys())
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": {"properties": {key: {"not": {}} for key in others}},
    }
