"""The derivative of a formula by SymPy, as a function of mpmath's floats."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import sympy

from refgrad.operators.expression import Formula
from tests.operators.functions.digits import DIGITS_FUNCTIONS
from tests.operators.functions.symbols import STEPPED, symbol_functions

COMPARISONS_OF_SYMBOLS: Mapping[str, Any] = MappingProxyType({
    "greater": sympy.Gt,
    "greater_equal": sympy.Ge,
    "less": sympy.Lt,
    "less_equal": sympy.Le,
    "equal": sympy.Eq,
    "not_equal": sympy.Ne,
    "logical_and": sympy.And,
    "logical_or": sympy.Or,
    "logical_not": sympy.Not,
    "where": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True)),
})
"""Conditions that stay open, and branches that keep both sides."""

SYMBOL_FUNCTIONS = symbol_functions(COMPARISONS_OF_SYMBOLS)
"""The column of SymPy's expressions, with conditions that stay open."""


class _ToRationals(ast.NodeTransformer):
    """Turn every float into a call of ``number``: SymPy would compute with it in fifteen digits."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "number":
            return node
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("number", ast.Load()), [ast.Constant(repr(node.value))], [])


def _in_symbols(formula: Formula, symbols: Mapping[str, Any]) -> Any:
    body = ast.fix_missing_locations(_ToRationals().visit(ast.parse(formula.calls, mode="eval")))
    return eval(compile(body, f"<symbols of {formula.source}>", "eval"), {**SYMBOL_FUNCTIONS, **symbols})


def derivative(
    formula: Formula, parameters: tuple[str, ...], by: str, conditions: frozenset[str] = frozenset()
) -> Callable[..., Any]:
    """Return SymPy's derivative of a formula as a function of mpmath's floats; ``conditions`` are boolean."""
    symbols = {name: sympy.Symbol(name, real=None if name in conditions else True) for name in parameters}
    expression = sympy.sympify(_in_symbols(formula, symbols))
    slope = sympy.diff(expression, symbols[by])
    steps = {step.__name__: DIGITS_FUNCTIONS[name] for name, step in STEPPED.items()}
    result: Callable[..., Any] = sympy.lambdify([*symbols.values()], slope, [steps, "mpmath"])
    return result
