"""How are scenarios evaluated in ordinary floating-point numbers?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators import Operator
from refgrad.operators.vocabulary import FUNCTIONS
from refgrad.scenario import Grad, Leaf

NUMPY_FUNCTIONS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(np, name) for name in FUNCTIONS}
    | {name: getattr(np, name) for name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")}
    | {name: getattr(np, name) for name in ("where", "logical_and", "logical_or", "logical_not")}
    | {"number": float, "pi": math.pi}
)


@cache
def numpy_forward(operator: Operator) -> Callable[..., Any]:
    """Compile an operator to a function of numpy arrays, with its attributes as keywords."""
    if operator.structure is not None:
        forward = operator.structure.forward
        return lambda *arrays, **attributes: forward(np, *arrays, **attributes)
    assert operator.forward is not None
    return operator.forward.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)


class Float64:
    """numpy's float64 (or float32, where leaves are) arrays, one value an entry."""

    def leaf(self, leaf: Leaf) -> Any:
        """Return the leaf's array."""
        return leaf.value.to_numpy()

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's value as numpy computes it."""
        return np.asarray(numpy_forward(operator)(*arguments, **attributes))

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> Any:
        """Return numbers that are not known, in the leaf's shape: nothing is differentiated here."""
        return np.full_like(values[step.leaf], np.nan)
