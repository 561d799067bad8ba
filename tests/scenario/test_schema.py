"""The published schema says what the code accepts; `test_round_trips` holds every scenario against it."""

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.scenario.schema import scenario_schema, schema_text
from refgrad.specification import specs_directory

VALIDATOR = Draft202012Validator(scenario_schema())


def test_the_published_schema_is_that_of_the_steps() -> None:
    published = (specs_directory() / "schema" / "scenario.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "write the file anew, from refgrad.scenario.schema.schema_text()"


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema_rs.meta.validate(scenario_schema())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"schema": "refgrad/scenario/2", "steps": []},
        {"schema": "refgrad/scenario/1", "steps": [{"step": "zero_grad"}]},
        {"schema": "refgrad/scenario/1", "steps": [{"step": "zero_grad", "name": "2x"}]},
        {"schema": "refgrad/scenario/1", "steps": [{"step": "zero_grad", "name": "x", "other": 1}]},
    ],
)
def test_the_schema_refuses_what_the_code_refuses(document: object) -> None:
    assert not VALIDATOR.is_valid(document)
