"""Columns of the table of functions, completed from the definitions of its rows and checked against them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from refgrad.operators.expression import Formula
from refgrad.operators.functions.rows import FUNCTIONS, FormulaFunction


class ColumnError(ValueError):
    """A column has a function without a row, or lacks one that it does not declare absent; the message names both."""


def column(
    system: str,
    cells: Mapping[str, Any],
    grammar: Mapping[str, Any],
    absent: frozenset[str] = frozenset(),
    rows: Mapping[str, FormulaFunction] = FUNCTIONS,
) -> Mapping[str, Any]:
    """Return the functions of all rows in one number system, by name, together with the system's grammar.

    ``cells`` are the system's own implementations; a row without one is compiled from its definition, in the same
    system. ``grammar`` is what formulas use besides functions: ``number``, ``where``, the comparisons. ``absent`` are
    the rows that the system does not support.

    Raises ColumnError unless each row has a cell or a definition, or is declared absent.
    """
    _check(system, cells.keys() - rows.keys(), "has {}, which is no row")
    _check(system, absent - rows.keys(), "declares {} absent, which is no row")
    _check(system, absent & cells.keys(), "declares {} absent, and has it")
    functions = dict(grammar)
    for name, row in rows.items():
        if name in cells:
            functions[name] = cells[name]
        elif name not in absent:
            functions[name] = _defined(system, name, row, functions)
    return MappingProxyType(functions)


def _check(system: str, names: set[str] | frozenset[str], complaint: str) -> None:
    if names:
        raise ColumnError(f"the column of {system} {complaint.format(sorted(names))}")


def _defined(system: str, name: str, row: FormulaFunction, functions: Mapping[str, Any]) -> Any:
    if row.definition is None:
        raise ColumnError(f"the column of {system} lacks {name!r}, which has no definition")
    definition = Formula(row.definition)
    _check(system, definition.functions - functions.keys(), f"lacks {{}}, by which {name!r} is defined")
    return definition.function(row.parameters, functions)
