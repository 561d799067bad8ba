"""Attribute values are spelled so that they come back as they were."""

import math

import pytest

from refgrad.scenario import Apply, AttributeValue, Scenario, ScenarioError, Slice, parse
from refgrad.scenario.attributes import MAXIMUM_DEPTH, encode_value
from tests.effort import each


def nested(depth: int) -> AttributeValue:
    value: AttributeValue = 1
    for _ in range(depth):
        value = (value,)
    return value


@each(
    ("value", "text", "encoded"),
    [
        (None, "none", None),
        (True, "true", True),
        (-3, "-3", -3),
        (1.5, "0x1.8p+0", {"float": "0x1.8p+0"}),
        (-0.0, "-0x0p+0", {"float": "-0x0p+0"}),
        (math.inf, "inf", {"float": "inf"}),
        ('a "b" # c', '"a \\"b\\" # c"', 'a "b" # c'),
        ((), "()", []),
        ((0,), "(0,)", [0]),
        (((0, 0), (1, 2)), "((0, 0), (1, 2))", [[0, 0], [1, 2]]),
        (Slice(), ":", {"slice": [None, None, None]}),
        (Slice(1, 5, 2), "1:5:2", {"slice": [1, 5, 2]}),
        (Slice(None, -1), ":-1", {"slice": [None, -1, None]}),
        ((Slice(step=-1), 3), "(::-1, 3)", [{"slice": [None, None, -1]}, 3]),
    ],
)
def test_a_value_has_one_text_and_one_json_form(value: AttributeValue, text: str, encoded: object) -> None:
    step = Apply("y", "index", ("x",), (("index", value),))
    line = f"y = index x index={text}"
    assert step.to_text() == line
    assert encode_value(value) == encoded
    assert parse(f"x = leaf float64[] {{0}}\n{line}").applications == (step,)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("( 1 , 2 , )", (1, 2)),
        ("1.5", 1.5),
        ("1e0", 1.0),
        ("+7", 7),
        ("(1 : 2, :)", (Slice(1, 2), Slice())),
        ("0x10p-4", 1.0),
    ],
)
def test_values_may_be_written_by_hand(written: str, value: AttributeValue) -> None:
    scenario = parse(f"x = leaf float64[] {{0}}\ny = index x index = {written}")
    assert scenario.applications[0] == Apply("y", "index", ("x",), (("index", value),))


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0.0, -0.0), (0, False), ((1,), (1.0,))])
def test_values_that_python_calls_equal_are_not(one: AttributeValue, other: AttributeValue) -> None:
    first, second = (Apply("y", "index", ("x",), (("index", value),)) for value in (one, other))
    assert first != second


def test_nan_is_equal_to_nan() -> None:
    first, second = (Apply("y", "index", ("x",), (("index", float("nan")),)) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)


def test_attributes_may_be_given_in_any_order() -> None:
    pairs: tuple[tuple[str, AttributeValue], ...] = (("keepdims", True), ("axis", 0))
    assert Apply("s", "sum", ("x",), pairs) == Apply("s", "sum", ("x",), pairs[::-1])
    assert Apply("s", "sum", ("x",), pairs).to_text() == "s = sum x axis=0 keepdims=true"


def test_a_slice_becomes_one_of_python() -> None:
    assert Slice(1, None, -2).to_native() == slice(1, None, -2)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ([1], "an attribute cannot be a list"),
        (slice(1), "an attribute cannot be a slice"),
        ((1, {2}), "an attribute cannot be a set"),
        (2**63, "an integer does not fit in 64 bits"),
        (nested(MAXIMUM_DEPTH + 1), "tuples are nested more than 16 deep"),
    ],
)
def test_other_values_are_refused(value: AttributeValue, rule: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Apply("y", "index", ("x",), (("index", value),))
    assert str(caught.value) == rule


def test_the_deepest_tuple_is_written_and_read() -> None:
    step = Apply("y", "index", ("x",), (("index", nested(MAXIMUM_DEPTH)),))
    assert parse(f"x = leaf float64[] {{0}}\n{step.to_text()}").applications == (step,)


def test_the_deepest_value_is_read_from_json() -> None:
    value: AttributeValue = Slice(1, 2)
    for _ in range(MAXIMUM_DEPTH):
        value = (value,)
    scenario = Scenario((parse("x = leaf float64[] {0}").steps[0], Apply("y", "index", ("x",), (("index", value),))))
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_a_slice_of_step_zero_is_refused() -> None:
    with pytest.raises(ScenarioError, match="the step of a slice must not be 0"):
        Slice(step=0)


def test_a_slice_of_bools_is_refused() -> None:
    with pytest.raises(ScenarioError, match="True is not an integer"):
        Slice(stop=True)
