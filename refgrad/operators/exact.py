"""How are formulas evaluated to many digits, over whole intervals, and differentiated by a computer algebra system?

This is the one module of the operator table that needs SymPy and mpmath; only the lint imports it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

import mpmath
import sympy

from refgrad.operators.expression import Expression

NAMES: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("exp", "expm1", "log", "log1p", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh")}
    | {"tanh": "tanh", "sign": "sign", "floor": "floor", "hypot": "hypot", "arctan2": "atan2"}
    | {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "loggamma", "digamma": "digamma"}
    | {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
)
"""What the functions of the vocabulary are called in mpmath, where they have a name."""


@contextmanager
def digits(count: int) -> Iterator[None]:
    """Compute with that many decimal digits inside the block."""
    with mpmath.workdps(count):
        yield


def _many_digits(x: Any) -> Any:
    """Return a plain integer as a float of mpmath's: Python would divide it in 53 bits."""
    return mpmath.mpf(x) if type(x) is int else x


def _bessel(order: int, x: Any) -> Any:
    return mpmath.besseli(order, x)


def _cube_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _toward_zero(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.floor(abs(x))


DIGITS_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(mpmath, other) for name, other in NAMES.items()}
    | {
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
        "log2": lambda x: mpmath.log(x, 2),
        "abs": abs,
        "trunc": _toward_zero,
        "round": mpmath.nint,
        "cbrt": _cube_root,
        "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
        "polygamma": lambda n, x: mpmath.polygamma(int(n), x),
        "besseli": lambda n, x: mpmath.besseli(int(n), x),
        "i0": partial(_bessel, 0),
        "i1": partial(_bessel, 1),
        "i0e": lambda x: mpmath.exp(-abs(x)) * _bessel(0, x),
        "i1e": lambda x: mpmath.exp(-abs(x)) * _bessel(1, x),
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
        "where": lambda condition, x, y: _many_digits(x if condition else y),
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


def _step(name: str) -> Any:
    """Return a function whose derivative is 0 between its jumps."""
    return type(name, (sympy.Function,), {"fdiff": lambda _self, _argument=1: sympy.Integer(0)})


_STEPS: Mapping[str, Any] = MappingProxyType({"_Floor": mpmath.floor, "_Trunc": _toward_zero, "_Round": mpmath.nint})
"""What the functions with jumps that SymPy is given are in mpmath."""


def _magnitude(x: Any) -> Any:
    return sympy.Piecewise((x, sympy.Gt(x, 0)), (-x, True))


SYMBOL_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(sympy, NAMES[name]) for name in NAMES if hasattr(sympy, NAMES[name])}
    | {
        "expm1": lambda x: sympy.exp(x) - 1,
        "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
        "exp2": lambda x: sympy.Integer(2) ** x,
        "log1p": lambda x: sympy.log(1 + x),
        "log2": lambda x: sympy.log(x) / sympy.log(2),
        "log10": lambda x: sympy.log(x) / sympy.log(10),
        "abs": _magnitude,
        "trunc": _step("_Trunc"),
        "round": _step("_Round"),
        "cbrt": lambda x: sympy.Piecewise((sympy.cbrt(x), sympy.Gt(x, 0)), (-sympy.cbrt(-x), True)),
        "erfcx": lambda x: sympy.exp(x * x) * sympy.erfc(x),
        "polygamma": sympy.polygamma,
        "besseli": sympy.besseli,
        "i0": lambda x: sympy.besseli(0, x),
        "i1": lambda x: sympy.besseli(1, x),
        "i0e": lambda x: sympy.exp(-_magnitude(x)) * sympy.besseli(0, x),
        "i1e": lambda x: sympy.exp(-_magnitude(x)) * sympy.besseli(1, x),
        "sign": lambda x: sympy.Piecewise((1, sympy.Gt(x, 0)), (-1, sympy.Lt(x, 0)), (0, True)),
        "floor": _step("_Floor"),
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
    found: Callable[..., Any] = sympy.lambdify([*symbols.values()], slope, [dict(_STEPS), "mpmath"])
    return found
