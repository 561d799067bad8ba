"""The schema of engine files lists what the code accepts, and the engines of refgrad satisfy it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.documents import schema_of
from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.adapter.adapter import KINDS
from refgrad.native.adapter.fields import SCHEMAS, rows
from refgrad.native.adapter.files import FILE_FIELDS, file_fields
from refgrad.scenario.constants import FLOATING
from refgrad.scenario.kinds import WRITES
from refgrad.specification import specs_directory
from tests.effort import each

SCHEMA = schema_of("engine")
FILES = sorted((specs_directory() / "engines").rglob("*.toml"))


def test_the_schema_has_the_fields_of_engine_files_and_of_adapters() -> None:
    assert SCHEMAS.keys() == {*FILE_FIELDS, *rows(TapeAdapter), *rows(FunctionalAdapter)} - {"aliases"}


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        (SCHEMAS["kind"]["enum"], [*KINDS, "family"]),
        (SCHEMAS["dtype"]["enum"], FLOATING),
        (SCHEMAS["dtypes"]["items"]["enum"], FLOATING),
        (SCHEMAS["coarser"]["additionalProperties"]["enum"], FLOATING),
        (SCHEMAS["errors"]["properties"], get_args(ErrorKind)),
        (SCHEMAS["policy"]["properties"], get_type_hints(Policy)),
        (SCHEMAS["in_place"]["properties"], WRITES),
        (SCHEMAS["in_place_at"]["properties"], WRITES),
    ],
)
def test_the_schema_lists_what_the_code_knows(listed: Any, known: Any) -> None:
    assert list(listed) == list(known)


@pytest.mark.parametrize(("name", "kind"), get_type_hints(Policy).items())
def test_the_schema_lists_the_values_of_a_policy(name: str, kind: Any) -> None:
    assert SCHEMAS["policy"]["properties"][name] == {"enum": list(get_args(kind))}


def test_an_engine_file_has_no_field_that_only_the_other_kind_of_engine_has() -> None:
    refused = {rule["if"]["properties"]["kind"]["const"]: set(rule["then"]["properties"]) for rule in SCHEMA["allOf"]}
    assert refused == {kind: SCHEMAS.keys() - file_fields(kind).keys() for kind in KINDS}


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema_rs.meta.validate(SCHEMA)


@each("path", FILES)
def test_every_engine_and_family_satisfies_the_published_schema(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(document)
    assert document["name"] == path.stem
    assert (document["kind"] == "family") == (path.parent.name == "families")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": "mine"},
        {"name": "mine", "kind": "graph"},
        {"name": "mine", "kind": "tape", "vjp": "vjp({function}, {primals})"},
        {"name": "mine", "kind": "functional", "backward": "{output}.backward()"},
        {"name": "mine", "kind": "tape", "operators": {"add": {}}},
        {"name": "mine", "kind": "tape", "operators": {"add": []}},
        {"name": "mine", "kind": "tape", "in_place": {"subtract": "{x}.sub_({y})"}},
        {"name": "mine", "kind": "tape", "policy": {"frees": "sometimes"}},
        {"name": "mine", "kind": "tape", "aliases": {}},
    ],
)
def test_the_schema_refuses_what_no_engine_file_may_hold(document: object) -> None:
    assert not Draft202012Validator(SCHEMA).is_valid(document)
