"""Files are read with bounds, and what is wrong with one is reported in one line that names the position."""

from __future__ import annotations

import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.documents import explained, first_problem

SCHEMA = {
    "properties": {
        "rows": {"items": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]}},
        "kind": {"enum": ["one", "two", "three", "four", "five"]},
        "either": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "required": ["kind"],
}
VALIDATOR = Draft202012Validator(SCHEMA)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"kind": "one", "rows": [None, [1, "x"]]}, 'rows[1][1]: "x" is not of type "integer"'),
        ({"kind": "six"}, 'kind: "six" is not one of "one", "two", "three", "four", "five"'),
        ({"rows": [[1.5]]}, "'kind' is missing"),
        ({"kind": "one", "either": "x"}, "either: \"x\" is not valid under any of the schemas listed in the 'oneOf'"),
    ],
)
def test_the_first_problem_is_outermost_and_of_several_schemas_the_one_that_fits_furthest(
    document: object, told: str
) -> None:
    problem = first_problem(VALIDATOR, document)
    assert problem is not None
    assert ": ".join(explained(problem, SCHEMA)).startswith(told)


def test_a_document_that_satisfies_the_schema_has_none() -> None:
    assert first_problem(VALIDATOR, {"kind": "two", "rows": [None, [3]], "either": None}) is None
