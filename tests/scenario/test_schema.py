"""The schema describes what the code accepts; `test_round_trips` holds every scenario against it."""

from typing import get_args

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.documents import schema_of
from refgrad.scenario import Step
from refgrad.scenario.constants import ELEMENT_TYPES, MAXIMUM_DIMENSIONS, MAXIMUM_SIZE
from refgrad.scenario.kinds import STEPS, WRITES, Mode, Readable
from refgrad.scenario.tokens import LARGEST_INTEGER, SMALLEST_INTEGER
from tests.effort import each

SCHEMA = schema_of("scenario")
DEFINITIONS = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)


def test_the_schema_has_every_kind_of_step() -> None:
    kinds = [{"$ref": f"#/$defs/{kind.form.tag}"} for kind in STEPS]
    assert SCHEMA["properties"]["steps"]["items"] == {"oneOf": kinds}


@each("kind", STEPS)
def test_a_step_has_the_members_that_its_codecs_write(kind: type[Step]) -> None:
    schema, constant = DEFINITIONS[kind.form.tag], list(DEFINITIONS["constant"]["properties"])
    pairs = [
        (name, codec) for field, codec in kind.form.fields.items() for name in (constant if codec.spread else [field])
    ]
    assert list(schema["properties"]) == ["step", *(name for name, _ in pairs)]
    assert schema["required"] == ["step", *(name for name, codec in pairs if codec.required)]
    assert schema["properties"]["step"] == {"const": kind.form.tag}
    assert schema["additionalProperties"] is False


def test_the_schema_lists_the_values_that_the_code_knows() -> None:
    constant, integer = DEFINITIONS["constant"]["properties"], DEFINITIONS["attribute"]["anyOf"][1]
    assert constant["dtype"]["enum"] == list(ELEMENT_TYPES)
    assert constant["shape"]["items"]["maximum"] == MAXIMUM_SIZE
    assert constant["shape"]["maxItems"] == MAXIMUM_DIMENSIONS
    assert (integer["minimum"], integer["maximum"]) == (SMALLEST_INTEGER, LARGEST_INTEGER)
    assert DEFINITIONS["write"]["properties"]["action"]["enum"] == list(WRITES)
    assert DEFINITIONS["read"]["properties"]["what"]["enum"] == list(get_args(Readable))
    assert DEFINITIONS["enter"]["properties"]["mode"]["enum"] == list(get_args(Mode))


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema_rs.meta.validate(SCHEMA)


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
