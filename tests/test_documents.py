"""The error that is told is the one that says most."""

from __future__ import annotations

import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.documents import first_problem, json_path, message_of

VALIDATOR = Draft202012Validator({
    "properties": {
        "rows": {"items": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}},
        "kind": {"enum": ["one", "two", "three", "four", "five"]},
        "either": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "required": ["kind"],
})


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"kind": "one", "rows": [None, [1, "x"]]}, '$.rows[1][1]: "x" is not of type "integer"'),
        ({"kind": "six"}, '$.kind: "six" is not one of "one", "two", "three", "four", "five"'),
        ({"rows": [[1.5]]}, '$: "kind" is a required property'),
        ({"kind": "one", "either": "x"}, "$.either: \"x\" is not valid under any of the schemas listed in the 'oneOf'"),
    ],
)
def test_the_first_problem_is_outermost_and_of_several_schemas_the_one_that_fits_furthest(
    document: object, told: str
) -> None:
    problem = first_problem(VALIDATOR, document)
    assert problem is not None
    assert f"{json_path(problem)}: {message_of(problem)}".startswith(told)


def test_a_document_that_satisfies_the_schema_has_none() -> None:
    assert first_problem(VALIDATOR, {"kind": "two", "rows": [None, [3]], "either": None}) is None
