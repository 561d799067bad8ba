"""JSON Schemas of the values of fields in engine files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.adapter.features import FEATURES
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.steps.kinds import WRITES


def options(names: Iterable[str]) -> Mapping[str, Any]:
    """Return the schema of a list of distinct items, each of them one of the names."""
    return {"type": "array", "items": {"enum": list(names)}, "uniqueItems": True}


def members(schemas: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the schema of a table that may have these fields and no others."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in schemas.items()},
        "additionalProperties": False,
    }


TEXT: Final = MappingProxyType({"type": "string"})
LANGUAGE: Final = MappingProxyType({"enum": ["python", "javascript", "cpp", "java", "r"]})
COUNT: Final = MappingProxyType({"enum": [0, 1, 2]})
FLAG: Final = MappingProxyType({"type": "boolean"})
WORDS: Final = MappingProxyType({"type": "array", "items": dict(TEXT), "uniqueItems": True})
DTYPE: Final = MappingProxyType({"enum": list(FORMATS)})
DTYPES: Final = options(FORMATS)
SOME_FEATURES: Final = options(FEATURES)
ERRORS: Final = members(dict.fromkeys(get_args(ErrorKind), TEXT))
POLICY: Final = members({name: {"enum": list(get_args(kind))} for name, kind in get_type_hints(Policy).items()})
ONE_A_WRITE: Final = members(dict.fromkeys(WRITES, TEXT))
COARSER: Final = MappingProxyType({"type": "object", "additionalProperties": dict(DTYPE)})
SPELLINGS: Final = MappingProxyType({
    "type": "object",
    "additionalProperties": {"type": ["array", "string"], "items": dict(TEXT), "minItems": 1, "uniqueItems": True},
})
