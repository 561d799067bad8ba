"""Candidates spell every operator that libraries have, each by what could be looked up; a user gives fields only."""

from __future__ import annotations

import pytest

from refgrad.errors import UserError
from refgrad.grading.first_adapter.candidates import (
    backwards,
    gradients,
    leaves,
    owner_of,
    read_options,
    resets,
    retaining,
    spellings_of,
)
from refgrad.native.languages.language import Template
from refgrad.operators import operator_table
from tests.effort import each


@each("name", operator_table())
def test_spellings_are_templates_of_the_operators_placeholders(name: str) -> None:
    operator = operator_table()[name]
    texts = list(spellings_of(operator, ["me", "me.nn"]))
    known = {*operator.argument_names, *operator.attribute_names}
    assert f"me.nn.{name}" in {text.partition("(")[0] for text in texts}
    assert all(set(Template(text).fields) <= known for text in texts)


@pytest.mark.parametrize(("name", "method"), [("exp", True), ("add", False), ("concatenate", False)])
def test_operators_of_one_operand_may_be_methods_of_it(name: str, *, method: bool) -> None:
    operator = operator_table()[name]
    own = f"{{{operator.argument_names[0]}}}.{name}("
    assert any(text.startswith(own) for text in spellings_of(operator, ["me"])) is method


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("me.nn.relu({x})", ("me.nn", "relu")),
        ("{x}.sum(axis={axis})", ("{x}", "sum")),
        ("{x} + {y}", ("", "")),
        ("abs({x})", ("", "")),
    ],
)
def test_a_spelling_belongs_to_the_owner_of_what_it_calls(text: str, owner: tuple[str, str]) -> None:
    assert owner_of(text) == owner


def test_leaf_templates_use_existing_makers_or_classes() -> None:
    templates = leaves({"me": ["Tensor"], "me.nn": []}, {"me": ["Dial", "Tensor"]})
    assert templates[0] == "me.Tensor({array}, requires_grad={requires_grad})"
    assert not any("me.Dial" in text for text in templates)
    assert templates[-1] == "{array}"
    assert not any("me.nn" in text for text in templates)


def test_classes_are_makers_where_there_is_no_usual_one() -> None:
    assert "me.Dial({array})" in leaves({"me": [], "me.nn": []}, {"me": ["Dial"]})


def test_a_backward_is_run_by_methods_and_functions_of_other_names() -> None:
    templates = backwards(["{output}.backprop", "me.sweep"])
    assert {
        "{output}.backprop({seed})",
        "{output}.backprop()",
        "me.sweep({output}, {seed})",
        "me.sweep({output})",
    } < set(templates)


@pytest.mark.parametrize(
    ("backward", "kept", "freed"),
    [
        ("{output}.backward()", "keep={retain_graph}", "keep=not {retain_graph}"),
        ("{output}.backward({seed})", "{seed}, keep={retain_graph}", "{seed}, keep=not {retain_graph}"),
    ],
)
def test_a_keyword_keeps_a_graph_if_it_is_true_or_false(backward: str, kept: str, freed: str) -> None:
    assert retaining(backward, "keep") == (f"{{output}}.backward({kept})", f"{{output}}.backward({freed})")


def test_the_attribute_that_holds_a_gradient_is_reset() -> None:
    assert "setattr({leaf}, 'slope', None)" in resets("{leaf}.slope")
    assert "setattr({leaf}, 'grad', 0)" in resets("read({leaf})")


def test_gradients_are_read_as_they_are_and_as_values() -> None:
    assert "None if {leaf}.grad is None else {leaf}.grad.numpy()" in gradients("{x}.numpy()")


def test_fields_and_spellings_are_set_one_by_one() -> None:
    options = read_options([
        "leaf = T({array})",
        "operators.reshape={x}.reshape(*{shape})",
        "setup=import me",
        "kind=tape",
    ])
    assert options["leaf"] == "T({array})"
    assert options["operators.reshape"] == "{x}.reshape(*{shape})"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("leaf", "--set leaf: write FIELD=TEMPLATE"),
        ("laef=1", "--set laef: there is no such field, did you mean 'leaf'? there are: kind, setup, "),
        ("kind=tap", "--set kind=tap: write tape or functional"),
        ("nothing=1", "operators.NAME"),
        ("reshape={x}", "--set reshape: there is no such field, did you mean 'operators.reshape'?"),
        ("operators={}", "--set operators: give each operator by itself, as --set 'operators.NAME=TEMPLATE'"),
        ("operators.reshap={x}", "--set operators.reshap: the table has no operator 'reshap', did you mean 'reshape'?"),
        ("nests=true", "--set nests: this is no template: write it into the file afterwards"),
    ],
)
def test_what_is_no_field_is_refused_with_what_may_be_meant(text: str, problem: str) -> None:
    with pytest.raises(UserError) as caught:
        read_options([text])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
