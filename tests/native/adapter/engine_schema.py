"""The JSON Schema of engine files, which other languages can read.

It is written again by ``python -m tests.native.adapter.engine_schema > specs/schema/engine.schema.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from refgrad.native.adapter.fields import AdapterField
from refgrad.native.adapter.files import file_fields
from refgrad.native.adapter.kinds import KINDS


def engine_schema() -> dict[str, Any]:
    """Return the JSON Schema of an engine file, derived from the table of fields."""
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


def _only_fields_of(kind: str, every: Mapping[str, AdapterField]) -> dict[str, Any]:
    others = sorted(every.keys() - file_fields(kind).keys())
    return {
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": {"properties": {key: {"not": {}} for key in others}},
    }


def schema_text() -> str:
    """Return the text of the published schema."""
    return json.dumps(engine_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
