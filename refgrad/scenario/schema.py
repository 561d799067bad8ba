"""The JSON form of a scenario, its JSON Schema, and the validation of documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, ValidationError

from refgrad.documents import first_problem, message_of
from refgrad.errors import shortened, suggestion
from refgrad.scenario.attributes import MAXIMUM_DEPTH
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.steps.kinds import VOCABULARY
from refgrad.scenario.steps.step import Step
from refgrad.scenario.tokens import IDENTIFIER_PATTERN, LARGEST_INTEGER, SMALLEST_INTEGER

SCHEMA_NAME: Final = "refgrad/scenario/1"
# document, steps, step, attributes; then the tuples; then the array of a slice
_MAXIMUM_NESTING: Final = MAXIMUM_DEPTH + 6
_LONGEST_EXPLANATION: Final = 120
_FLOAT_PATTERN: Final = r"-?0x[0-9a-f]+(\.[0-9a-f]+)?p[+-][0-9]+|-?inf|nan"


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario, as published in specs/schema."""
    steps = {"type": "array", "items": {"oneOf": [_step_schema(kind) for kind in VOCABULARY.steps]}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario: a straight-line list of steps, with every number to the bit",
        **_object({"schema": {"const": SCHEMA_NAME}, "steps": steps}),
        "$defs": _definitions(),
    }


def schema_text() -> str:
    """Return the content of specs/schema/scenario.schema.json, which other languages can read."""
    return json.dumps(scenario_schema(), indent=2) + "\n"


def check_document(document: object) -> None:
    """Raise ScenarioError if a document does not satisfy the schema. Steps are not checked."""
    _check_nesting(document)
    if not isinstance(document, dict) or set(document) != {"schema", "steps"}:
        raise ScenarioError("a scenario in JSON is an object with the members 'schema' and 'steps'")
    if document["schema"] != SCHEMA_NAME:
        raise ScenarioError(f"the member 'schema' must be {SCHEMA_NAME!r}")
    if not isinstance(document["steps"], list):
        raise ScenarioError("the member 'steps' must be an array")


def kind_of_step(step: object) -> type[Step]:
    """Return the kind of a step in JSON. Raises ScenarioError if its members do not satisfy the schema of that kind."""
    tag = step.get("step") if isinstance(step, dict) else None
    if not isinstance(tag, str):
        raise ScenarioError("a step in JSON is an object whose member 'step' is a string")
    if tag not in VOCABULARY.by_tag:
        raise ScenarioError(f"unknown step {quoted(tag)}{suggestion(tag, VOCABULARY.by_tag)}")
    error = first_problem(_validator(tag), step)
    if error is not None:
        raise ScenarioError(_explain(error))
    return VOCABULARY.by_tag[tag]


def _explain(error: ValidationError) -> str:
    place = "".join(f"{shortened(str(part))}: " for part in error.instance_path)
    return f"{place}{shortened(message_of(error), _LONGEST_EXPLANATION)}"


def _check_nesting(document: object) -> None:
    level = [document]
    for _ in range(_MAXIMUM_NESTING):
        arrays = [item for item in level if isinstance(item, list | tuple)]
        objects = [item for item in level if isinstance(item, dict)]
        level = [inner for item in arrays for inner in item]
        level += [inner for item in objects for inner in item.values()]
    if level:
        raise ScenarioError("the document is nested too deep")


@cache
def _validator(tag: str) -> Draft202012Validator:
    return Draft202012Validator({**_step_schema(VOCABULARY.by_tag[tag]), "$defs": _definitions()})


def _step_schema(kind: type[Step]) -> dict[str, Any]:
    return _object({"step": {"const": kind.form.tag}, **kind.form.members}, kind.form.optional)


def _object(members: Mapping[str, Mapping[str, Any]], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(members),
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def _definitions() -> dict[str, Any]:
    integer = {"type": "integer", "minimum": SMALLEST_INTEGER, "maximum": LARGEST_INTEGER}
    part = {"anyOf": [{"type": "null"}, integer]}
    attribute = {"$ref": "#/$defs/attribute"}
    return {
        "name": {"type": "string", "pattern": IDENTIFIER_PATTERN},
        "number": {"type": "string", "pattern": f"^(true|false|-?[0-9]+|{_FLOAT_PATTERN})$"},
        "constant": _object(Constant.fields),
        "attribute": {
            "anyOf": [
                {"type": ["null", "boolean", "string"]},
                integer,
                {"type": "array", "items": attribute},
                _object({"float": {"type": "string", "pattern": f"^({_FLOAT_PATTERN})$"}}),
                _object({"slice": {"type": "array", "items": part, "minItems": 3, "maxItems": 3}}),
            ],
        },
    }


def encode_steps(steps: Iterable[Step]) -> dict[str, Any]:
    """Return the JSON form of steps. Numbers are strings, as in the text form."""
    return {"schema": SCHEMA_NAME, "steps": [{"step": step.form.tag, **step.to_json()} for step in steps]}


def decode_steps(document: Any) -> tuple[Step, ...]:
    """Return the steps of a JSON form. Raises ScenarioError naming the step, counted from 1."""
    check_document(document)
    return tuple(_decode_step(number, step) for number, step in enumerate(document["steps"], start=1))


def _decode_step(number: int, members: Any) -> Step:
    try:
        return kind_of_step(members).from_json(members)
    except ScenarioError as error:
        raise ScenarioError(error.rule, step=number) from None
