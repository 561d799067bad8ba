"""Fields of adapters: their rows in the schema of engine files, and the features that they give to an engine.

The classes in :mod:`refgrad.native.adapter.adapter` declare the types and defaults of the fields. What a field means,
the placeholders of its templates and the features that it gives are stated in ``specs/schema/engine.schema.json``.
Validation, the features of an engine and the reference page read them there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import schema_of

SCHEMAS: Final[Mapping[str, Any]] = schema_of("engine")["properties"]
"""JSON Schemas of the fields of engine files, by name."""

_NAMES: Final = SCHEMAS["lacks"]["items"]
FEATURES: Final[Mapping[str, str]] = MappingProxyType(
    dict(zip(_NAMES["enum"], _NAMES["enumDescriptions"], strict=True))
)
"""Meaning of each feature that an engine may have."""

STATEFUL_FEATURES: Final[Mapping[str, str]] = MappingProxyType({name: FEATURES[name] for name in _NAMES["stateful"]})
"""Features of stateful scenarios, in which tensors or graphs change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterField:
    """One row of the table.

    ``schema`` is the JSON Schema of the field in an engine file. If the field holds a code template, ``placeholders``
    are those that the template may use. ``gives`` are the features of an engine whose adapter has the field, and
    ``gives_by_placeholder`` those that it also has if the template uses a placeholder. ``needs`` names another field
    that the adapter must have too.
    """

    example: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    placeholders: Sequence[str] | None = None
    gives: Sequence[str] = ()
    gives_by_placeholder: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: str = ""

    @property
    def writes(self) -> bool:
        """True if the field holds one template for each kind of write."""
        return self.placeholders is not None and self.schema["type"] == "object"

    @property
    def toml(self) -> str:
        """The example as it is written in an engine file."""
        text = self.placeholders is not None and not self.writes
        return f'"{self.example}"' if text else self.example


ROWS: Final[Mapping[str, AdapterField]] = MappingProxyType({
    name: AdapterField(example=schema["example"], schema=schema, **schema.get("template", {}))
    for name, schema in SCHEMAS.items()
})
"""Row of each field of engine files, by name."""

ALIASES: Final = AdapterField(
    schema={"description": "In Python, the further spellings of operators, behind those of `operators` or `alike`."}
)
"""Row of the field ``aliases``, which engine files do not have."""


def rows(kind: type) -> Mapping[str, AdapterField]:
    """Return the rows of a class of adapters, by the name of the field."""
    return MappingProxyType({each.name: ROWS.get(each.name, ALIASES) for each in fields(kind)})


def required(kind: type) -> list[str]:
    """Return the names of the fields that have no default."""
    return [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]


def templates_of(adapter: Any) -> Iterator[tuple[str, str, AdapterField]]:
    """Yield the field, the text and the row of each code template of an adapter."""
    for name, row in rows(type(adapter)).items():
        value: str | Mapping[str, str] | None = getattr(adapter, name) if row.placeholders is not None else None
        if isinstance(value, str):
            yield name, value, row
        elif value is not None:
            yield from ((f"{name}[{action!r}]", text, row) for action, text in value.items())
