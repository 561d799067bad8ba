"""How are formulas evaluated to many digits, over whole intervals, and differentiated by a computer algebra system?

This is the one module of the operator table that needs SymPy and mpmath; only the lint imports it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import mpmath
import sympy

from refgrad.operators.expression import Expression

NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "expm1", "log", "log1p", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh")}
    | {"tanh": "tanh", "sign": "sign", "floor": "floor", "hypot": "hypot", "arctan2": "atan2"}
    | {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
)
"""What the functions of the vocabulary are called in mpmath, where they have a name."""


@contextmanager
def digits(count: int) -> Iterator[None]:
    """Compute with that many decimal digits inside the block."""
    with mpmath.workdps(count):
        yield


DIGITS_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(mpmath, other) for name, other in NAMES.items()}
    | {
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "abs": abs,
        "maximum": max,
        "minimum": min,
        "number": mpmath.mpf,
        "pi": mpmath.pi,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
        "logical_and": lambda a, b: a and b,
        "logical_or": lambda a, b: a or b,
        "logical_not": lambda a: not a,
        "where": lambda condition, x, y: x if condition else y,
    }
)
"""The number system of mpmath's floats."""


def _both(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001 (Kleene's conjunction)
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:  # noqa: FBT001 (Kleene's negation)
    return None if a is None else not a


def _equal(x: Any, y: Any) -> bool | None:
    difference = mpmath.iv.mpf(x) - y
    if 0 not in difference:
        return False
    return True if difference.delta == 0 else None


INTERVAL_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(mpmath.iv, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan")}
    | {
        "number": mpmath.iv.mpf,
        "pi": mpmath.iv.pi,
        "greater": lambda x, y: mpmath.iv.mpf(x) > y,
        "greater_equal": lambda x, y: mpmath.iv.mpf(x) >= y,
        "less": lambda x, y: mpmath.iv.mpf(x) < y,
        "less_equal": lambda x, y: mpmath.iv.mpf(x) <= y,
        "equal": _equal,
        "not_equal": lambda x, y: _not(_equal(x, y)),
        "logical_and": _both,
        "logical_or": lambda a, b: _not(_both(_not(a), _not(b))),
        "logical_not": _not,
    }
)
"""The number system of mpmath's intervals, with conditions that are True, False or, over the interval, both (None)."""


_FLOOR = type("_Floor", (sympy.Function,), {"fdiff": lambda _self, _argument=1: sympy.Integer(0)})
"""The floor, whose derivative is 0 between its jumps."""

SYMBOL_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(sympy, NAMES[name]) for name in NAMES if hasattr(sympy, NAMES[name])}
    | {
        "expm1": lambda x: sympy.exp(x) - 1,
        "exp2": lambda x: sympy.Integer(2) ** x,
        "log1p": lambda x: sympy.log(1 + x),
        "log2": lambda x: sympy.log(x) / sympy.log(2),
        "log10": lambda x: sympy.log(x) / sympy.log(10),
        "abs": lambda x: sympy.Piecewise((x, sympy.Gt(x, 0)), (-x, True)),
        "sign": lambda x: sympy.Piecewise((1, sympy.Gt(x, 0)), (-1, sympy.Lt(x, 0)), (0, True)),
        "floor": _FLOOR,
        "hypot": lambda x, y: sympy.sqrt(x * x + y * y),
        "maximum": lambda x, y: sympy.Piecewise((x, sympy.Gt(x, y)), (y, True)),
        "minimum": lambda x, y: sympy.Piecewise((x, sympy.Lt(x, y)), (y, True)),
        "number": sympy.Rational,
        "pi": sympy.pi,
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
    }
)
"""The number system of SymPy's expressions."""


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
    found: Callable[..., Any] = sympy.lambdify([*symbols.values()], slope, [{"_Floor": mpmath.floor}, "mpmath"])
    return found
