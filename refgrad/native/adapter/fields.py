"""Fields of adapters: the row of each field, schemas of values in engine files, and the features of engines.

The classes in :mod:`refgrad.native.adapter.adapter` and :mod:`refgrad.native.adapter.kinds` declare the fields, each
with its row. Validation, the features of an engine, the schema of engine files and the reference page derive from
these rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, get_args, get_type_hints

from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.languages import LANGUAGES
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.steps.kinds import WRITES

STATEFUL_FEATURES: Final[Mapping[str, str]] = MappingProxyType({
    "detach": "a tensor can be cut off from what it was computed from",
    "no_grad": "recording can be switched off for a region",
    "enable_grad": "recording can be switched on again within such a region",
    "set_requires_grad": "a leaf can start and stop to require grad",
    "in_place": "a tensor can be overwritten: added to, multiplied, copied onto",
    "in_place_at_index": "a part of a tensor can be overwritten",
    "hooks": "a function can see, and replace, the gradient of a tensor",
    "unhook": "such a function can be taken away again",
    "retain_grad": "a computed tensor can keep its gradient",
    "zero_grad_to_zeros": "a leaf's gradient can be made zeros",
    "read_requires_grad": "a tensor tells whether it requires grad",
    "read_is_leaf": "a tensor tells whether it is a leaf",
    "read_recorded": "a tensor tells whether a recorded operation made it",
    "error:modified-in-place": "a backward that needs a value that was overwritten is an error",
    "error:leaf-in-place": "a recorded write to a leaf that requires grad is an error",
    "error:write-shape": "a write that does not fit its tensor is an error",
    "error:hook-on-constant": "a hook on something that needs no gradient is an error",
    "error:retain-grad-on-constant": "asking something that needs no gradient to keep it is an error",
    "error:requires-grad-of-non-leaf": "making a constant of a computed tensor is an error",
})
"""Features of stateful scenarios, in which tensors or graphs change."""

FEATURES: Final[Mapping[str, str]] = MappingProxyType({
    "arrays": "tensors of any shape, not scalars alone",
    "seed": "a backward may be given the cotangent of its output",
    "retain_graph": "a graph can be kept for a further backward",
    "accumulate": "gradients of several backward calls add up in the leaves",
    "zero_grad": "a leaf's gradient can be reset",
    "double_backward": "a gradient can itself be differentiated",
    "forward_mode": "a directional derivative can be had without a backward",
    "error:freed-graph": "a backward through a freed graph is an error",
    "error:implicit-seed": "a backward from a non-scalar without a seed is an error",
    "error:seed-shape": "a seed of another shape than its output is an error",
    "error:no-graph": "a backward from something that needs no gradient is an error",
    "graph": "the nodes that were recorded can be walked",
    **STATEFUL_FEATURES,
})


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
LANGUAGE: Final = MappingProxyType({"enum": [name for name, language in LANGUAGES.items() if language.runner]})
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
RUNNER: Final = MappingProxyType({
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": dict(TEXT), "minItems": 1},
        "printer": {"enum": list(LANGUAGES)},
    },
    "required": ["command"],
    "additionalProperties": False,
})

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
            schema=ONE_A_WRITE if writes else TEXT,
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
