"""The JSON form says everything, and each malformed document is refused with one clear message."""

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.scenario import Scenario, ScenarioError, parse
from tests.effort import each
from tests.scenario.arbitrary_scenarios import scenarios

LEAF = {
    "step": "leaf",
    "name": "x",
    "dtype": "float64",
    "shape": [2],
    "values": ["0x1.8p+0", "nan"],
    "requires_grad": True,
}
SUM = {
    "step": "apply",
    "name": "y",
    "operator": "sum",
    "arguments": ["x"],
    "attributes": {"axis": [0], "keepdims": True},
}
INDEX = {"step": "apply", "name": "y", "operator": "index", "arguments": ["x"], "attributes": {"index": 0}}
BACKWARD = {
    "step": "backward",
    "output": "x",
    "seed": {"dtype": "float64", "shape": [], "values": ["0x1p+0"]},
    "retain_graph": False,
}


def document(*steps: object) -> dict[str, Any]:
    return {"schema": "refgrad/scenario/1", "steps": list(steps)}


def test_the_json_form_is_as_documented() -> None:
    scenario = parse("""
        x = leaf float64[2] {0x1.8p+0 nan} requires_grad
        y = sum x axis=(0,) keepdims=true
        backward x seed float64[] {1}
        backward y retain_graph
        read grad x
        zero grad x
    """)
    assert scenario.to_json() == document(
        LEAF,
        SUM,
        BACKWARD,
        {"step": "backward", "output": "y", "seed": None, "retain_graph": True},
        {"step": "read", "what": "grad", "name": "x"},
        {"step": "zero_grad", "name": "x"},
    )


@pytest.mark.parametrize(
    ("malformed", "message"),
    [
        (None, "a scenario in JSON is an object with the members 'schema' and 'steps'"),
        ([], "a scenario in JSON is an object with the members 'schema' and 'steps'"),
        ({"steps": []}, "a scenario in JSON is an object with the members 'schema' and 'steps'"),
        ({**document(), "id": 1}, "a scenario in JSON is an object with the members 'schema' and 'steps'"),
        ({"schema": "refgrad/scenario/9", "steps": []}, "the member 'schema' must be 'refgrad/scenario/1'"),
        ({"schema": "refgrad/scenario/1", "steps": {}}, "the member 'steps' must be an array"),
    ],
)
def test_a_malformed_document_is_refused(malformed: object, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_json(malformed)
    assert str(caught.value) == message


@each(
    ("step", "message"),
    [
        (7, "step 2: a step in JSON is an object whose member 'step' is a string"),
        ({"name": "x"}, "step 2: a step in JSON is an object whose member 'step' is a string"),
        ({"step": "aply"}, "step 2: unknown step 'aply', did you mean 'apply'?"),
        ({"step": "zero_grad"}, "step 2: 'name' is missing"),
        ({"step": "zero_grad", "name": 3}, 'step 2: name: 3 is not of type "string"'),
        ({"step": "zero_grad", "name": "w"}, "step 2: 'w' is not defined by an earlier step"),
        ({"step": "read", "what": "data", "name": "x"}, 'step 2: what: "data" is not one of "grad", "value", "re'),
        (LEAF, "step 2: 'x' is already defined"),
        ({**LEAF, "name": "if"}, "step 2: 'if' is a Python keyword, not an identifier"),
        ({**LEAF, "name": "y\n"}, r'step 2: name: "y\n" does not match "^[A-Za-z_]'),
        ({**LEAF, "name": "y", "shape": [3]}, "step 2: shape (3,) needs 3 values, not 2"),
        (
            {**LEAF, "name": "y", "shape": [2.0]},
            "step 2: the lengths of a shape must be integers that are not negative, not (2.0,)",
        ),
        ({**LEAF, "shape": [-1]}, "step 2: shape: 0: -1 is less than the minimum of 0"),
        ({**LEAF, "values": ["1.5", "0"]}, 'step 2: values: 0: "1.5" does not match "^(true|false|-?[0-9]'),
        ({**LEAF, "values": [1.5, 2.5]}, 'step 2: values: 0: 1.5 is not of type "string"'),
        ({**LEAF, "name": "y", "values": ["true", "0"]}, "step 2: 'true' is not a float"),
        ({**LEAF, "requires_grad": 1}, 'step 2: requires_grad: 1 is not of type "boolean"'),
        ({**SUM, "operator": "summ"}, "step 2: unknown operator 'summ', did you mean 'sum'?"),
        ({**SUM, "attributes": {"axes": 0}}, "step 2: operator 'sum' has no attribute 'axes', did you mean 'axis'?"),
        ({**SUM, "attributes": {"axis": 2.0}}, 'step 2: a float is written {"float": "0x1p+1"}, not 2.0'),
        ({**SUM, "attributes": {"axis": 2**63}}, "step 2: attributes: axis: "),
        ({**INDEX, "attributes": {"index": {"slice": [0, 1, 0]}}}, "step 2: the step of a slice must not be 0"),
        ({**BACKWARD, "retain_graph": None}, 'step 2: retain_graph: null is not of type "boolean"'),
        ({**BACKWARD, "extra": 1}, "step 2: Additional properties are not allowed ('extra' was unexpected)"),
    ],
)
def test_a_malformed_step_is_named_with_the_rule_that_it_breaks(step: object, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_json(document(LEAF, step))
    assert str(caught.value).startswith(message)
    assert caught.value.step == 2


@pytest.mark.parametrize("around", [lambda value: [value], lambda value: {"float": value}, lambda value: (value,)])
def test_a_document_nested_without_end_is_refused(around: Callable[[Any], Any]) -> None:
    value: Any = 1
    for _ in range(100_000):
        value = around(value)
    for malformed in (value, document(value), document(LEAF, {**INDEX, "attributes": {"index": value}})):
        with pytest.raises(ScenarioError) as caught:
            Scenario.from_json(malformed)
        assert str(caught.value) == "the document is nested too deep"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_any_document_is_a_scenario_or_a_scenario_error(value: object) -> None:
    assert_read_or_refused(value)
    assert_read_or_refused(document(LEAF, value))


@given(scenarios(), JSON, st.randoms(use_true_random=False))
def test_a_damaged_document_is_a_scenario_or_a_scenario_error(
    scenario: Scenario, value: object, rng: random.Random
) -> None:
    damaged = copy.deepcopy(scenario.to_json())
    place: Any = damaged
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = rng.choice(keys)
        if not isinstance(place[key], dict | list) or rng.random() < 0.2:
            place[key] = value
            break
        place = place[key]
    assert_read_or_refused(damaged)


def assert_read_or_refused(value: object) -> None:
    try:
        scenario = Scenario.from_json(value)
    except ScenarioError as refusal:
        error = refusal
    else:
        assert Scenario.from_json(scenario.to_json()) == scenario
        return
    assert len(str(error)) < 500
