"""Rows of the table of adapter fields: the meaning, the placeholders and the features of each field.

The classes in :mod:`refgrad.native.adapter.adapter` and :mod:`refgrad.native.adapter.kinds` declare the fields, each
with its row. Validation, the features of an engine, the schema of engine files and the reference page derive from
these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from refgrad.native.adapter import values

ROW: Final = "row"
"""Key of the row in the metadata of a dataclass field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterField:
    """One row of the table.

    ``schema`` is the JSON Schema of the field in an engine file, or None if engine files have no such field. If the
    field holds a code template, ``placeholders`` are those that the template may use. With ``writes`` the field holds
    one template for each kind of write. ``gives`` are the features of an engine whose adapter has the field, and
    ``gives_by_placeholder`` those that it also has if the template uses a placeholder. ``needs`` names another field
    that the adapter must have too.
    """

    meaning: str
    example: str
    schema: Mapping[str, Any] | None
    placeholders: tuple[str, ...] | None = None
    gives: tuple[str, ...] = ()
    gives_by_placeholder: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    writes: bool = False
    needs: str = ""

    @property
    def toml(self) -> str:
        """The example as it is written in an engine file."""
        text = self.placeholders is not None and not self.writes
        return f'"{self.example}"' if text else self.example


def plain(schema: Mapping[str, Any] | None, meaning: str, example: str = "") -> Mapping[str, AdapterField]:
    """Return the metadata of a field that holds no code template."""
    return {ROW: AdapterField(meaning=meaning, example=example, schema=schema)}


def code(  # noqa: PLR0913 (the columns of the table)
    placeholders: str,
    meaning: str,
    example: str,
    *,
    gives: str = "",
    gives_by_placeholder: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    writes: bool = False,
    needs: str = "",
) -> Mapping[str, AdapterField]:
    """Return the metadata of a field that holds code templates. Placeholders and features are separated by spaces."""
    return {
        ROW: AdapterField(
            meaning=meaning,
            example=example,
            schema=values.ONE_A_WRITE if writes else values.TEXT,
            placeholders=tuple(placeholders.split()),
            gives=tuple(gives.split()),
            gives_by_placeholder=gives_by_placeholder,
            writes=writes,
            needs=needs,
        )
    }


def optional(metadata: Mapping[str, AdapterField]) -> Any:
    """Return a dataclass field whose default is None."""
    return field(default=None, metadata=metadata)


def rows(adapter: Any) -> Mapping[str, AdapterField]:
    """Return the rows of an adapter or of an adapter class, by the name of the field."""
    return MappingProxyType({found.name: _row(found) for found in fields(adapter)})


def required(kind: type) -> list[str]:
    """Return the names of the fields that have no default."""
    return [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]


def given_templates(adapter: Any) -> Iterator[tuple[str, str, AdapterField]]:
    """Yield the field, the text and the row of each code template of an adapter."""
    for name, row in rows(adapter).items():
        given: str | Mapping[str, str] | None = getattr(adapter, name) if row.placeholders is not None else None
        if isinstance(given, str):
            yield name, given, row
        elif given is not None:
            yield from ((f"{name}[{action!r}]", text, row) for action, text in given.items())


def _row(found: Field[Any]) -> AdapterField:
    row: AdapterField = found.metadata[ROW]
    return row
