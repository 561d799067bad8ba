"""Evaluation of scenarios in ordinary floating-point numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from refgrad.interpreter.composites import numpy_forward
from refgrad.operators import Operator
from refgrad.scenario import Grad, Jvp, Leaf


class Float64:
    """numpy's float64 (or float32, where leaves are) arrays, one value an entry."""

    composites: ClassVar[bool] = True
    """Composite operators are run as they are; in other numbers their steps are, once they are written out."""

    def leaf(self, leaf: Leaf) -> Any:
        """Return the leaf's array."""
        return leaf.value.to_numpy()

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's value as numpy computes it."""
        return np.asarray(numpy_forward(operator)(*arguments, **attributes))

    def detached(self, value: Any) -> Any:
        """Return the array: nothing is differentiated here."""
        return value

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> Any:
        """Return numbers that are not known, in the leaf's shape: nothing is differentiated here."""
        return np.full_like(values[step.leaf], np.nan)

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> Any:
        """Return numbers that are not known, in the output's shape: nothing is differentiated here."""
        return np.full_like(values[step.output], np.nan)
