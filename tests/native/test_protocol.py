"""What goes over the line is what the schemas say, and comes back as it was sent."""

from __future__ import annotations

import io
import json
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from jsonschema_rs import Draft202012Validator

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.observation import Observation, ProtocolError, read_answer, read_array, read_data
from refgrad.native.runner import ProcessRunner
from refgrad.native.runners.python_runner import PROTOCOL, Server, decoded, encoded, literal, plain
from refgrad.native.statements import constant_wire, value_wire
from refgrad.scenario import Constant, Scenario
from refgrad.specification import specs_directory
from refgrad.strategies import scenarios


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((specs_directory() / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema_rs.meta.validate(schema)
    return Draft202012Validator(schema)


REQUEST, ANSWER = validator("runner-request"), validator("runner-answer")


def served(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers of a runner to requests."""
    lines = [json.dumps(request).encode() + b"\n" for request in requests]
    answers = io.BytesIO()
    Server(lines, answers).serve()
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def hello() -> dict[str, Any]:
    adapter = find_adapter("refgrad")
    return {"id": 1, "hello": {"protocol": PROTOCOL, "name": adapter.name, "setup": adapter.setup}}


def test_requests_and_answers_of_every_behaviour_are_what_the_schemas_say() -> None:
    engine = start(find_adapter("refgrad"))
    given_scenarios = [s for behaviour in all_behaviours() for s in behaviour.scenarios]
    requests = [hello()]
    for number, scenario in enumerate(given_scenarios, 2):
        watched = number % 2 == 0
        requests.append({"id": number, "run": [engine.program(scenario, watch_seeds=watched).wire()]})
    for request in requests:
        REQUEST.validate(request)
    answers = served(*requests)
    assert len(answers) == len(requests)
    for answer in answers:
        ANSWER.validate(answer)


@settings(max_examples=25, deadline=None)
@given(scenarios())
def test_requests_and_answers_of_random_scenarios_are_too(scenario: Scenario) -> None:
    request = {"id": 2, "run": [start(find_adapter("refgrad")).program(scenario).wire()]}
    REQUEST.validate(request)
    answers = served(hello(), request)
    ANSWER.validate(answers[1])
    assert answers[1]["id"] == 2
    assert len(answers[1]["ran"][0]) == len(scenario.steps)


@pytest.fixture(scope="module")
def apart() -> Any:
    """The reference engine in a process of its own."""
    adapter = find_adapter("refgrad")
    runner = ProcessRunner(adapter)
    yield Engine(adapter, runner)
    runner.stop()


@settings(max_examples=25, deadline=None)
@given(scenarios())
def test_a_process_shows_what_this_one_does(apart: Engine, scenario: Scenario) -> None:
    here = start(find_adapter("refgrad"))
    for one, other in zip(here.run(here.program(scenario)), apart.run(apart.program(scenario)), strict=True):
        assert (one.error, one.dtype) == (other.error, other.dtype)
        np.testing.assert_array_equal(one.array, other.array)


@settings(max_examples=50)
@given(
    arrays(st.sampled_from(["float64", "float32", "float16", "int64", "bool"]), array_shapes(min_dims=0, min_side=0))
)
def test_arrays_keep_every_bit(array: Any) -> None:
    constant = Constant.of(array)
    assert decoded(constant_wire(constant)).tobytes() == constant.to_numpy().tobytes()
    back = read_array(encoded(array))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.lists(inner, max_size=3),
)


@given(VALUES)
def test_literals_come_back_as_they_are(value: Any) -> None:
    assert repr(literal(json.loads(json.dumps(value_wire(value))))) == repr(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_data_come_back_as_they_are(value: Any) -> None:
    assert repr(read_data(json.loads(json.dumps(plain(value))))) == repr(value)


def test_numbers_behind_a_mask_are_not_sent() -> None:
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    np.testing.assert_array_equal(read_array(encoded(masked)), [1.0, np.nan])
    ANSWER.validate({"id": 1, "ran": [[{"array": encoded(masked)}]]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["array", "error", "data", "graph", "flag", "none", "dtype", "shape", "x"]), inner
        )
    ),
)


@given(JSON)
def test_an_answer_that_is_none_is_told_as_such_or_read(answer: Any) -> None:
    try:
        read = read_answer(answer)
    except ProtocolError:
        return
    assert isinstance(read, Observation)


def test_a_request_that_fails_is_answered_and_the_next_one_too() -> None:
    answers = served({"id": 1, "run": []}, hello(), {"id": 2, "nonsense": 1}, {"id": 3, "run": []}, {"stop": True})
    assert [answer["id"] for answer in answers] == [1, 1, 2, 3]
    assert ["error" in answer for answer in answers] == [True, False, True, False]


def test_another_version_of_the_protocol_is_refused() -> None:
    (answer,) = served({"id": 1, "hello": {**hello()["hello"], "protocol": PROTOCOL + 1}})
    assert "protocol" in answer["error"]["message"]
