"""A column has every row of the table of functions, or says that it lacks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from refgrad.engine.operators.vocabulary import ON_ARRAYS
from refgrad.operators import Formula
from refgrad.operators.expression import ColumnError, column
from refgrad.operators.functions import FUNCTIONS, FormulaFunction
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.functions.rows import CONSTANTS
from tests.effort import each

ROWS = {
    "half": FormulaFunction(("x",), ("1 / 2",)),
    "exp": FormulaFunction(("x",), ("out",), definition="1 + x"),
    "log": FormulaFunction(("x",), ("1 / x",), definition="exp(x) - exp(1)"),
}
NUMBERS = {"number": float}


def half(x: float) -> float:
    return x / 2


def complete(cells: Mapping[str, Any], *absent: str) -> Mapping[str, Any]:
    return column(cells, NUMBERS, frozenset(absent), ROWS)


def test_a_row_without_a_cell_is_its_definition_in_the_same_numbers() -> None:
    functions = complete({"half": half, "exp": lambda x: 3 * x})
    assert functions["half"](5) == 2.5
    assert functions["log"](5) == pytest.approx(15 - 2.718281828459045)


def test_what_is_declared_absent_is_not_there() -> None:
    assert complete({}, "half", "exp", "log") == NUMBERS


@pytest.mark.parametrize(
    ("cells", "absent", "message"),
    [
        ({}, (), "the column lacks 'half', which has no definition"),
        ({"half": half, "third": half}, (), "the column has or lacks ['third'], which is no row"),
        ({"half": half}, ("third",), "the column has or lacks ['third'], which is no row"),
        ({"half": half}, ("exp",), "the column lacks ['exp'], by which 'log' is defined"),
    ],
)
def test_a_gap_in_a_column_is_an_error(cells: Mapping[str, Any], absent: tuple[str, ...], message: str) -> None:
    with pytest.raises(ColumnError) as error:
        complete(cells, *absent)
    assert str(error.value) == message


@each("name", FUNCTIONS)
def test_a_row_speaks_of_its_parameters_and_of_functions_of_the_table(name: str) -> None:
    row = FUNCTIONS[name]
    texts = [*row.derivatives, row.domain, row.definition or "0"]
    assert all(Formula(text).names <= {*row.parameters, "out"} for text in texts)
    assert len(row.derivatives) == len(row.parameters)
    assert name not in CONSTANTS


def test_the_reference_engine_has_the_functions_of_arrays_themselves() -> None:
    assert all(ON_ARRAYS[name] is NUMPY_FUNCTIONS[name] for name in FUNCTIONS)
