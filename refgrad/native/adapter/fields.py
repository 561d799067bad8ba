"""The rows of the table of adapter fields: what each means, its placeholders, and the features that it gives.

The fields themselves are declared, each with its row, by the classes of :mod:`refgrad.native.adapter.adapter`. What is
validated, the features of an engine, the schema of engine files and the reference page derive from these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from refgrad.native.adapter import values

ROW: Final = "row"
"""Under which key of a dataclass field's metadata its row stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterField:
    """One row of the table.

    ``schema`` is the JSON Schema of the field in an engine file, None if it has no such field. A field that holds a
    code template has ``placeholders``, those that the template may use; with ``writes`` it holds one template for each
    kind of write. Who gives the field has the features that it ``gives``, and those of the placeholders that its
    template uses. ``needs`` names the field that has to be there too.
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
        """The example as an engine file has it."""
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
    """Return the metadata of a field that holds code templates; placeholders and features are given as words."""
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
    """Return a dataclass field that is None if not given."""
    return field(default=None, metadata=metadata)


def rows(adapter: Any) -> Mapping[str, AdapterField]:
    """Return the rows of an adapter, or of a class of them, by name."""
    return MappingProxyType({found.name: _row(found) for found in fields(adapter)})


def required(kind: type) -> list[str]:
    """Return the names of the fields that have to be given."""
    return [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]


def given_templates(adapter: Any) -> Iterator[tuple[str, str, AdapterField]]:
    """Yield the code templates that an adapter has: where they stand, their text, and their row."""
    for name, row in rows(adapter).items():
        given: str | Mapping[str, str] | None = getattr(adapter, name) if row.placeholders is not None else None
        if isinstance(given, str):
            yield name, given, row
        elif given is not None:
            yield from ((f"{name}[{action!r}]", text, row) for action, text in given.items())


def _row(found: Field[Any]) -> AdapterField:
    row: AdapterField = found.metadata[ROW]
    return row
