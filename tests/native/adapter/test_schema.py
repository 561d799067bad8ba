"""The published schema of engine files is that of the table of fields, and the engines of refgrad satisfy it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.specification import specs_directory
from tests.native.adapter.engine_schema import engine_schema, schema_text

PUBLISHED = specs_directory() / "schema" / "engine.schema.json"
FILES = sorted((specs_directory() / "engines").rglob("*.toml"))


def test_the_published_schema_is_that_of_the_fields() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), (
        "write the file again: python -m tests.native.adapter.engine_schema > specs/schema/engine.schema.json"
    )


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema_rs.meta.validate(engine_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_engine_and_family_satisfies_the_published_schema(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8"))).validate(document)
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
    assert not Draft202012Validator(engine_schema()).is_valid(document)
