"""Operators with a formula or a structure, as functions of numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from refgrad.operators import Operator
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.structure import LARGEST, refuse_size

SMALL: Final = 64
"""Largest argument of a formula, in entries, for which the size of the broadcast result is not checked."""


@cache
def numpy_function(operator: Operator) -> Callable[..., Any]:
    """Return an operator that is not a composite as a function of numpy arrays, with its attributes as keywords."""
    if operator.structure is not None:
        forward = operator.structure.forward
        return lambda *arrays, **attributes: forward(np, *arrays, **attributes)
    assert operator.forward is not None
    return operator.forward.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)


def refuse_large_result(
    operator: Operator, arrays: Sequence[Any], attributes: Mapping[str, Any], most: int = LARGEST
) -> None:
    """Raise ValueError if an operator that is not a composite would return more than ``most`` entries."""
    shapes = [np.shape(array) for array in arrays]
    if operator.structure is None and max(map(prod, shapes)) > SMALL:
        refuse_size(prod(np.broadcast_shapes(*shapes)), most)
    elif operator.structure is not None and operator.structure.size is not None:
        refuse_size(operator.structure.size(*shapes, **attributes), most)
