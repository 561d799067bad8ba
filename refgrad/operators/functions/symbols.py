"""The functions of SymPy's expressions, and the derivative of a formula by SymPy."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sympy

from refgrad.operators.expression import Expression
from refgrad.operators.functions.column import column
from refgrad.operators.functions.digits import DIGITS_FUNCTIONS

SYMPY_NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")}
    | {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}
    | {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv"}
    | {"lgamma": "loggamma", "digamma": "digamma", "polygamma": "polygamma", "besseli": "besseli"}
)


def _stepped(name: str, rounded: Callable[[Fraction], int]) -> Any:
    """Return a function whose derivative is 0, and which is an integer where its argument is a number."""

    def integer_at(_cls: Any, x: Any) -> Any:
        if not (x.is_Rational or x.is_Float):
            return None
        exact = sympy.Rational(x)
        return sympy.Integer(rounded(Fraction(int(exact.p), int(exact.q))))

    methods = {
        "eval": classmethod(integer_at),
        "fdiff": lambda _self, _argument=1: sympy.Integer(0),
        "_eval_evalf": lambda self, bits: self.func(self.args[0]._eval_evalf(bits)),  # noqa: SLF001 (SymPy's way)
    }
    return type(f"stepped_{name}", (sympy.Function,), methods)


# Python rounds fractions to the nearest integer, and ties to the even one.
STEPPED: Mapping[str, Any] = MappingProxyType({
    "floor": _stepped("floor", math.floor),
    "trunc": _stepped("trunc", math.trunc),
    "round": _stepped("round", round),
})

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


def _spherical_bessel(n: Any, x: Any) -> Any:
    """Of the order |n| (DLMF 10.53.1): SymPy's own is of positive numbers."""
    order = abs(n)
    beyond = sympy.hyper((), (order + sympy.Rational(3, 2),), -x * x / 4)
    return x**order / sympy.factorial2(2 * order + 1) * beyond


def symbol_functions(comparisons: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the column over comparisons and a ``where`` that may decide conditions at a point, or leave them open.

    What would cancel near 0 is written so that it does not: of log(1 + 1e-181) SymPy says that it is 0.
    """
    where, greater = comparisons["where"], comparisons["greater"]
    cells = {name: getattr(sympy, other) for name, other in SYMPY_NAMES.items()}
    others = {
        "expm1": lambda x: 2 * sympy.exp(x / 2) * sympy.sinh(x / 2),
        "log1p": lambda x: 2 * sympy.atanh(x / (x + 2)),
        "sphericalj": _spherical_bessel,
        "cbrt": lambda x: where(greater(x, 0), sympy.cbrt(x), -sympy.cbrt(-x)),
    }
    return column("symbols", {**cells, **others, **STEPPED}, {**comparisons, "number": sympy.Rational, "pi": sympy.pi})


SYMBOL_FUNCTIONS = symbol_functions(COMPARISONS_OF_SYMBOLS)
"""The column, with conditions that stay open."""


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


def _in_symbols(formula: Expression, symbols: Mapping[str, Any]) -> Any:
    body = ast.fix_missing_locations(_ToRationals().visit(ast.parse(formula.calls, mode="eval")))
    return eval(compile(body, f"<symbols of {formula.source}>", "eval"), {**SYMBOL_FUNCTIONS, **symbols})


def derivative(
    formula: Expression, parameters: tuple[str, ...], by: str, conditions: frozenset[str] = frozenset()
) -> Callable[..., Any]:
    """Return SymPy's derivative of a formula as a function of mpmath's floats; ``conditions`` are boolean."""
    symbols = {name: sympy.Symbol(name, real=None if name in conditions else True) for name in parameters}
    expression = sympy.sympify(_in_symbols(formula, symbols))
    slope = sympy.diff(expression, symbols[by])
    steps = {step.__name__: DIGITS_FUNCTIONS[name] for name, step in STEPPED.items()}
    found: Callable[..., Any] = sympy.lambdify([*symbols.values()], slope, [steps, "mpmath"])
    return found
