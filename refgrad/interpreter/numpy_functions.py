"""Operators that have a formula, or a function over numpy, as functions of numpy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from refgrad.operators import Operator
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS


@cache
def numpy_function(operator: Operator) -> Callable[..., Any]:
    """Compile an operator that is no composite to a function of numpy arrays, with its attributes as keywords."""
    if operator.structure is not None:
        forward = operator.structure.forward
        return lambda *arrays, **attributes: forward(np, *arrays, **attributes)
    assert operator.forward is not None
    return operator.forward.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)
