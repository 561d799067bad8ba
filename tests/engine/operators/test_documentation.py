"""Names of nodes, and docstrings of functions and methods, are made of the rows of the operator table."""

import inspect
from typing import Any

import pytest

import refgrad.engine as torch
from refgrad.engine import Tensor
from refgrad.engine.functions.methods import composite_functions
from refgrad.engine.operators.vocabulary import documentation, node_name
from refgrad.operators import Operator, operator_table
from tests.effort import each

# Functions that take other arguments than their rows say what these are themselves.
ROWS = [row for row in operator_table().values() if row.name not in composite_functions({})]


@each("row", ROWS)
def test_a_docstring_says_what_the_row_says(row: Operator) -> None:
    text = inspect.getdoc(getattr(torch, row.name))
    assert text is not None
    lines = text.splitlines()
    assert row.summary[1:] in lines[0]
    assert lines[2].strip().startswith(f"{row.name}(")
    assert all(name in lines[2] for name in (*row.argument_names, *row.attribute_names))
    entries = dict(line.partition(": ")[::2] for line in lines[4:])
    assert entries["Shape"]
    assert entries.get("Formula") == (row.formula.source if row.formula else None)
    assert entries.get("Domain") == (row.domain.source if row.domain else None)
    assert all(name in getattr(torch, name).__doc__ for name in row.aliases)


def test_shapes_are_those_of_the_row_s_pattern() -> None:
    line = "Shape: x (..., c, h, w), weight (o, d, i, j), bias (o)\n"
    assert line in documentation(operator_table()["conv2d"])
    assert line in torch.conv2d.__doc__


def test_a_method_has_the_docstring_of_its_function_and_says_if_it_overwrites() -> None:
    methods: Any = Tensor
    assert methods.exp.__doc__ == torch.exp.__doc__
    assert methods.exp_.__doc__ == f"In place: {torch.exp.__doc__}"


def test_a_docstring_says_which_shape_the_result_has() -> None:
    assert "; the result has the common shape\n" in torch.add.__doc__
    assert "; the result has the same\n" in torch.exp.__doc__


@pytest.mark.parametrize(
    ("operator", "name"),
    [("multiply", "MulBackward0"), ("exp", "ExpBackward0"), ("concatenate", "CatBackward0"), ("matmul", "MmBackward0")],
)
def test_a_node_has_the_name_that_it_has_in_pytorch(operator: str, name: str) -> None:
    assert node_name(operator_table()[operator]) == name
