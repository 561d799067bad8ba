"""A scenario is valid once constructed, and answers what others ask of it."""

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from refgrad.operators import operator_table
from refgrad.scenario import (
    Apply,
    Backward,
    Constant,
    EnterMode,
    Hook,
    Leaf,
    Read,
    Scenario,
    ScenarioError,
    ZeroGrad,
    parse,
)
from tests.effort import each

ONE = Constant.of(np.array(1.0))
TEXT = """\
x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad
w = leaf float64[] {0x1p+0}
a = multiply x w
b = exp a
l = sum b
backward l retain_graph
backward b seed float64[2] {0x1p+0 -0x1p+1}
zero grad x
read grad x
read value b
"""


def test_the_text_of_a_canonical_text_is_itself() -> None:
    assert parse(TEXT).text == TEXT


def test_the_id_is_a_hash_of_the_text() -> None:
    assert parse(TEXT).id == "53fa6c6d8d1bef64"
    assert parse(f"# comment\n{TEXT}\n").id == parse(TEXT).id
    assert parse(TEXT.replace("exp", "sin")).id != parse(TEXT).id


def test_windows_lines_and_tabs_are_read() -> None:
    assert parse(TEXT.replace("\n", "\r\n").replace(" = ", "\t=\t")) == parse(TEXT)


def test_an_empty_text_is_a_scenario_without_steps() -> None:
    assert parse("\n# nothing\n") == Scenario(())
    assert Scenario(()).text == ""


def test_the_queries_of_a_scenario() -> None:
    scenario = parse(TEXT)
    assert [leaf.name for leaf in scenario.leaves] == ["x", "w"]
    assert [step.name for step in scenario.applications] == ["a", "b", "l"]
    assert list(scenario.definitions) == ["x", "w", "a", "b", "l"]
    assert scenario.definitions["b"] == Apply("b", "exp", ("a",))
    assert [(index, step.output) for index, step in scenario.backwards] == [(5, "l"), (6, "b")]
    assert scenario.operators == {"multiply", "exp", "sum"}


def test_steps_tell_what_they_define_and_use() -> None:
    assert [(step.defines, step.uses) for step in parse(TEXT).steps] == [
        ("x", ()),
        ("w", ()),
        ("a", ("x", "w")),
        ("b", ("a",)),
        ("l", ("b",)),
        (None, ("l",)),
        (None, ("b",)),
        (None, ("x",)),
        (None, ("x",)),
        (None, ("b",)),
    ]


def test_scenarios_are_equal_when_their_steps_are() -> None:
    assert parse(TEXT) == parse(TEXT)
    assert len({parse(TEXT), parse(TEXT), Scenario(())}) == 2
    text_asked, not_asked = parse(TEXT), parse(TEXT)
    assert text_asked.text
    assert text_asked == not_asked


def test_a_repr_can_be_pasted() -> None:
    assert repr(parse("x = leaf float64[] {1}")) == 'parse("""\nx = leaf float64[] {0x1p+0}\n""")'


def test_any_sequence_of_steps_will_do() -> None:
    steps: Any = [Leaf("x", ONE)]
    assert Scenario(steps).steps == (Leaf("x", ONE),)


def test_an_operator_table_of_your_own_decides() -> None:
    only_exp = MappingProxyType({"exp": operator_table()["exp"]})
    steps = (Leaf("x", ONE), Apply("y", "exp", ("x",)))
    assert Scenario(steps, only_exp) == Scenario(steps)
    with pytest.raises(ScenarioError, match="step 3: unknown operator 'sin'"):
        Scenario((*steps, Apply("z", "sin", ("y",))), only_exp)
    with pytest.raises(ScenarioError, match="line 2: unknown operator 'sin'"):
        parse("x = leaf float64[] {1}\ny = sin x", only_exp)


def test_the_broken_step_is_named_by_its_number() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario((Leaf("x", ONE), Backward("y")))
    assert str(caught.value) == "step 2: 'y' is not defined by an earlier step"
    assert (caught.value.step, caught.value.line) == (2, None)


def test_what_is_not_a_step_is_refused() -> None:
    steps: Any = (Leaf("x", ONE), "backward x")
    with pytest.raises(ScenarioError, match="step 2: 'backward x' is not a step"):
        Scenario(steps)


def test_a_list_nested_without_end_is_refused_wherever_it_stands() -> None:
    endless: Any = []
    for _ in range(100_000):
        endless = [endless]
    with pytest.raises(ScenarioError, match="step 1: a list too long to show is not a step"):
        Scenario((endless,))
    with pytest.raises(ScenarioError, match="a list too long to show is not an identifier"):
        Leaf(endless, ONE)


@each(
    ("kind", "members", "rule"),
    [
        (Leaf, ("class", ONE), "'class' is a Python keyword, not an identifier"),
        (Leaf, ("x", 1.0), "value must be Constant, not float"),
        (Leaf, ("x", ONE, 1), "requires_grad must be bool, not int"),
        (Apply, ("y z", "exp", ("x",)), "'y z' is not an identifier"),
        (Apply, ("y", "exp", ["x"]), "arguments must be tuple, not list"),
        (Apply, ("y", "exp", ("x", 1)), "1 is not an identifier"),
        (Apply, ("y", "exp", ("x",), [("axis", 0)]), "attributes must be tuple, not list"),
        (Backward, ("x", 1.0), "seed must be Constant or None, not float"),
        (Backward, ("x", None, 0), "retain_graph must be bool, not int"),
        (
            Read,
            ("shape", "x"),
            "'shape' is no observation: write grad, value, requires_grad, is_leaf, recorded or hook",
        ),
        (EnterMode, ("grad",), "'grad' is no mode: write no_grad or enable_grad"),
        (Hook, ("h", "x", math.inf), "a factor must be finite, not inf"),
        (ZeroGrad, (None,), "None is not an identifier"),
    ],
)
def test_a_step_of_wrong_parts_is_refused_when_made(kind: Any, members: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        kind(*members)
    assert str(caught.value) == rule
