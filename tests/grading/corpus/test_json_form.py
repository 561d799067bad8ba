"""The JSON form says everything, and each scenario comes back from it, bit for bit."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from jsonschema_rs import Draft202012Validator

from refgrad.documents import schema_of
from refgrad.scenario import Apply, AttributeValue, Scenario, Slice, parse
from refgrad.scenario.attributes import MAXIMUM_DEPTH
from tests.grading.corpus.json_form import scenario_of, steps_of
from tests.scenario.arbitrary_scenarios import scenarios

VALIDATOR = Draft202012Validator(schema_of("scenario"))


def test_the_json_form_is_as_documented() -> None:
    scenario = parse("""
        x = leaf float64[2] {0x1.8p+0 nan} requires_grad
        y = sum x axis=(0,) keepdims=true
        z = index x index=(0:1,)
        w = elu x alpha=0.5
        backward x seed float64[] {1}
        backward y retain_graph
        read grad x
        zero grad x
        zero grad x to zeros
    """)
    number = {"dtype": "float64", "shape": [], "values": ["0x1p+0"]}
    leaf = {"dtype": "float64", "shape": [2], "values": ["0x1.8p+0", "nan"], "requires_grad": True}
    assert steps_of(scenario) == [
        {"step": "leaf", "name": "x", **leaf},
        {
            "step": "apply",
            "name": "y",
            "operator": "sum",
            "arguments": ["x"],
            "attributes": {"axis": [0], "keepdims": True},
        },
        applied("z", "index", {"index": [{"slice": [0, 1, None]}]}),
        applied("w", "elu", {"alpha": {"float": "0x1p-1"}}),
        {"step": "backward", "output": "x", "seed": number, "retain_graph": False},
        {"step": "backward", "output": "y", "seed": None, "retain_graph": True},
        {"step": "read", "what": "grad", "name": "x"},
        {"step": "zero_grad", "name": "x"},
        {"step": "zero_grad", "name": "x", "to_zeros": True},
    ]


def applied(name: str, operator: str, attributes: dict[str, object]) -> dict[str, object]:
    return {"step": "apply", "name": name, "operator": operator, "arguments": ["x"], "attributes": attributes}


@given(scenarios())
def test_a_scenario_comes_back_from_its_steps(scenario: Scenario) -> None:
    assert_read_back(scenario)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, None),
        (-3, -3),
        (-0.0, {"float": "-0x0p+0"}),
        (math.inf, {"float": "inf"}),
        ('a "b" # c', 'a "b" # c'),
        ((), []),
        (((0, 0), (1, 2)), [[0, 0], [1, 2]]),
        ((Slice(step=-1), 3), [{"slice": [None, None, -1]}, 3]),
    ],
)
def test_a_value_has_one_json_form(value: AttributeValue, encoded: object) -> None:
    scenario = Scenario((*parse("x = leaf float64[] {0}").steps, Apply("y", "index", ("x",), (("index", value),))))
    assert steps_of(scenario)[-1]["attributes"] == {"index": encoded}


def test_the_deepest_value_is_read_from_json() -> None:
    value: AttributeValue = Slice(1, 2)
    for _ in range(MAXIMUM_DEPTH):
        value = (value,)
    assert_read_back(
        Scenario((*parse("x = leaf float64[] {0}").steps, Apply("y", "index", ("x",), (("index", value),))))
    )


def assert_read_back(scenario: Scenario) -> None:
    steps = steps_of(scenario)
    VALIDATOR.validate({"schema": "refgrad/scenario/1", "steps": steps})
    again = scenario_of(json.loads(json.dumps(steps, allow_nan=False)))
    assert again == scenario
    assert again.text == scenario.text
