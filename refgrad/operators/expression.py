"""The formula language of the operator table, and the compilation of formulas to functions.

The language is a small subset of Python's expressions: numbers, names, ``+ - * / **``, comparisons,
``and``/``or``/``not``, ``a if condition else b`` and calls of the functions in :mod:`refgrad.operators.functions`. A
number system supplies the functions, so one formula works for float64 arrays, balls, complex numbers and symbols.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial, reduce
from math import isfinite
from types import MappingProxyType
from typing import Any

from refgrad.errors import UserError, shortened
from refgrad.operators.functions.rows import CONSTANTS, FUNCTIONS, PYTHON_FLOATS, FormulaFunction

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
OPERATORS: tuple[type[ast.AST], ...] = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub),
    *(ast.And, ast.Or, ast.Not, ast.Load),
    *COMPARISONS,
)


class FormulaError(UserError):
    """A formula uses something that the language does not have."""


@dataclass(frozen=True)
class Formula:
    """A formula, validated at construction; two formulas are equal if their texts are."""

    source: str

    def __post_init__(self) -> None:
        """Raise FormulaError if the formula uses anything outside the language."""
        for node in self.nodes:
            _check(node, self.source)

    @cached_property
    def tree(self) -> ast.expr:
        """The parsed formula."""
        try:
            return ast.parse(self.source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # null bytes, deep nesting
            problem = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deep"
            raise FormulaError(f"formula {shortened(self.source, 200)!r} does not parse: {problem}") from error

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the parsed formula."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def names(self) -> frozenset[str]:
        """The free variables: names that are neither functions nor constants."""
        named = frozenset(node.id for node in self.nodes if isinstance(node, ast.Name))
        return named - self.functions - CONSTANTS

    @cached_property
    def functions(self) -> frozenset[str]:
        """The vocabulary functions that the formula calls."""
        return frozenset(node.func.id for node in self.nodes if isinstance(node, ast.Call))  # type: ignore[attr-defined]

    @cached_property
    def calls(self) -> str:
        """The formula as Python text in which branches, comparisons and inexact numbers are calls."""
        body = _ToCalls().visit(ast.parse(self.source, mode="eval").body)
        return ast.unparse(ast.fix_missing_locations(body))

    @cached_property
    def folded_calls(self) -> str:
        """Like ``calls``, for floats: calls on literals and pi are replaced by their values as Python floats.

        A Python float takes the dtype of the other operand, a numpy float does not: sqrt(2) times a float32 is float32.
        """
        body = _ToCalls(fold=True).visit(ast.parse(self.source, mode="eval").body)
        return ast.unparse(ast.fix_missing_locations(body))

    def function(self, parameters: tuple[str, ...], system: Mapping[str, Any]) -> Callable[..., Any]:
        """Compile the formula to a function of ``parameters`` in a number system; it evaluates both branches.

        ``system`` supplies the vocabulary, ``number`` (from a decimal text), ``where`` and the comparisons by name.
        """
        unknown = self.names - set(parameters)
        if unknown:
            raise FormulaError(f"formula {self.source!r} uses {sorted(unknown)}, which is not among {list(parameters)}")
        calls = self.folded_calls if system["number"] is float else self.calls
        text = f"lambda {', '.join(parameters)}: {calls}"
        return eval(compile(text, f"<formula {self.source}>", "eval"), dict(system))  # type: ignore[no-any-return]


@cache
def formula_of(source: str) -> Formula:
    """Return the formula of a text, parsed and translated once: rows and number systems share it."""
    return Formula(source)


class ColumnError(ValueError):
    """A column has a function without a row, or lacks one that it does not declare absent; the message names it."""


def column(
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
    if unknown := (cells.keys() | absent) - rows.keys():
        raise ColumnError(f"the column has or lacks {sorted(unknown)}, which is no row")
    functions = {**grammar, **cells}
    for name, row in rows.items():
        if name in cells or name in absent:
            continue
        if row.definition is None:
            raise ColumnError(f"the column lacks {name!r}, which has no definition")
        definition = formula_of(row.definition)
        if missing := definition.functions - functions.keys():
            raise ColumnError(f"the column lacks {sorted(missing)}, by which {name!r} is defined")
        functions[name] = definition.function(row.parameters, functions)
    return MappingProxyType(functions)


def is_exact(text: str) -> bool:
    """Return True if a decimal text is exactly a float64 (0.5 is, 0.1 is not)."""
    return Fraction(text) == Fraction(float(text))


def _check(node: ast.AST, source: str) -> None:
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in FUNCTIONS:
                raise FormulaError(f"formula {source!r} calls {name!r}, which the vocabulary does not have")
            if len(arguments) != len(FUNCTIONS[name].parameters):
                raise FormulaError(f"formula {source!r} calls {name!r} with {len(arguments)} arguments")
        case ast.Compare(ops=[_]) | ast.BinOp() | ast.UnaryOp() | ast.IfExp() | ast.BoolOp() | ast.Name():
            return
        case ast.Constant(value=bool() | int() | float() as value):
            if not isfinite(value):
                raise FormulaError(f"formula {source!r} has a number that is not finite")
        case _ if isinstance(node, OPERATORS):
            return
        case _:
            raise FormulaError(f"formula {source!r} uses {type(node).__name__}, which the language does not have")


class _ToCalls(ast.NodeTransformer):
    """Replaces comparisons, branches and inexact numbers by calls to functions of a number system."""

    def __init__(self, *, fold: bool = False) -> None:
        self.fold = fold

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return _call(COMPARISONS[type(node.ops[0])], self.visit(node.left), self.visit(node.comparators[0]))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        return reduce(partial(_call, name), map(self.visit, node.values))  # type: ignore[no-any-return]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return _call("logical_not", self.visit(node.operand))
        return ast.UnaryOp(node.op, self.visit(node.operand))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return _call("where", self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Evaluate a call on literals if ``fold``; else convert them to the system's numbers, as FLINT requires."""
        if self.fold and all(map(_is_plain, ast.walk(node))):
            return ast.Constant(eval(ast.unparse(node), dict(PYTHON_FLOATS)))
        arguments = [self.visit(argument) for argument in node.args]
        if all(isinstance(argument, ast.Constant) for argument in arguments):
            arguments = [_call("number", argument) for argument in arguments]
        return ast.Call(node.func, arguments, [])

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, float) and not is_exact(repr(node.value)):
            return _call("number", ast.Constant(repr(node.value)))
        return node


def _is_plain(node: ast.AST) -> bool:
    """Return True if Python floats support the node: a number, pi, a function of theirs, or arithmetic."""
    if isinstance(node, ast.Name):
        return node.id in PYTHON_FLOATS
    return not isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
