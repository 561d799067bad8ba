"""Which numpy functions stand for the vocabulary, and how does an operator that has a formula become one of arrays?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators import Operator
from refgrad.operators.vocabulary import FUNCTIONS


@cache
def _scipy(name: str) -> Callable[..., Any]:
    """Return scipy's function, which is imported when it is first called: that takes a third of a second."""
    function: Callable[..., Any] = getattr(import_module("scipy.special"), name)
    return function


def _special(name: str) -> Callable[[Any], Any]:
    def special(x: Any) -> Any:
        found = _scipy(name)(x)  # scipy computes float16 in float64
        return found.astype(np.float16) if getattr(x, "dtype", None) == np.float16 else found

    return special


def _polygamma(n: int, x: Any) -> Any:
    """By Hurwitz' zeta function (DLMF 25.11.12); scipy's own polygamma does not keep the dtype."""
    if n == 0:
        return _special("digamma")(x)
    found = (-1.0) ** (n + 1) * math.factorial(int(n)) * _scipy("zeta")(n + 1.0, x)
    return found.astype(np.float16) if getattr(x, "dtype", None) == np.float16 else found


def _besseli(n: int, x: Any) -> Any:
    return _scipy("iv")(n, x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ) without an exponential that overflows."""
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


SPECIAL: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {name: _special(name) for name in ("erf", "erfc", "erfcx", "erfinv", "digamma", "i0", "i1", "i0e", "i1e")}
    | {"lgamma": _special("gammaln"), "polygamma": _polygamma, "besseli": _besseli}
)
"""The functions that are scipy's: numpy has none of them, or (i0) a less accurate one."""

ON_NUMBERS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    name: SPECIAL[name] if name in SPECIAL else sigmoid if name == "sigmoid" else getattr(np, name)
    for name in FUNCTIONS
})
"""The vocabulary for arrays and numbers."""

NUMPY_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    dict(ON_NUMBERS)
    | {name: getattr(np, name) for name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")}
    | {name: getattr(np, name) for name in ("where", "logical_and", "logical_or", "logical_not")}
    | {"number": float, "pi": math.pi}
)


@cache
def numpy_function(operator: Operator) -> Callable[..., Any]:
    """Compile an operator that is no composite to a function of numpy arrays, with its attributes as keywords."""
    if operator.structure is not None:
        forward = operator.structure.forward
        return lambda *arrays, **attributes: forward(np, *arrays, **attributes)
    assert operator.forward is not None
    return operator.forward.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)
