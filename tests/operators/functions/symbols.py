"""The functions of SymPy's expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sympy

from refgrad.operators.expression import column

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
    return column({**cells, **others, **STEPPED}, {**comparisons, "number": sympy.Rational, "pi": sympy.pi})
